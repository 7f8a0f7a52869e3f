// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run tells: events, counters, and lines that the scheduler printed.

use crate::run::SchedulerExit;
use crate::stats::Counters;
use crate::system::System;
use rota_trace::Event;

/// Lines of `bpf_printk` kept.
const PRINTED_MAX: usize = 10_000;

/// What is told so far.
pub(crate) struct Told {
    /// Since the sink had them last.
    pub(crate) events: Vec<Event>,
    pub(crate) counters: Counters,
    pub(crate) printed: Vec<String>,
    /// Of schedulers that are gone, where the machine went on.
    pub(crate) exits: Vec<SchedulerExit>,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            counters: Counters::new(),
            printed: Vec::new(),
            exits: Vec::new(),
        }
    }
}

impl System {
    /// Lines that the scheduler printed so far.
    pub fn printed(&self) -> &[String] {
        &self.told.printed
    }
}

impl Told {
    /// `bpf_printk`: too many lines are dropped.
    pub(crate) fn print(&mut self, text: &str) {
        if self.printed.len() < PRINTED_MAX {
            self.printed.push(text.trim_end_matches('\n').to_string());
        }
    }
}
