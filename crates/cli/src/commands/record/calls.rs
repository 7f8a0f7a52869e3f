// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often the policy's callbacks were called, and how long they took; how it ended.

use rota_trace::{Cost, Event, EventKind, Sink};
use std::collections::BTreeMap;

/// Calls of one callback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) calls: u64,
    pub(crate) ns: u64,
}

/// Counts the calls of callbacks.
#[derive(Debug, Default)]
pub(crate) struct CallCounter {
    /// By the callback's name.
    pub(crate) callbacks: BTreeMap<String, Calls>,
    /// Kind, code and reason of the policy's end.
    pub(crate) exit: Option<(u32, i64, String)>,
}

impl Sink for CallCounter {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::OpCall { op, cost: Cost::Nanoseconds(ns), .. } => {
                if !self.callbacks.contains_key(op.as_ref()) {
                    self.callbacks.insert(op.to_string(), Calls::default());
                }
                if let Some(calls) = self.callbacks.get_mut(op.as_ref()) {
                    calls.calls += 1;
                    calls.ns += ns;
                }
            }
            EventKind::PolicyExit { kind, code, reason } => {
                self.exit = Some((*kind, *code, reason.clone()));
            }
            _ => {}
        }
    }

    fn wants_detail(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_added_up_by_name() {
        let mut counter = CallCounter::default();
        for (op, ns) in [("enqueue", 100), ("dispatch", 7), ("enqueue", 50)] {
            let cost = Cost::Nanoseconds(ns);
            let kind = EventKind::OpCall { op: op.into(), pid: 0, cost };
            counter.event(&Event { time_ns: 0, cpu: Some(0), kind });
        }
        assert_eq!(counter.callbacks["enqueue"], Calls { calls: 2, ns: 150 });
        assert_eq!(counter.callbacks["dispatch"], Calls { calls: 1, ns: 7 });
    }
}
