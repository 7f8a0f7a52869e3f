// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is kept of a failure: the report of its test, and a trace of the first seed.

use super::case::Case;
use super::words;
use crate::error::Error;
use crate::suite::Checked;
use std::path::Path;
use std::process::{Command, Stdio};

/// Keeps what shows the failures of a case, and names the files.
pub(super) fn failures(
    folder: &Path,
    case: &Case<'_>,
    checked: &mut [Checked],
) -> Result<(), Error> {
    if !checked.iter().any(|checked| checked.failed) {
        return Ok(());
    }
    let mut name = file_name(&case.test.name);
    for word in case.machine.iter().filter(|word| !word.starts_with("--")) {
        name = format!("{name}-{}", file_name(word));
    }
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).map_err(|e| Error::file("create", &folder, &e))?;
    let report = folder.join("report.html");
    case.report(&report)?;
    let mut traces: Vec<String> = Vec::new();
    for checked in checked.iter_mut().filter(|checked| checked.failed) {
        let workload = checked.workload.strip_suffix(".json").unwrap_or(&checked.workload);
        let name = format!("{workload}-{}", checked.policy);
        let trace = folder.join(format!("{}.pftrace", file_name(&name))).display().to_string();
        if !traces.contains(&trace) {
            write_trace(case, checked, &trace)?;
            traces.push(trace.clone());
        }
        checked.kept = vec![report.display().to_string(), trace];
    }
    Ok(())
}

/// By the command that its user would give.
fn write_trace(case: &Case<'_>, checked: &Checked, trace: &str) -> Result<(), Error> {
    let policy = case.test.policies.iter().find(|policy| policy.name == checked.policy);
    let Some(policy) = policy else { return Ok(()) };
    let words = words::sim(case.test, case.machine, (&checked.workload, policy), trace)?;
    let failed = |why: &dyn std::fmt::Display| {
        Error::Failure(format!("no trace was kept: {}: {why}", words::line(&words)))
    };
    let rota = std::env::current_exe().map_err(|e| failed(&e))?;
    let mut command = Command::new(rota);
    let command = command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null());
    let output = command.stderr(Stdio::piped()).output().map_err(|e| failed(&e))?;
    // An ejection is a result, and has a trace.
    let is_done =
        output.status.success() || output.status.code() == Some(i32::from(crate::error::EJECTED));
    match is_done {
        true => Ok(()),
        false => Err(failed(&String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// A name without what file systems or shells read.
fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let name: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    name.trim_start_matches(['.', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn a_file_name_has_nothing_that_leads_elsewhere() {
        assert_eq!(file_name("web: 4 CPUs"), "web--4-CPUs");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name("-rf"), "rf");
    }
}
