// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs nobody would write: whatever they do, the host survives it.

use crate::run_support::asm::*;
use crate::run_support::{random, Builder};
use proptest::prelude::*;

const BUDGET: u64 = 5_000;

#[test]
fn a_forged_iterator_of_bits_ends_after_as_many_words_as_one_may_have() {
    // As many bits as there are numbers, in words at NULL, which read as 0.
    let mut machine = Builder::new()
        .function(
            "main",
            vec![
                store_imm(DW, 10, -16, 0),
                store_imm(W, 10, -8, -1),
                store_imm(W, 10, -4, -1),
                movr(1, 10),
                alu64(ADD, 1, -16),
                kfunc("bpf_iter_bits_next"),
                exit(),
            ],
        )
        .start();
    assert_eq!(machine.result(&[]), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_programs_end_within_their_budget(
        bytes in prop::collection::vec(any::<u8>(), random::STEP..random::STEP * 120),
        args in prop::array::uniform5(any::<u64>()),
    ) {
        let mut machine = random::program(&bytes).start();
        machine.runtime.set_budget(BUDGET);
        machine.host.task = machine.host.memory.alloc("task", 64, rota_vm::memory::Perm::ReadWrite);
        // Twice: the second call meets the maps that the first one left.
        for _ in 0..2 {
            if let Ok(ret) = machine.call(0, &args) {
                // A call's cost may exceed what was left, by at most one kernel function's.
                prop_assert!(ret.instructions < BUDGET + 1_000);
            }
        }
        let timers: Vec<u64> = machine.host.timers.keys().copied().collect();
        for timer in timers {
            let _ = machine.runtime.run_timer(&mut machine.host, timer);
        }
    }
}
