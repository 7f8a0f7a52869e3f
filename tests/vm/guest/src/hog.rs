// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task that only computes.

use std::hint::{black_box, spin_loop};

/// Rounds between two pause instructions. An emulator whose virtual CPUs take turns takes a
/// pause as the end of a turn; without, one busy CPU can keep the others waiting for 100 ms.
pub(crate) const PAUSE_EVERY: u64 = 512;

/// Uses CPU time and makes no system call, until it is killed.
pub(crate) fn spin() -> ! {
    let mut round = 0u64;
    loop {
        round = black_box(round.wrapping_add(1));
        if round % PAUSE_EVERY == 0 {
            spin_loop();
        }
    }
}
