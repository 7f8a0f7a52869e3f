// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task that only computes.

/// Uses CPU time and makes no system call, until it is killed.
pub(crate) fn spin() -> ! {
    loop {
        // Not `std::hint::spin_loop()`: its PAUSE makes an emulator yield the CPU.
        std::hint::black_box(());
    }
}
