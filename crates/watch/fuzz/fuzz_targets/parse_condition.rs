// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any text as a condition of `rota record --when`: an error that says something, or a condition
//! that is the same again from its own text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rota_watch::Condition;

fuzz_target!(|text: &str| {
    match text.parse::<Condition>() {
        Ok(condition) => assert_eq!(condition.to_string().parse(), Ok(condition)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
