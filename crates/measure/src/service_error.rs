// SPDX-License-Identifier: MIT OR Apache-2.0
//! The service time error of clients that never sleep, exactly: `E_A(0, t) = W_A(t) - t · S_A / S`
//! [VTRR §2.1 eq. 2], on one CPU.
//!
//! [VTRR §5.1] samples it at the end of every quantum. Within a time that one client has the
//! CPU, its error only grows and everybody else's only falls. So the range over all quanta is
//! that over the ends of those times, and quanta need not be known.

use rota_trace::{Event, EventKind, Sink};
use rustc_hash::FxHashMap;

/// Follows the errors of all tasks of a run. All of them have to be there from its beginning to
/// its end, and to want the CPU.
#[derive(Clone, Debug, Default)]
pub struct ServiceError {
    clients: Vec<Client>,
    number_of_pid: FxHashMap<u32, usize>,
    total: i128,
    running: Option<usize>,
    since_ns: u64,
    range: Option<(i128, i128)>,
}

#[derive(Clone, Copy, Debug)]
struct Client {
    share: i128,
    /// Times the sum of shares, so that it is an integer.
    error: i128,
}

/// The extremes of the error over all clients and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRange {
    /// The furthest that anybody was ahead, times the sum of shares.
    pub highest: i128,
    /// The furthest that anybody was behind: negative, times the sum of shares.
    pub lowest: i128,
    /// The sum of shares.
    pub total: i128,
}

impl ErrorRange {
    /// The furthest that anybody was ahead.
    pub fn highest_ns(&self) -> f64 {
        self.highest as f64 / self.total as f64
    }

    /// The furthest that anybody was behind: negative.
    pub fn lowest_ns(&self) -> f64 {
        self.lowest as f64 / self.total as f64
    }
}

impl ServiceError {
    /// The range of a run that ended at `end_ns`; `None` if nobody ran.
    pub fn finish(mut self, end_ns: u64) -> Option<ErrorRange> {
        self.look(end_ns);
        self.range.map(|(lowest, highest)| ErrorRange { highest, lowest, total: self.total })
    }

    fn client(&mut self, pid: u32) -> usize {
        *self.number_of_pid.entry(pid).or_insert_with(|| {
            self.clients.push(Client { share: 0, error: 0 });
            self.clients.len() - 1
        })
    }

    fn set_share(&mut self, pid: u32, share: u64) {
        let number = self.client(pid);
        let client = &mut self.clients[number];
        self.total += i128::from(share) - client.share;
        client.share = share.into();
    }

    /// Credits the one that ran since the last look, and samples everybody.
    fn look(&mut self, now_ns: u64) {
        let passed_ns = i128::from(now_ns - self.since_ns.min(now_ns));
        self.since_ns = now_ns;
        let Some(running) = self.running else { return };
        if passed_ns == 0 {
            return;
        }
        self.clients[running].error += passed_ns * self.total;
        let (mut lowest, mut highest) = self.range.unwrap_or((i128::MAX, i128::MIN));
        for client in &mut self.clients {
            client.error -= passed_ns * client.share;
            lowest = lowest.min(client.error);
            highest = highest.max(client.error);
        }
        self.range = Some((lowest, highest));
    }
}

impl Sink for ServiceError {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Task { pid, weight, .. } => self.set_share(pid, weight.into()),
            EventKind::Share { pid, share } => self.set_share(pid, share),
            EventKind::SwitchIn { pid } => {
                self.look(event.time_ns);
                self.running = Some(self.client(pid));
            }
            EventKind::SwitchOut { .. } => {
                self.look(event.time_ns);
                self.running = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_trace::OffCpu;

    /// Feeds a schedule of one-second quanta, as letters, of clients with these shares.
    fn range(shares: &[u64], schedule: &str) -> (f64, f64) {
        let mut sink = ServiceError::default();
        let event = |second: usize, kind| Event {
            time_ns: second as u64 * 1_000_000_000,
            cpu: Some(0),
            kind,
        };
        for (pid, share) in (0..).zip(shares) {
            let name = String::new();
            sink.event(&event(0, EventKind::Task { pid, name, weight: 100, instance_of: None }));
            sink.event(&event(0, EventKind::Share { pid, share: *share }));
        }
        for (second, letter) in schedule.bytes().enumerate() {
            let pid = u32::from(letter - b'A');
            sink.event(&event(second, EventKind::SwitchIn { pid }));
            let why = OffCpu::Runnable;
            sink.event(&event(second + 1, EventKind::SwitchOut { pid, why }));
        }
        let range = sink.finish(schedule.len() as u64 * 1_000_000_000).expect("somebody ran");
        (range.lowest_ns() / 1e9, range.highest_ns() / 1e9)
    }

    #[test]
    fn the_papers_examples_have_its_ranges() {
        // Shares 3, 2, 1 [VTRR §2.2, §2.4]; for WFQ with ties to the lowest id.
        assert_eq!(range(&[3, 2, 1], "AAABBC"), (-1.0, 1.5));
        let (lowest, highest) = range(&[3, 2, 1], "ABAABC");
        assert_eq!((lowest, highest), (-5.0 / 6.0, 1.0));
        assert_eq!(range(&[3, 2, 1], "ABCABA"), (-0.5, 0.5));
    }

    #[test]
    fn one_client_alone_has_no_error() {
        assert_eq!(range(&[7], "AAAAAAA"), (0.0, 0.0));
    }
}
