// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what the user calls a policy to a linked object.

use crate::error::Error;
use crate::label::{self, short_name};
use crate::source::Compiler;
use rota_machine::kernel::Kernel;
use rota_object::btf::Btf;
use rota_object::error::{LoadError, Problem};
use rota_sim::{is_bundle, Policy};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// `--kernel` for each release that there is.
pub const EVERY_KERNEL: &str = "all";

/// [`Named::source`] of a shipped policy.
pub const SHIPPED: &str = "shipped";

/// A policy and where it is from.
#[derive(Debug)]
pub struct Named {
    /// Shipped policy's name, or the file's without directories and `.bpf.o` or `.bpf.c`.
    pub name: String,
    /// [`SHIPPED`], or the file as the user named it.
    pub source: String,
    /// Linked against the simulated kernel.
    pub policy: Policy,
}

/// The kernel to simulate: a release, or that of the user's file.
pub fn kernel(release: &str, btf: Option<&Path>) -> Result<Kernel, Error> {
    let Some(path) = btf else {
        if release == EVERY_KERNEL {
            return Err(Error::input(
                "--kernel all: only rota sim takes all, expected one release",
            ));
        }
        let found = Kernel::bundled(release)
            .map_err(|unknown| Error::input(format!("--{unknown}; --btf FILE takes any kernel's")));
        return found;
    };
    let bytes = std::fs::read(path).map_err(|e| Error::file("read", path, &e))?;
    let btf =
        Btf::from_file(&bytes).map_err(|e| Error::input(format!("{}: {e}", path.display())))?;
    if btf.find_struct("sched_ext_ops").is_none() {
        return Err(Error::input(format!(
            "{}: types of a kernel without sched_ext: expected those of Linux 6.12 or later with \
             CONFIG_SCHED_CLASS_EXT=y, or --kernel with one of {}",
            path.display(),
            Kernel::releases().join(", ")
        )));
    }
    Ok(Kernel::of_btf(Arc::new(btf)))
}

/// What to do with a file that is not all of a scheduler.
pub const LINK: &str =
    "(is this one of several files? rota link -o ONE.bpf.o FILE… makes one of them)";

/// An object that was found, not yet linked against any kernel.
#[derive(Clone, Debug)]
pub struct Found {
    /// As [`Named::name`].
    pub name: String,
    /// As [`Named::source`].
    pub source: String,
    /// The ELF file.
    pub bytes: Cow<'static, [u8]>,
}

/// Finds a policy, and compiles it if it is source. With a label in front, that is its name.
pub fn find(policy: &str, compiler: Compiler<'_>) -> Result<Found, Error> {
    let (label, policy) = label::split(policy);
    let mut found = of_name(policy, compiler)?;
    if let Some(label) = label {
        found.name = label.to_owned();
    }
    Ok(found)
}

fn of_name(policy: &str, compiler: Compiler<'_>) -> Result<Found, Error> {
    if let Some(shipped) = shipped(policy)? {
        let bytes = Cow::Borrowed(shipped.object);
        return Ok(Found { name: shipped.name.into(), source: SHIPPED.into(), bytes });
    }
    let path = Path::new(policy);
    let unreadable = |e: std::io::Error| Error::file("read", path, &e);
    let bytes = if policy.ends_with(".c") {
        std::fs::metadata(path).map_err(unreadable)?;
        compiler.compile(path)?
    } else {
        std::fs::read(path).map_err(unreadable)?
    };
    Ok(Found { name: short_name(path), source: policy.into(), bytes: bytes.into() })
}

impl Found {
    /// What messages call the object: the file as given, or the policy's name.
    pub fn called(&self) -> &str {
        if self.source == SHIPPED {
            return &self.name;
        }
        &self.source
    }

    /// Links it against the simulated kernel.
    pub fn simulate(self, kernel: &Kernel) -> Result<Named, Error> {
        if is_bundle(&self.bytes) {
            let policy = bundled(self.called(), &self.bytes, kernel)?;
            return Ok(Named { name: self.name, source: self.source, policy });
        }
        let policy = Policy::link(self.called(), &self.bytes, kernel).map_err(of_a_part)?;
        Ok(Named { name: self.name, source: self.source, policy })
    }
}

/// What a program had set up, for the kernel that it saw.
fn bundled(name: &str, bytes: &[u8], kernel: &Kernel) -> Result<Policy, Error> {
    let policy = Policy::of_bundle(name, bytes).map_err(Error::input)?;
    let (saw, has) = (policy.kernel(), kernel);
    if (saw.release(), saw.hz()) != (has.release(), has.hz()) {
        return Err(Error::input(format!(
            "{name}: set up for Linux {} with {} ticks per second, not for {} with {}: expected \
             --kernel {} --hz {}",
            saw.release(),
            saw.hz(),
            has.release(),
            has.hz(),
            saw.release(),
            saw.hz()
        )));
    }
    Ok(policy)
}

/// The error of an object that is a part of one, with what makes it whole.
fn of_a_part(error: LoadError) -> Error {
    match &error.problem {
        Problem::Relocation(what) if what.contains("undefined symbol") => {
            Error::input(format!("{error} {LINK}"))
        }
        _ => error.into(),
    }
}

/// Links a policy that ships with Rota.
pub fn link_shipped(policy: &rota_catalog::Policy, kernel: &Kernel) -> Result<Policy, Error> {
    Ok(Policy::link(policy.name, policy.object, kernel)?)
}

/// Whether this is called as objects and sources are.
pub fn is_file_name(policy: &str) -> bool {
    [".o", ".c", ".rota"].iter().any(|end| policy.ends_with(end))
}

/// Whether a policy of that name ships, and no file is meant.
pub fn is_shipped(policy: &str) -> bool {
    matches!(shipped(policy), Ok(Some(_)))
}

/// Refuses a name that is neither a shipped policy's nor a file's.
pub fn known(policy: &str) -> Result<(), Error> {
    shipped(policy).map(drop)
}

/// The shipped policy of that name; `None` if a file is meant.
fn shipped(policy: &str) -> Result<Option<&'static rota_catalog::Policy>, Error> {
    if policy.contains('/') || is_file_name(policy) {
        return Ok(None);
    }
    match rota_catalog::find(policy) {
        Ok(shipped) => Ok(Some(shipped)),
        Err(_) if Path::new(policy).is_file() => Ok(None),
        Err(unknown) => Err(unknown.into()),
    }
}

/// What a policy is called, before it is found.
pub fn name(policy: &str) -> String {
    let (label, policy) = label::split(policy);
    label.map_or_else(|| short_name(Path::new(policy)), str::to_owned)
}
