// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first part of a long trace: to play all of it would take longer than to read it, and more
//! memory.

use super::kernel_threads;
use crate::error::Error;
use crate::replay::{Made, Making};
use rota_measure::{GroupNumbers, Numbers, Results, Summary};
use rota_replay::Taken;
use rota_trace::{Event, Sink};
use rota_trace_import::{Facts, Imported};

/// Longer traces are compared as far as this many events.
const MOST_EVENTS: u64 = 2_000_000;

/// The first events of a trace.
pub(super) struct First {
    making: Making,
    summary: Summary,
    left: u64,
    end_ns: u64,
    /// There were more.
    cut: bool,
}

/// What is compared in place of the whole.
pub(super) struct Compare {
    pub(super) made: Made,
    pub(super) numbers: Numbers,
    pub(super) groups: Vec<GroupNumbers>,
    pub(super) end_ns: u64,
}

impl First {
    pub(super) fn new(trace: &Imported, machine: Option<&str>) -> Result<Self, Error> {
        let summary = Summary::new(trace.header().cpus.unwrap_or(1));
        let making = Making::elsewhere(machine)?;
        Ok(Self { making, summary, left: MOST_EVENTS, end_ns: 0, cut: false })
    }

    /// The workload of that part, what its tasks got, and where it ends; `None`: it is the whole.
    pub(super) fn finish(
        mut self,
        facts: &Facts,
        flat: bool,
        about: &str,
    ) -> Result<Option<Compare>, Error> {
        if !self.cut {
            return Ok(None);
        }
        self.making.is_of(facts.cpus, facts.header.kernel.as_deref(), flat)?;
        let Results { numbers, groups, .. } = self.summary.finish_all(self.end_ns);
        let made = self.making.finish(
            self.end_ns,
            about,
            false,
            (kernel_threads(facts), Taken::default()),
        )?;
        Ok(Some(Compare { made, numbers, groups, end_ns: self.end_ns }))
    }
}

impl Sink for First {
    fn event(&mut self, event: &Event) {
        if self.left == 0 {
            self.cut = true;
            return;
        }
        self.left -= 1;
        self.end_ns = event.time_ns;
        self.making.gatherer.event(event);
        self.summary.event(event);
    }
}
