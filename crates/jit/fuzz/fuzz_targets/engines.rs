// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs, interpreted and compiled: both leave the same. The first 42 bytes are arguments and
//! the budget, the rest instructions.
#![no_main]

#[path = "../../tests/all/both.rs"]
mod both;
#[path = "../../../vm/tests/all/run_support/mod.rs"]
mod run_support;

use libfuzzer_sys::fuzz_target;
use rota_jit::Jit;
use rota_vm::engine::Engine;
use run_support::random;
use std::sync::Arc;

fn engine() -> Option<Arc<dyn Engine>> {
    Some(Arc::new(Jit::at_once()))
}

fuzz_target!(|bytes: &[u8]| {
    let Some((args, code)) = bytes.split_at_checked(42) else { return };
    if code.len() < random::STEP {
        return;
    }
    let word = |word: &[u8]| word.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let budget = word(&args[40..]) % 20_000;
    let args: Vec<u64> = args[..40].chunks_exact(8).map(word).collect();
    let run = |compiled| {
        both::seen(both::start(random::program(code), compiled), &[&args, &args], budget)
    };
    assert_eq!(run(false), run(true));
    let in_parts = |compiled, part| {
        both::seen_in_parts(both::start(random::program(code), compiled), &args, budget, part)
    };
    assert_eq!(in_parts(false, u64::MAX), in_parts(true, budget / 7 + 1));
});
