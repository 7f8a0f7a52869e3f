// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs: the first 40 bytes are arguments, the rest instructions.
#![no_main]

#[path = "../../tests/all/run_support/mod.rs"]
mod run_support;

use libfuzzer_sys::fuzz_target;
use run_support::random;

fn engine() -> Option<std::sync::Arc<dyn rota_vm::engine::Engine>> {
    None
}

fuzz_target!(|bytes: &[u8]| {
    let Some((args, code)) = bytes.split_at_checked(40) else { return };
    if code.len() < random::STEP {
        return;
    }
    let args: Vec<u64> = args
        .chunks_exact(8)
        .map(|word| word.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
        .collect();
    let mut machine = random::program(code).start();
    machine.runtime.set_budget(20_000);
    for _ in 0..2 {
        let _ = machine.call(0, &args);
    }
});
