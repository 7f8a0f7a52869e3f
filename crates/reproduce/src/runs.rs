// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who had the CPU when, on a machine with one: from a run's events.

use rota_trace::{Event, EventKind, Sink};

/// A time on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The client, counted in the order in which they came.
    pub(crate) client: usize,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

/// Keeps all times on the CPU.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    pids: Vec<u32>,
    runs: Vec<Run>,
    running: Option<(usize, u64)>,
}

impl Runs {
    /// All of them, of a run that ended at `end_ns`.
    pub(crate) fn finish(mut self, end_ns: u64) -> Vec<Run> {
        self.leave(end_ns);
        self.runs
    }

    fn leave(&mut self, to_ns: u64) {
        let Some((client, from_ns)) = self.running.take() else { return };
        if from_ns < to_ns {
            self.runs.push(Run { client, from_ns, to_ns });
        }
    }
}

impl Sink for Runs {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork { pid, .. } => self.pids.push(pid),
            EventKind::SwitchIn { pid } => {
                let client = self.pids.iter().position(|known| *known == pid);
                self.running = client.map(|client| (client, event.time_ns));
            }
            EventKind::SwitchOut { .. } => self.leave(event.time_ns),
            _ => {}
        }
    }
}

/// CPU time of each of so many clients.
pub(crate) fn received_ns(runs: &[Run], clients: usize) -> Vec<u64> {
    let mut received_ns = vec![0; clients];
    for run in runs {
        received_ns[run.client] += run.to_ns - run.from_ns;
    }
    received_ns
}

/// The longest time that a client waited for the CPU, between two times on it.
pub(crate) fn longest_wait_ns(runs: &[Run], client: usize) -> u64 {
    let own: Vec<&Run> = runs.iter().filter(|run| run.client == client).collect();
    own.windows(2).map(|two| two[1].from_ns - two[0].to_ns).max().unwrap_or(0)
}

/// The longest time that a client had the CPU without a break.
pub(crate) fn longest_run_ns(runs: &[Run], client: usize) -> u64 {
    let own = runs.iter().filter(|run| run.client == client);
    own.map(|run| run.to_ns - run.from_ns).max().unwrap_or(0)
}

/// The shortest time after which the schedule repeats, to its end; it is looked at in steps of
/// `quantum_ns`. `None`: it does not.
pub(crate) fn period_ns(runs: &[Run], quantum_ns: u64) -> Option<u64> {
    let mut schedule = Vec::new();
    for run in runs {
        let quanta = (run.to_ns - run.from_ns) / quantum_ns;
        schedule.extend(std::iter::repeat_n(run.client, quanta as usize));
    }
    // At least twice in the schedule, or nothing repeats.
    let repeats = |period: &usize| schedule.iter().zip(&schedule[*period..]).all(|(a, b)| a == b);
    (1..=schedule.len() / 2).find(repeats).map(|period| period as u64 * quantum_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One-second times on the CPU, as digits.
    fn runs(schedule: &str) -> Vec<Run> {
        let run = |(at, digit): (u64, u8)| Run {
            client: usize::from(digit - b'0'),
            from_ns: at * 1_000_000_000,
            to_ns: (at + 1) * 1_000_000_000,
        };
        (0..).zip(schedule.bytes()).map(run).collect()
    }

    #[test]
    fn the_shortest_period_counts() {
        assert_eq!(period_ns(&runs("012012012"), 1_000_000_000), Some(3_000_000_000));
        assert_eq!(period_ns(&runs("0101010"), 500_000_000), Some(2_000_000_000));
        assert_eq!(period_ns(&runs("000"), 1_000_000_000), Some(1_000_000_000));
        assert_eq!(period_ns(&runs("0120210"), 1_000_000_000), None);
    }

    #[test]
    fn waits_are_between_two_times_on_the_cpu() {
        let schedule = runs("1001000");
        assert_eq!(longest_wait_ns(&schedule, 1), 2_000_000_000);
        assert_eq!(longest_wait_ns(&schedule, 0), 1_000_000_000);
        assert_eq!(longest_run_ns(&schedule, 1), 1_000_000_000);
        assert_eq!(received_ns(&schedule, 2), [5_000_000_000, 2_000_000_000]);
    }
}
