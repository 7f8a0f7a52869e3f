// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policies as a sweep file names them: `pbs`, `wfq:quantum_ns=2ms`, `mine=../mine.bpf.c`,
//! `lavd=scx_lavd --slice-max-us {us}`.

use super::document::{At, Document};
use super::Policy;
use rota_session::{label, nearest, object, program, Error, Wanted};
use std::path::Path;

/// The policy of a word.
pub(super) fn policy(doc: &Document<'_>, word: &str, at: &At<'_>) -> Result<Policy, Error> {
    let refuse = |why: String| doc.refuse_as("policies", at, &why);
    let wanted = Wanted::parse_in(Some(doc.file), word).map_err(refuse)?;
    let Wanted { label, policy, is_program, set, manifest } = wanted;
    let program = is_program.then(|| program::words(&policy)).transpose().map_err(refuse)?;
    let is_file = object::is_file_name(&policy) || policy.contains('/');
    if !is_file && !is_program {
        object::known(&policy).map_err(|unknown| doc.error(&at.span(), unknown))?;
    }
    let (_, rest) = label::split(word);
    let label = match (label, &program) {
        (Some(label), _) => label,
        (None, Some(words)) => program::called(words),
        (None, None) if is_file => {
            let settings = rest.split_once(':').map_or(String::new(), |(_, of)| format!(":{of}"));
            label::short_name(Path::new(&policy)) + &settings
        }
        (None, None) => rest.to_owned(),
    };
    let (axes, plain, line) = (Vec::new(), false, doc.line(at.span().start));
    Ok(Policy { label, policy, program, set, manifest, axes, plain, line })
}

/// Refuses tunables of a program that none of its arguments names.
pub(super) fn check_tunables(doc: &Document<'_>, policy: &Policy) -> Result<(), Error> {
    let Some(words) = &policy.program else { return Ok(()) };
    let known = program::names(words);
    let Some(axis) = policy.axes.iter().find(|axis| !known.contains(&axis.name.as_str())) else {
        return Ok(());
    };
    let (label, name) = (&policy.label, &axis.name);
    let hint = nearest::hint(name, &known);
    let why = format!(
        "[set.{label}] {name}: no argument of the program has {{{name}}} in it{hint}, expected one \
         that has, as --slice={{{name}}}"
    );
    Err(Error::input(format!("{}:{}: {why}", doc.file.display(), axis.line)))
}
