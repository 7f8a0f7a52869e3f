// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policies as a sweep file names them: `pbs`, `wfq:quantum_ns=2ms`, `mine=../mine.bpf.c`.

use super::document::{At, Document};
use super::Policy;
use rota_session::{label, object, prepare, Error};
use std::path::{Component, Path, PathBuf};

/// The policy of a word.
pub(super) fn policy(doc: &Document<'_>, word: &str, at: &At<'_>) -> Result<Policy, Error> {
    let refuse = |expected: &str| doc.refuse("policies", at, expected);
    let (label, rest) = label::split(word);
    let mut parts = rest.split(':');
    let name = parts.next().unwrap_or_default().trim();
    if name.is_empty() {
        return Err(refuse("a policy or a file"));
    }
    if name.contains(char::is_whitespace) {
        return Err(refuse(
            "a policy or an object file; of a scheduler's own program, rota bundle makes one",
        ));
    }
    let is_file = object::is_file_name(name) || name.contains('/');
    let policy = if is_file { beside(doc.file, name) } else { name.to_owned() };
    if !is_file {
        object::known(name).map_err(|unknown| doc.error(&at.span(), unknown))?;
    }
    let (mut set, mut manifest) = (Vec::new(), None);
    for part in parts.map(str::trim) {
        match (part.strip_prefix('@'), part.split_once('=')) {
            (Some(file), _) if manifest.is_none() && !file.is_empty() => {
                let is_none = file == prepare::NO_MANIFEST;
                let file = if is_none { file.to_owned() } else { beside(doc.file, file) };
                manifest = Some(PathBuf::from(file));
            }
            (None, Some((name, value))) if !name.trim().is_empty() => {
                set.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            _ => {
                return Err(refuse("NAME=VALUE after a colon, for example wfq:quantum_ns=2ms"));
            }
        }
    }
    let label = match label {
        Some(label) => label.to_owned(),
        None if is_file => {
            let settings = rest.split_once(':').map_or(String::new(), |(_, of)| format!(":{of}"));
            label::short_name(Path::new(name)) + &settings
        }
        None => rest.to_owned(),
    };
    let (axes, plain, line) = (Vec::new(), false, doc.line(at.span().start));
    Ok(Policy { label, policy, set, manifest, axes, plain, line })
}

/// A path as seen from the folder of the file.
pub(super) fn beside(file: &Path, path: &str) -> String {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let Some(folder) = folder.filter(|_| !Path::new(path).is_absolute()) else {
        return path.to_owned();
    };
    let path = folder.join(path);
    let plain = path.components().filter(|part| *part != Component::CurDir);
    plain.collect::<PathBuf>().to_string_lossy().into_owned()
}
