// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the machine leaves to choice: which CPU picks, which event of an instant happens, who has a
//! tick first. Random numbers are drawn where they are needed.

use crate::cpuset::CpuSet;
use crate::event_queue::Due;
use rota_choice::Alternatives;

/// CPUs that pick at one instant, by number; a position is a place in the set. The documented one
/// is the lowest not below `from`, or else the lowest.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) cpus: &'a CpuSet,
    pub(crate) from: u32,
    /// CPUs of the machine.
    pub(crate) all: u32,
}

impl Asked<'_> {
    fn position_from(&self, cpu: u32) -> u32 {
        self.cpus.next_from(cpu).map_or(0, |cpu| self.cpus.len_below(cpu))
    }
}

impl Alternatives for Asked<'_> {
    fn count(&self) -> u32 {
        self.cpus.len()
    }

    fn documented(&self) -> u32 {
        self.position_from(self.from)
    }

    /// Among all CPUs: one that does not pick leaves its turn to the next.
    fn random(&self, number: u32) -> u32 {
        self.position_from(number % self.all)
    }
}

/// Events that are due now, with their times, in no particular order. The documented one is that of
/// the heap.
#[derive(Debug)]
pub(crate) struct Ties<'a>(pub(crate) &'a [(u64, Due)]);

impl Alternatives for Ties<'_> {
    fn count(&self) -> u32 {
        self.0.len() as u32
    }

    fn documented(&self) -> u32 {
        let events = self.0.iter().enumerate();
        events.min_by_key(|(_, event)| **event).map_or(0, |(at, _)| at as u32)
    }
}

/// CPUs that have a tick one after the other. The documented one is the first.
#[derive(Debug)]
pub(crate) struct Turns {
    pub(crate) cpus: u32,
}

impl Alternatives for Turns {
    fn count(&self) -> u32 {
        self.cpus
    }

    fn documented(&self) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_cpu_follows_the_last_one_and_a_random_one_is_of_all() {
        let cpus: CpuSet = [1, 2, 70].into_iter().collect();
        let asked = |from| Asked { cpus: &cpus, from, all: 128 };
        let documented = [0, 1, 2, 3, 70, 71, 512].map(|from| asked(from).documented());
        assert_eq!(documented, [0, 0, 1, 2, 2, 0, 0]);
        let random = [0, 2, 3, 70, 71, 127, 128 + 2].map(|number| asked(0).random(number));
        assert_eq!(random, [0, 1, 2, 2, 0, 0, 1]);
    }

    #[test]
    fn the_documented_event_is_the_earliest_then_the_first_kind() {
        let events = [(9, Due::Tick(0)), (9, Due::Stop(1)), (9, Due::Stop(0))];
        assert_eq!(Ties(&events).documented(), 2);
        assert_eq!(Ties(&[events[1], (8, Due::Watchdog)]).documented(), 1);
    }
}
