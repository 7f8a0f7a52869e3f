// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any text as a suite of `rota test`, and each of its lines as a condition of `--fail-if`: an error
//! that names the file or says something, a condition that is the same again from its own text, or
//! tests that each expect something of some policy.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rota_gate::{Condition, Suite};
use std::path::Path;

fuzz_target!(|text: &str| {
    for line in text.lines() {
        match Condition::parse(line) {
            Ok(condition) => {
                let again = Condition::parse(&condition.text).expect("its own text");
                assert_eq!(format!("{:?}", again.what), format!("{:?}", condition.what));
            }
            Err(error) => assert!(!error.is_empty()),
        }
    }
    match Suite::parse(Path::new("s.toml"), text) {
        Ok(suite) => {
            assert!(!suite.tests.is_empty());
            for test in &suite.tests {
                assert!(!test.policies.is_empty() && !test.workloads.is_empty());
                assert!(!test.expect.is_empty() && !test.options.machines.is_empty());
            }
        }
        Err(error) => assert!(error.to_string().starts_with("s.toml:"), "{error}"),
    }
});
