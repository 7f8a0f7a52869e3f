// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two runs that are done here. What tasks could run before a decision is seen in a second run, which
//! is the same and ends there: no trace is kept.

use super::gather::{Gathered, Picks};
use super::saw::State;
use super::DiffArgs;
use crate::decision::{Parting, Runnable};
use crate::error::Error;
use crate::output::messages;
use crate::progress::Clock;
use crate::session::session;
use crate::simulation;
use rota_machine::config::Config;
use rota_measure::catalogue::{self, Run};
use rota_session::{label, subject, Load, Subject, Wanted};
use rota_sim::Watchers;
use rota_trace::Sink;
use std::path::Path;

/// A run that can be done again.
pub(super) struct RunOf<'a> {
    pub(super) label: String,
    subject: Subject,
    pub(super) config: Config,
    load: &'a Load,
    clock: &'a Clock,
}

/// The workload of both.
pub(super) fn load(path: &Path) -> Result<Load, Error> {
    simulation::load(path)
}

/// Two policies, ready to run.
pub(super) fn both<'a>(
    args: &DiffArgs,
    wanted: &[Wanted; 2],
    (load, clock): (&'a Load, &'a Clock),
) -> Result<[RunOf<'a>; 2], Error> {
    let names = wanted.each_ref().map(Wanted::names);
    let labels = label::told_apart(&names);
    let (ask, options) = (args.ask(), args.of_program.options());
    let run = |at: usize| -> Result<RunOf<'a>, Error> {
        let (subject, config) = session().subject(&wanted[at], (&ask, &options), load)?;
        Ok(RunOf { label: labels[at].clone(), subject, config, load, clock })
    };
    Ok([run(0)?, run(1)?])
}

impl RunOf<'_> {
    /// Does it; and why it has no numbers of all of it, if it has not.
    pub(super) fn gather(&self) -> Result<(Gathered, Option<String>), Error> {
        let (mut picks, mut ticker) = (Picks::default(), self.clock.ticker());
        let sinks: Vec<&mut dyn Sink> = vec![&mut picks, &mut ticker];
        let watchers = Watchers { sinks, figures: None };
        let finished =
            self.subject.measure((&self.config, self.load), self.config.seed, watchers)?;
        if finished.outcome.is_cut {
            return Err(Error::Failure("interrupted".into()));
        }
        let cpus = self.config.topology.cpus();
        let run = Run { numbers: &finished.numbers, requests: &finished.requests, cpus };
        let gathered = Gathered {
            name: format!("{}, {}, seed {}", self.label, self.load.file, self.config.seed),
            decisions: picks.0,
            cpus,
            duration_ns: finished.outcome.end_ns,
            measures: catalogue::measures().iter().map(|measure| measure.of(run)).collect(),
        };
        Ok((gathered, subject::left(&finished)))
    }

    /// All tasks that could run before the decision, as [`super::saw::before`] has it of a trace.
    pub(super) fn before(
        &self,
        parting: Parting,
        else_ns: Option<u64>,
    ) -> Result<Vec<Runnable>, Error> {
        let (mut state, mut ticker) = (State::new(parting, else_ns), self.clock.ticker());
        let sinks: Vec<&mut dyn Sink> = vec![&mut state, &mut ticker];
        let watchers = Watchers { sinks, figures: None };
        let finished =
            self.subject.measure((&self.config, self.load), self.config.seed, watchers)?;
        Ok(state.finish(finished.outcome.end_ns))
    }

    /// Tells why it left early.
    pub(super) fn tell(&self, reason: &str) {
        let cpus = self.config.topology.cpus();
        let plural = if cpus == 1 { "" } else { "s" };
        let runs = format!("{}, {cpus} CPU{plural}, seed {}", self.load.file, self.config.seed);
        messages::exit_of(&self.label, &runs, reason, true);
    }
}
