// SPDX-License-Identifier: MIT OR Apache-2.0
//! The policies that ship with Rota, compiled into this library, and the compiler
//! call for everybody else's.
//!
//! What a policy says about itself (help, paper, tunables) is in its object's BTF;
//! there is no table of it here.

mod compile;

pub use compile::{compile, compile_with, CompileError};

use thiserror::Error;

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// ELF readers want 8-byte alignment, which bytes in a binary have by chance only.
#[repr(align(8))]
struct Aligned<T>(T);

/// A policy that ships with Rota.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Name, as of `policies/<name>.bpf.c`.
    pub name: &'static str,
    /// The compiled object, 8-byte aligned.
    pub object: &'static [u8],
    /// Text of its source file.
    pub source: &'static str,
}

/// A name that is no policy's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no policy '{name}'{}; known are {known}", did_you_mean(.nearest, .set))]
pub struct UnknownPolicy {
    /// Name asked for.
    pub name: String,
    /// The known name most like it, if one is close.
    pub nearest: Option<&'static str>,
    /// What follows the name, if that is settings: `wfq:quantum_ns=1ms` is for commands that take
    /// several policies.
    pub set: Vec<String>,
    /// All names.
    pub known: String,
}

fn did_you_mean(nearest: &Option<&'static str>, set: &[String]) -> String {
    let with = if set.is_empty() { "" } else { " with" };
    let set: String = set.iter().map(|setting| format!(" --set {setting}")).collect();
    nearest.map_or_else(String::new, |name| format!(" (did you mean '{name}'{with}{set}?)"))
}

/// All policies, by name.
pub fn policies() -> &'static [Policy] {
    POLICIES
}

/// What loaders of other projects' schedulers do, as manifests: a name for messages, and the text.
pub fn manifests() -> &'static [(&'static str, &'static str)] {
    MANIFESTS
}

/// The policy of that name.
pub fn find(name: &str) -> Result<&'static Policy, UnknownPolicy> {
    if let Some(policy) = POLICIES.iter().find(|p| p.name == name) {
        return Ok(policy);
    }
    let mut parts = name.split(':');
    let before = parts.next().unwrap_or(name);
    let set: Vec<String> = parts.map(str::to_owned).collect();
    let is_set = set.iter().all(|setting| setting.contains('='));
    let (like, set) = if is_set { (before, set) } else { (name, Vec::new()) };
    let nearest = POLICIES
        .iter()
        .map(|p| (strsim::damerau_levenshtein(like, p.name), p.name))
        .min()
        .filter(|(distance, known)| *distance <= 2 && *distance < known.len())
        .map(|(_, known)| known);
    let known = POLICIES.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    Err(UnknownPolicy { name: name.to_string(), nearest, set, known })
}

/// The headers that policies include, `(file name, text)`: `rota.bpf.h`, `vmlinux.h` …
pub fn headers() -> &'static [(&'static str, &'static str)] {
    HEADERS
}
