// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run gave.

use crate::dump::Dump;
use crate::error::SimError;
use crate::simulation::{Simulation, UserProgram};
use crate::statistics::PolicyStat;
use rota_choice::Recording;
use rota_machine::run::Outcome;
use rota_measure::{
    FigureSink, Figures, GroupNumbers, InstructionsPerDecision, Numbers, Requests, RequestsNumbers,
    Results, Summary,
};
use rota_trace::{Sink, Tee};

/// What a run gave.
#[derive(Debug)]
pub struct Measured {
    /// How it ended.
    pub outcome: Outcome,
    /// Tasks, CPUs and the machine in numbers.
    pub numbers: Numbers,
    /// Instances of one task together.
    pub groups: Vec<GroupNumbers>,
    /// What became of requests.
    pub requests: RequestsNumbers,
    /// What the policy counted itself.
    pub policy_stats: Vec<PolicyStat>,
    /// What figures are drawn from, if it was asked for.
    pub figures: Option<Figures>,
    /// The choices of the run, if they were recorded.
    pub choices: Option<Recording>,
    /// What the policy had in memory at the end, if it was asked for.
    pub dump: Option<Dump>,
}

/// Who else sees a run's events.
#[derive(Default)]
pub struct Watchers<'a> {
    /// They see each of them.
    pub sinks: Vec<&'a mut dyn Sink>,
    /// Makes [`Measured::figures`].
    pub figures: Option<FigureSink>,
}

impl std::fmt::Debug for Watchers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watchers").field("sinks", &self.sinks.len()).finish_non_exhaustive()
    }
}

impl Simulation {
    /// Runs it, and measures what happens after the warm-up.
    pub fn measure(self, watchers: Watchers<'_>) -> Result<Measured, SimError> {
        self.measure_for(None, watchers)
    }

    /// As [`Simulation::measure`], with the program that loaded the policy
    /// ([`Simulation::load_by`]).
    pub fn measure_by(
        self,
        program: UserProgram,
        watchers: Watchers<'_>,
    ) -> Result<Measured, SimError> {
        self.measure_for(Some(program), watchers)
    }

    fn measure_for(
        mut self,
        program: Option<UserProgram>,
        watchers: Watchers<'_>,
    ) -> Result<Measured, SimError> {
        let warmup_ns = self.config.warmup_ns;
        let mut summary = Summary::new(self.config.topology.cpus()).with_warmup(warmup_ns);
        if let Some(figures) = watchers.figures {
            summary = summary.with_figures(figures);
        }
        let mut requests = Requests::default().with_warmup(warmup_ns);
        let mut sinks = Tee::new();
        sinks.push(&mut summary);
        sinks.push(&mut requests);
        watchers.sinks.into_iter().for_each(|sink| sinks.push(sink));
        self.config.detail = sinks.wants_detail();

        let dumps = self.dumps;
        let mut loaded = match program {
            Some(program) => self.load_by(program)?,
            None => self.load()?,
        };
        let outcome = loaded.run(&mut sinks)?;
        drop(sinks);
        let choices = loaded.take_choices();
        let policy_stats = loaded.statistics();
        let dump = dumps.then(|| loaded.dump());

        let counters = &outcome.counters;
        let counted = counters.decisions > 0;
        summary.set_instructions_per_decision(InstructionsPerDecision {
            mean: counted
                .then(|| counters.decision_instructions as f64 / counters.decisions as f64),
            max: counted.then_some(counters.decision_instructions_max),
        });
        let Results { numbers, groups, mut figures } = summary.finish_all(outcome.end_ns);
        let (requests, responses) = requests.finish_all(outcome.end_ns);
        if let Some(figures) = &mut figures {
            figures.curves.extend(responses);
        }
        Ok(Measured { outcome, numbers, groups, requests, policy_stats, figures, choices, dump })
    }
}
