// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs, interpreted and compiled: both leave the same. The first 42 bytes are arguments and
//! the budget, the rest instructions. To compile takes most of the time, so that each is called often.
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

/// Calls of each program, by each engine.
const CALLS: usize = 100;

/// Arguments of the first call, and of others that go on with what it left; each twice.
fn arguments(first: Vec<u64>) -> Vec<Vec<u64>> {
    let next = |args: &Vec<u64>| {
        let mixed = args.iter().fold(args[4], |sum, &arg| {
            (sum ^ arg).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
        // Sizes, keys and signs matter as much as whole words.
        let narrow = [!0, 0xff, 0xffff_ffff, 0x8000_0000_0000_0007, 7];
        let mut args = args.clone();
        args.rotate_left(1);
        args[0] = mixed & narrow[(mixed >> 59) as usize % narrow.len()];
        Some(args)
    };
    std::iter::successors(Some(first), next)
        .flat_map(|args| [args.clone(), args])
        .take(CALLS)
        .collect()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((args, code)) = bytes.split_at_checked(42) else { return };
    if code.len() < random::STEP {
        return;
    }
    let word = |word: &[u8]| word.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let budget = word(&args[40..]) % 20_000;
    let args: Vec<u64> = args[..40].chunks_exact(8).map(word).collect();
    let calls = arguments(args.clone());
    let calls: Vec<&[u64]> = calls.iter().map(Vec::as_slice).collect();
    let run = |compiled| both::seen(both::start(random::program(code), compiled), &calls, budget);
    assert_eq!(run(false), run(true));
    let in_parts = |compiled, part| {
        both::seen_in_parts(both::start(random::program(code), compiled), &args, budget, part)
    };
    assert_eq!(in_parts(false, u64::MAX), in_parts(true, budget / 7 + 1));
});
