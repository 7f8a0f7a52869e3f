// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long users wait for their tasks, from a run's events.

use rota_trace::{Event, EventKind, OffCpu, Sink};
use std::collections::BTreeMap;

/// Times from the first wakeup of a task to the end of its last piece.
pub(super) struct Responses {
    pieces: u64,
    users: BTreeMap<u32, User>,
    /// From and to, in seconds.
    all: Vec<(f64, f64)>,
}

#[derive(Default)]
struct User {
    done: u64,
    began_ns: u64,
}

impl Responses {
    pub(super) fn new(pieces: u64) -> Self {
        Self { pieces, users: BTreeMap::new(), all: Vec::new() }
    }

    /// Of tasks that begin and end in that time, in seconds.
    pub(super) fn within(self, from: f64, to: f64) -> Vec<f64> {
        let inside = self.all.into_iter().filter(|(began, ended)| *began >= from && *ended <= to);
        inside.map(|(began, ended)| ended - began).collect()
    }

    pub(super) fn add(&mut self, began: f64, ended: f64) {
        self.all.push((began, ended));
    }
}

impl Sink for Responses {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Wakeup { pid, .. } => {
                let user = self.users.entry(pid).or_default();
                if user.done % self.pieces == 0 {
                    user.began_ns = event.time_ns;
                }
            }
            EventKind::SwitchOut { pid, why: OffCpu::Sleep } => {
                let user = self.users.entry(pid).or_default();
                user.done += 1;
                if user.done % self.pieces == 0 {
                    let times = [user.began_ns, event.time_ns].map(|ns| ns as f64 / 1e9);
                    self.add(times[0], times[1]);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_from_the_first_wakeup_to_the_last_sleep() {
        let mut responses = Responses::new(2);
        let mut at = |second: u64, kind| {
            responses.event(&Event { time_ns: second * 1_000_000_000, cpu: Some(0), kind });
        };
        for (woken, asleep) in [(1, 3), (4, 8), (20, 21), (22, 23)] {
            at(woken, EventKind::Wakeup { pid: 7, waker: 0 });
            at(asleep, EventKind::SwitchOut { pid: 7, why: OffCpu::Sleep });
        }
        assert_eq!(responses.within(0.0, 22.0), [7.0]);
    }
}
