// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command lines of a test: what it runs, and what shows a failure.

use crate::error::Error;
use crate::output::quoted;
use rota_gate::{Named, Test};
use rota_session::Wanted;

/// The words of `rota compare` for some workloads and policies of a test, on one of its machines.
pub(super) fn compare<'a>(
    test: &Test,
    machine: &[String],
    workloads: impl IntoIterator<Item = String>,
    policies: impl IntoIterator<Item = &'a Named>,
) -> Vec<String> {
    let mut words = vec!["rota".to_owned(), "compare".to_owned()];
    words.extend(workloads);
    words.extend(policies.into_iter().map(|policy| policy.word.clone()));
    words.extend(["--baseline".to_owned(), "none".to_owned()]);
    words.extend(test.options.common.iter().chain(machine).cloned());
    words
}

/// The words of `rota sim` for one of its runs, that of the first seed, with a trace.
pub(super) fn sim(
    test: &Test,
    machine: &[String],
    (workload, policy): (&str, &Named),
    trace: &str,
) -> Result<Vec<String>, Error> {
    let wanted = Wanted::parse(&policy.word)?;
    let mut words = vec!["rota".to_owned(), "sim".to_owned()];
    if !wanted.is_program {
        words.push(match &wanted.label {
            Some(label) => format!("{label}={}", wanted.policy),
            None => wanted.policy.clone(),
        });
    }
    words.push(workload.to_owned());
    for (name, value) in &wanted.set {
        words.extend(["--set".to_owned(), format!("{name}={value}")]);
    }
    if let Some(manifest) = &wanted.manifest {
        words.extend(["--manifest".to_owned(), manifest.display().to_string()]);
    }
    let mut common = test.options.common.iter();
    while let Some(word) = common.next() {
        match word.as_str() {
            // One seed is one run.
            "--seeds" => drop(common.next()),
            _ => words.push(word.clone()),
        }
    }
    words.extend(machine.iter().cloned());
    words.extend(["--trace".to_owned(), trace.to_owned()]);
    if wanted.is_program {
        words.push("--".into());
        words.extend(shlex::split(&wanted.policy).unwrap_or_default());
    }
    Ok(words)
}

/// As a shell reads it.
pub(super) fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}
