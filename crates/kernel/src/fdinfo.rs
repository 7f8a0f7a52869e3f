// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel says of a BPF program in `/proc/self/fdinfo`.

use std::os::fd::{AsRawFd, BorrowedFd};

/// The named numbers of a program, in the order asked for; `None` if the kernel lacks one.
pub(crate) fn numbers<const N: usize>(
    program: BorrowedFd<'_>,
    names: [&str; N],
) -> Option<[u64; N]> {
    let path = format!("/proc/self/fdinfo/{}", program.as_raw_fd());
    parse(&std::fs::read_to_string(path).ok()?, names)
}

fn parse<const N: usize>(fdinfo: &str, names: [&str; N]) -> Option<[u64; N]> {
    let value = |name: &str| {
        let mut lines = fdinfo.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(found, _)| *found == name)?.1.trim().parse::<u64>().ok()
    };
    let found: Option<Vec<u64>> = names.into_iter().map(value).collect();
    found?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_what_the_kernel_says_about_the_file() {
        let text = "pos:\t0\nprog_type:\t27\nprog_id:\t9\nrun_time_ns:\t4200\nrun_cnt:\t21\n";
        assert_eq!(parse(text, ["run_cnt", "run_time_ns"]), Some([21, 4200]));
        assert_eq!(parse(text, ["run_cnt", "verified_insns"]), None);
        assert_eq!(parse("run_cnt:\tmany\n", ["run_cnt"]), None);
    }
}
