// SPDX-License-Identifier: MIT OR Apache-2.0
//! Run counts and times of BPF programs. The kernel keeps them while somebody holds a file
//! open for that, so nothing stays switched on after this process, however it ends.

use libbpf_rs::libbpf_sys::{bpf_enable_stats, BPF_STATS_RUN_TIME};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

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
    let path = format!("/proc/self/fdinfo/{}", program.as_raw_fd());
    parse(&std::fs::read_to_string(path).ok()?)
}

fn parse(fdinfo: &str) -> Option<(u64, u64)> {
    let value = |key: &str| {
        let mut lines = fdinfo.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(k, _)| *k == key)?.1.trim().parse::<u64>().ok()
    };
    Some((value("run_cnt")?, value("run_time_ns")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_what_the_kernel_says_about_the_file() {
        let text = "pos:\t0\nprog_type:\t27\nprog_id:\t9\nrun_time_ns:\t4200\nrun_cnt:\t21\n";
        assert_eq!(parse(text), Some((21, 4200)));
        assert_eq!(parse("pos:\t0\n"), None);
    }
}
