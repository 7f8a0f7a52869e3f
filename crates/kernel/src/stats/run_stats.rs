// SPDX-License-Identifier: MIT OR Apache-2.0
//! Run counts and times of BPF programs. The kernel keeps them while somebody holds a file
//! open for that, so nothing stays switched on after this process, however it ends.

use crate::fdinfo;
use libbpf_rs::libbpf_sys::{bpf_enable_stats, BPF_STATS_RUN_TIME};
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

/// Keeps the kernel counting.
#[derive(Debug)]
pub struct RunStats {
    _counting: OwnedFd,
}

impl RunStats {
    /// Starts it. Needs `CAP_SYS_ADMIN`.
    pub fn enable() -> io::Result<Self> {
        // SAFETY: the call takes a number and returns a file descriptor that is ours, or an
        // error.
        #[allow(unsafe_code)]
        let counting = unsafe {
            match bpf_enable_stats(BPF_STATS_RUN_TIME) {
                fd if fd >= 0 => OwnedFd::from_raw_fd(fd),
                error => return Err(io::Error::from_raw_os_error(-error)),
            }
        };
        Ok(Self { _counting: counting })
    }
}

/// How often a program ran, and how long altogether in nanoseconds.
pub(super) fn of(program: BorrowedFd<'_>) -> Option<(u64, u64)> {
    let [runs, time_ns] = fdinfo::numbers(program, ["run_cnt", "run_time_ns"])?;
    Some((runs, time_ns))
}
