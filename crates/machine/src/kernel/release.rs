// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which release a kernel's types are of.

use rota_object::btf::{Btf, Kind};

/// Release, version, and a kernel function that came with it; the newest first.
const RELEASES: &[(&str, [u8; 3], &str)] = &[
    ("7.3", [7, 3, 0], "scx_bpf_sub_grant"),
    ("7.2", [7, 2, 0], "scx_bpf_tid_to_task"),
    ("7.1", [7, 1, 0], "scx_bpf_dsq_reenq"),
    ("7.0", [7, 0, 0], "bpf_stream_vprintk"),
    ("6.19", [6, 19, 0], "scx_bpf_dsq_peek"),
    ("6.18", [6, 18, 0], "scx_bpf_cpu_curr"),
    ("6.16", [6, 16, 0], "scx_bpf_select_cpu_and"),
    ("6.15", [6, 15, 0], "scx_bpf_events"),
    ("6.14", [6, 14, 0], "scx_bpf_now"),
    ("6.13", [6, 13, 0], "scx_bpf_dsq_insert"),
];

/// The newest release whose function is there; sched_ext came with 6.12.
pub(super) fn of(btf: &Btf) -> (&'static str, [u8; 3]) {
    let newest = RELEASES.iter().find(|(.., func)| btf.find(Kind::Func, func).is_some());
    newest.map_or(("6.12", [6, 12, 0]), |(release, version, _)| (*release, *version))
}
