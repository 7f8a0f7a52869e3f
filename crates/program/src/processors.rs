// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/proc/stat` and `/proc/uptime` of the simulated machine.

use crate::time::Clocks;
use rota_machine::topology::Topology;
use rota_machine::user_half::Live;
use std::fmt::Write as _;

/// Nanoseconds of a tick of these files (`USER_HZ`: 100).
const TICK_NS: u64 = 10_000_000;

/// Time for which each CPU was idle, in nanoseconds; none before the machine runs.
fn idle(topology: &Topology, live: Option<&Live<'_>>) -> Vec<u64> {
    let of = |cpu| live.map_or(0, |live| live.system.idle_ns(cpu));
    (0..topology.cpus()).map(of).collect()
}

/// `show_stat()`: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest nice.
pub(crate) fn stat(topology: &Topology, live: Option<&Live<'_>>, clocks: Clocks) -> String {
    let up_ns = clocks.monotonic_ns.saturating_sub(clocks.boot_ns);
    let idle = idle(topology, live);
    let line = |name: &str, idle_ns: u64, cpus: u64| {
        let busy = (up_ns * cpus).saturating_sub(idle_ns) / TICK_NS;
        format!("{name} {busy} 0 0 {} 0 0 0 0 0 0\n", idle_ns / TICK_NS)
    };
    let mut text = line("cpu ", idle.iter().sum(), idle.len() as u64);
    let is_online = |cpu: u32| live.is_none_or(|live| live.system.online_cpus().contains(cpu));
    for (cpu, idle_ns) in (0..).zip(&idle).filter(|(cpu, _)| is_online(*cpu)) {
        text.push_str(&line(&format!("cpu{cpu}"), *idle_ns, 1));
    }
    let _ = writeln!(text, "ctxt 0\nbtime {}", crate::time::STARTED_AT_NS / 1_000_000_000);
    text
}

/// Seconds since the start, and those that all CPUs were idle.
pub(crate) fn uptime(topology: &Topology, live: Option<&Live<'_>>, clocks: Clocks) -> String {
    let hundredths = |ns: u64| {
        let hundredths = ns / TICK_NS;
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    };
    let idle = idle(topology, live).iter().sum();
    format!("{} {}\n", hundredths(clocks.monotonic_ns), hundredths(idle))
}
