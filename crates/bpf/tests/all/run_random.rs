// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs nobody would write: whatever they do, the host survives it.

use crate::run_support::random;
use proptest::prelude::*;

const BUDGET: u64 = 5_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_programs_end_within_their_budget(
        bytes in prop::collection::vec(any::<u8>(), random::STEP..random::STEP * 120),
        args in prop::array::uniform5(any::<u64>()),
    ) {
        let mut machine = random::program(&bytes).start();
        machine.runtime.set_budget(BUDGET);
        machine.host.task = machine.host.memory.alloc("task", 64, rota_bpf::memory::Perm::ReadWrite);
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
