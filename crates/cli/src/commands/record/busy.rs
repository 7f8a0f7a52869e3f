// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU time of this computer that no recorded task had: it was in their way, and is in no file.

use rota_kernel::events::Facts;
use rota_measure::Numbers;

/// `USER_HZ`, in which `/proc/stat` counts.
const TICK_NS: u64 = 10_000_000;

/// CPU time of everything on this computer so far; `None`: it does not say.
pub(super) fn now_ns() -> Option<u64> {
    busy_ns(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// The part of the machine that others had during a recording that began and ended at these.
pub(super) fn of_others(
    (before_ns, after_ns): (Option<u64>, Option<u64>),
    numbers: &Numbers,
    facts: &Facts,
) -> f64 {
    let Some((before_ns, after_ns)) = before_ns.zip(after_ns) else { return 0.0 };
    let own: u64 = numbers.tasks.iter().map(|task| task.cpu_ns).sum();
    let busy = after_ns.saturating_sub(before_ns);
    let others = busy.saturating_sub(own + facts.counts.recorder_cpu_ns);
    others as f64 / (f64::from(facts.cpus) * facts.duration_ns as f64).max(1.0)
}

/// user, nice, system, irq and softirq of the line of all CPUs (proc_stat(5)).
fn busy_ns(stat: &str) -> Option<u64> {
    let mut words = stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    let counts: Option<Vec<u64>> = words.by_ref().take(7).map(|word| word.parse().ok()).collect();
    match counts?[..] {
        [user, nice, system, _idle, _iowait, irq, softirq] => {
            Some((user + nice + system + irq + softirq) * TICK_NS)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_and_time_of_the_host_are_not_busy() {
        let stat = "cpu  10 2 3 1000 50 4 5 99 7 0\ncpu0 1 1 1 1 1 1 1 0 0 0\n";
        assert_eq!(busy_ns(stat), Some((10 + 2 + 3 + 4 + 5) * TICK_NS));
        assert_eq!(
            (busy_ns(""), busy_ns("cpu  1 2"), busy_ns("cpu  1 2 3 4 x 6 7")),
            (None, None, None)
        );
    }
}
