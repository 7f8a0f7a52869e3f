// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether this computer can do what a command needs of its kernel.

use crate::error::Error;
use rota_kernel::check::{self, Fact, Findings, Purpose};

/// Refuses a computer that lacks something, with all that it lacks.
pub(crate) fn ready(purpose: Purpose) -> Result<Findings, Error> {
    let findings = check::computer();
    match refusal(&findings, purpose) {
        Some(message) => Err(Error::Failure(message)),
        None => Ok(findings),
    }
}

fn refusal(findings: &Findings, purpose: Purpose) -> Option<String> {
    let missing: Vec<String> = findings.missing(purpose).map(Fact::message).collect();
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
        let findings = check::computer_at(empty.path(), Path::new("/nonexistent"));
        let message = refusal(&findings, Purpose::Run).expect("an empty machine lacks much");
        for fact in findings.missing(Purpose::Run) {
            assert!(message.contains(&fact.message()), "{message}");
        }
    }

    #[test]
    fn nothing_missing_is_no_refusal() {
        assert_eq!(refusal(&Findings::default(), Purpose::Run), None);
    }
}
