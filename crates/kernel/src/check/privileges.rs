// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this process may do. `BPF_PROG_LOAD` and `BPF_MAP_CREATE` of struct_ops ask for
//! `CAP_BPF` and `CAP_PERFMON` in the first user namespace; `CAP_SYS_ADMIN` stands for
//! both, and `BPF_ENABLE_STATS` asks for that itself.

use super::files::Root;
use super::Fact;

const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;
/// `/proc/self/uid_map` of the first user namespace: all ids mean themselves.
const ALL_IDS: [&str; 3] = ["0", "0", "4294967295"];

pub(super) fn capabilities(root: &Root) -> Fact {
    let name = "privileges";
    let map = root.text("/proc/self/uid_map").unwrap_or_default();
    let first: Vec<&str> = map.split_whitespace().collect();
    let held = root.value("/proc/self/status", "CapEff");
    let Some(held) = held.and_then(|h| u64::from_str_radix(&h, 16).ok()) else {
        return Fact::missing(name, "cannot determine this process's privileges", "run as root")
            .for_record();
    };
    let has = |cap: u32| held >> cap & 1 == 1;
    if !map.is_empty() && first != ALL_IDS && has(SYS_ADMIN) {
        let found = "root in a user namespace (a rootless container?) has no power over BPF";
        return Fact::missing(name, found, "run as root of the machine").for_record();
    }
    let lacks: Vec<&str> = [(BPF, "CAP_BPF"), (PERFMON, "CAP_PERFMON")]
        .into_iter()
        .filter(|(cap, _)| !has(*cap) && !has(SYS_ADMIN))
        .map(|(_, name)| name)
        .collect();
    if !lacks.is_empty() {
        let found = format!("this needs root, or at least {}", lacks.join(" and "));
        return Fact::missing(name, found, "run it with sudo").for_record();
    }
    if !has(SYS_ADMIN) {
        return Fact::warning(
            name,
            "CAP_BPF and CAP_PERFMON are there, but not CAP_SYS_ADMIN",
            "policies run, but --stats cannot measure how long their callbacks take",
        )
        .for_record();
    }
    Fact::ok(name, "root, or equivalent").for_record()
}

/// A locked-down kernel lets no program read its memory by address, as policies do to note
/// down why they were ejected.
pub(super) fn lockdown(root: &Root) -> Option<Fact> {
    let modes = root.text("/sys/kernel/security/lockdown").ok()?;
    modes.contains("[confidentiality]").then(|| {
        Fact::missing(
            "lockdown",
            "the kernel is locked down for confidentiality, so it refuses programs that read \
             its memory, and policies read why they were ejected",
            "boot with lockdown=integrity, or without lockdown",
        )
    })
}
