// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether this machine can do what a command needs of its kernel.

use crate::error::Error;
use rota_kernel::check::{self, Fact, Purpose, Report};

/// Refuses a machine that lacks something, with all that it lacks.
pub(crate) fn ready(purpose: Purpose) -> Result<Report, Error> {
    let report = check::machine();
    match refusal(&report, purpose) {
        Some(message) => Err(Error::Failure(message)),
        None => Ok(report),
    }
}

fn refusal(report: &Report, purpose: Purpose) -> Option<String> {
    let missing: Vec<String> = report.missing(purpose).map(Fact::message).collect();
    match missing.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("this machine lacks several things\n  {}", several.join("\n  "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn all_that_is_missing_is_said() {
        let empty = tempfile::tempdir().expect("a directory");
        let report = check::machine_at(empty.path(), Path::new("/nonexistent"));
        let message = refusal(&report, Purpose::Run).expect("an empty machine lacks much");
        for fact in report.missing(Purpose::Run) {
            assert!(message.contains(&fact.message()), "{message}");
        }
    }

    #[test]
    fn nothing_missing_is_no_refusal() {
        assert_eq!(refusal(&Report::default(), Purpose::Run), None);
    }
}
