// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choices of another run.

use crate::choices::{turned, Strategy};
use crate::error::ChoiceError;
use crate::recording::{Entry, Recording, END};
use crate::site::{Alternatives, Origin, Site};
use std::sync::Arc;

/// Says of a run that asks otherwise what is likely the reason.
const WHY: &str = "the recording is of another workload, policy, machine or version";

/// Answers as recorded, as long as the same is asked.
#[derive(Debug)]
pub struct Replayed {
    recording: Arc<Recording>,
    /// The next entry.
    next: usize,
    /// How many choices of that entry are made.
    made: u32,
}

impl Replayed {
    /// From its first choice on.
    pub fn new(recording: Arc<Recording>) -> Self {
        Self { recording, next: 0, made: 0 }
    }

    /// What comes next was not asked for.
    fn mismatch(&self, asked: &str) -> ChoiceError {
        let line = self.recording.line(self.next);
        let what = match self.recording.entries.get(self.next) {
            None => format!("{END}: but the run chooses {asked}: {WHY}"),
            Some(Entry::Chosen { site, count, least, .. }) if count != least => {
                let now = count - self.made;
                format!("{site} of {now}: but the run chooses {asked}: {WHY}")
            }
            Some(entry) => format!("{entry}: but the run chooses {asked}: {WHY}"),
        };
        ChoiceError { line, what }
    }
}

impl Strategy for Replayed {
    fn orders_ties(&self) -> bool {
        true
    }

    fn choose(&mut self, site: Site, among: &dyn Alternatives) -> Result<u32, ChoiceError> {
        let count = among.count();
        match self.recording.entries.get(self.next) {
            Some(&Entry::Chosen { site: recorded, places, count: most, least })
                if recorded == site && most - self.made == count =>
            {
                self.made += 1;
                if count == least {
                    (self.next, self.made) = (self.next + 1, 0);
                }
                Ok(turned(places, among.documented(), count))
            }
            _ => Err(self.mismatch(&format!("{site} of {count}"))),
        }
    }

    fn draw(&mut self, origin: Origin) -> Result<u64, ChoiceError> {
        match self.recording.entries.get(self.next) {
            Some(Entry::Drawn { origin: recorded, number }) if *recorded == origin.recorded() => {
                self.next += 1;
                Ok(*number)
            }
            _ => Err(self.mismatch(&format!("a random number for {origin}"))),
        }
    }

    fn end(&mut self) -> Result<(), ChoiceError> {
        match self.recording.entries.get(self.next) {
            None => Ok(()),
            Some(_) => Err(self.mismatch("nothing more")),
        }
    }
}
