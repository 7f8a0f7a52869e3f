// SPDX-License-Identifier: MIT OR Apache-2.0
//! What makes all numbers of a run doubtful.

use super::Run;
use rota_machine::exit::ExitKind;

/// Decisions or context switches in a second of one CPU that no computer makes: one takes a
/// microsecond or more.
const MOST_PER_SECOND: u64 = 1_000_000;

/// Fewer are no rate.
const SAMPLE: u64 = 1000;

/// Each is a warning.
pub(crate) fn of(run: &Run<'_>) -> Vec<String> {
    let totals = &run.finished.numbers.totals;
    // A policy that was ejected, or left, may not have got to one.
    let ended = run.finished.outcome.exit.kind == ExitKind::Unreg;
    let decisions = if ended { totals.decisions } else { 1 };
    let cpus = u64::from(run.config.topology.cpus());
    let most = totals.context_switches.max(totals.decisions);
    doubts(decisions, most, totals.measured_ns, cpus)
}

fn doubts(decisions: u64, most: u64, measured_ns: u64, cpus: u64) -> Vec<String> {
    let mut doubts = Vec::new();
    if decisions == 0 {
        doubts.push("0 decisions: the policy ran no task in the measured time, so no number says anything about it".into());
    }
    let rate = u128::from(most) * 1_000_000_000 / u128::from(measured_ns.max(1));
    // of a run of some microseconds, a rate says nothing
    if most > SAMPLE && rate > u128::from(MOST_PER_SECOND) * u128::from(cpus) {
        doubts.push(format!(
            "{rate} decisions or context switches per second, more than a million for each CPU: \
             no real machine keeps up with that"
        ));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::doubts;

    #[test]
    fn a_million_per_second_and_cpu_is_the_most_that_is_believed() {
        // 2 CPUs and half a second: 1,000,000
        assert_eq!(doubts(5, 1_000_000, 500_000_000, 2), [""; 0]);
        assert_eq!(doubts(5, 1_000, 1, 2), [""; 0], "no sample");
        let told = doubts(5, 1_000_001, 500_000_000, 2);
        assert!(
            told[0].starts_with("2000002 decisions or context switches per second"),
            "{told:?}"
        );
    }
}
