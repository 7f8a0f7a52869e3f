// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a manifest says a loader would do with an object: one that the user names, or one that
//! ships for the schedulers that are known.

use crate::error::Error;
use crate::expects;
use rota_manifest::{CpuFacts, Manifest, Match, Setup};
use rota_object::image::{Image, OpsField, StructOps};
use rota_sim::Policy;
use std::path::Path;

/// In place of a manifest's file: none, though the scheduler be known.
pub const NO_MANIFEST: &str = "none";

/// An object's set-up, and where it comes from.
#[derive(Debug, Default)]
pub struct Prepared {
    /// What to do.
    pub setup: Setup,
    /// What to tell the user of a manifest that nobody named.
    pub note: Option<String>,
}

/// The set-up of a policy for a simulated machine; nothing of one that its program has set up.
pub fn of_policy(
    manifest: Option<&Path>,
    facts: &CpuFacts,
    policy: &Policy,
) -> Result<Prepared, Error> {
    let name = &policy.image().name;
    let Some(origin) = policy.origin() else { return setup(manifest, facts, policy.image()) };
    if manifest.is_some_and(|path| path != Path::new(NO_MANIFEST)) {
        return Err(Error::input(format!("--manifest: not with {name}, which its program set up")));
    }
    let words = std::iter::once(&origin.program).chain(&origin.arguments);
    let words = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    let note = format!("{name}: as {words} had set it up, which takes no part");
    Ok(Prepared { note: Some(note), ..Prepared::default() })
}

/// A manifest's values for one machine; nothing to do without a manifest.
pub fn setup(manifest: Option<&Path>, facts: &CpuFacts, image: &Image) -> Result<Prepared, Error> {
    let (manifest, note) = match manifest {
        Some(path) if path == Path::new(NO_MANIFEST) => return Ok(Prepared::default()),
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| Error::file("read", path, &e))?;
            (Manifest::parse(&path.display().to_string(), &text)?, None)
        }
        None => match known(image)? {
            Some((manifest, of)) => {
                let note = format!(
                    "{}: set up as the loader of {} does (--manifest {NO_MANIFEST}: as it is)",
                    image.name, of.from
                );
                (manifest, Some(note))
            }
            None => {
                return Ok(Prepared {
                    note: expects::of(image, facts.nr_cpus()),
                    ..Prepared::default()
                })
            }
        },
    };
    Ok(Prepared { setup: manifest.expand(facts, &rota_sim::ForObject(image))?, note })
}

/// The shipped manifest for an object, by the name of its scheduler and what else it must have.
pub fn known(image: &Image) -> Result<Option<(Manifest, Match)>, Error> {
    let named: Vec<String> = names(image).map(|name| format!("ops = \"{name}\"")).collect();
    for (name, text) in rota_catalog::manifests() {
        // most are for other schedulers, and need not be parsed
        if !text.lines().any(|line| named.iter().any(|ops| ops == line)) {
            continue;
        }
        let manifest = Manifest::parse(name, text)?;
        let Some(of) = manifest.matches().cloned() else { continue };
        if fits(image, &of) {
            return Ok(Some((manifest, of)));
        }
    }
    Ok(None)
}

/// Names of the schedulers of an object.
fn names(image: &Image) -> impl Iterator<Item = &str> {
    let is_ops = |ops: &&StructOps| ops.type_name.starts_with("sched_ext_ops");
    image.struct_ops.iter().filter(is_ops).filter_map(|ops| match ops.fields.get("name") {
        Some(OpsField::Str(name)) => Some(name.as_str()),
        _ => None,
    })
}

fn fits(image: &Image, of: &Match) -> bool {
    names(image).any(|name| name == of.ops)
        && of.maps.iter().all(|map| image.map_named(map).is_ok())
        && of.globals.iter().all(|path| image.variable_text(path).is_ok())
}
