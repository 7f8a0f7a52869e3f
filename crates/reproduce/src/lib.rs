// SPDX-License-Identifier: MIT OR Apache-2.0
//! The experiments of papers, run with the policies that ship in the simulated machine, and
//! their numbers beside the paper's.
//!
//! A paper is a file of what it says (`papers/<name>/expected.toml`) and a module of experiments
//! (`src/<name>/`). An experiment measures numbers and draws pictures of one or more figures; it
//! judges nothing: [`Paper::reproduce`] sets its numbers against the file's.

mod cas;
mod decision_costs;
mod effort;
mod error;
mod expected;
mod figure;
mod o1cfs;
mod pbs;
mod pfs;
mod pool;
mod progress;
mod rig;
mod runs;
mod vtrr;

pub use decision_costs::DecisionCosts;
pub use effort::Effort;
pub use error::Error;
pub use figure::{Drawing, Expectation, Figure, Measured, Number, Reproduction, Table, Verdict};
pub use progress::Progress;

use expected::Expected;
use figure::Found;
use std::num::NonZero;

/// A paper that can be reproduced.
pub struct Paper {
    /// Short name, as on the command line.
    pub name: &'static str,
    expected: &'static str,
    experiments: &'static [Experiment],
    /// The figure that has room for nanoseconds of decisions.
    costs_in: Option<&'static str>,
}

/// What to reproduce of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Ids; none: all.
    pub figures: &'a [String],
    /// How much.
    pub effort: Effort,
    /// At the same time.
    pub threads: NonZero<usize>,
    /// Measured by the bench, to be shown beside instructions.
    pub decision_costs: Option<&'a DecisionCosts>,
}

/// One experiment, of which a paper may show several figures.
pub(crate) struct Experiment {
    /// Ids of its figures.
    pub(crate) figures: &'static [&'static str],
    /// CPU time at the default effort, in tenths of a second of some computer: a part of all that is
    /// to be done.
    pub(crate) work: u64,
    pub(crate) run: fn(&Job<'_>) -> Result<Vec<Found>, Error>,
}

/// What an experiment is to do.
pub(crate) struct Job<'a> {
    pub(crate) effort: Effort,
    pub(crate) threads: pool::Workers<'a>,
    pub(crate) progress: &'a Progress,
    pub(crate) decision_costs: Option<&'a DecisionCosts>,
    /// Ids of figures that are wanted, of this and other experiments.
    figures: &'a [&'a str],
}

impl Job<'_> {
    /// Whether a figure is wanted.
    pub(crate) fn wants(&self, figure: &str) -> bool {
        self.figures.contains(&figure)
    }
}

const PAPERS: &[Paper] = &[vtrr::PAPER, o1cfs::PAPER, pbs::PAPER, pfs::PAPER, cas::PAPER];

/// All papers.
pub fn papers() -> &'static [Paper] {
    PAPERS
}

/// Has `progress` know of all papers before the first begins.
pub fn expect_all(progress: &Progress) {
    let experiments = PAPERS.iter().flat_map(|paper| paper.experiments);
    progress.expect(experiments.map(|experiment| experiment.work).sum());
}

/// The paper of that name.
pub fn find(name: &str) -> Result<&'static Paper, Error> {
    PAPERS.iter().find(|paper| paper.name == name).ok_or_else(|| {
        let known: Vec<&str> = PAPERS.iter().map(|paper| paper.name).collect();
        let hint = nearest(name, &known);
        Error::Input(format!("there is no paper '{name}'{hint}; known are {}", known.join(", ")))
    })
}

/// ` (did you mean 'vtrr'?)`, if one is near.
fn nearest(name: &str, known: &[&str]) -> String {
    let distance = |other: &&str| strsim::damerau_levenshtein(name, other);
    let nearest = known.iter().min_by_key(|other| distance(other));
    let nearest = nearest.filter(|other| distance(other) <= 2);
    nearest.map_or(String::new(), |other| format!(" (did you mean '{other}'?)"))
}

impl Paper {
    /// Ids of its figures, in the order of the paper.
    pub fn figures(&self) -> Vec<&'static str> {
        let ids = self.experiments.iter().flat_map(|experiment| experiment.figures);
        let mut ids: Vec<&'static str> = ids.copied().collect();
        // fig2 before fig10, figures before what has no number
        ids.sort_by_key(|id| (!id.starts_with("fig"), id.len(), *id));
        ids
    }

    /// Runs the experiments of the figures. If `progress` is stopped, what is done by then is
    /// judged, and the others are named in [`Reproduction::unfinished`].
    pub fn reproduce(&self, plan: Plan<'_>, progress: &Progress) -> Result<Reproduction, Error> {
        let Plan { figures, effort, threads, decision_costs } = plan;
        let known = self.figures();
        if let Some(unknown) = figures.iter().find(|id| !known.contains(&id.as_str())) {
            let hint = nearest(unknown, &known);
            let (name, known) = (self.name, known.join(", "));
            return Err(Error::Input(format!("{name} has no '{unknown}'{hint}; it has {known}")));
        }
        let wanted: Vec<&str> = known
            .into_iter()
            .filter(|id| figures.is_empty() || figures.iter().any(|f| f == id))
            .collect();
        if decision_costs.is_some() && !self.costs_in.is_some_and(|id| wanted.contains(&id)) {
            let figure = self.costs_in.map_or("no figure".into(), |id| format!("only {id}"));
            let name = self.name;
            return Err(Error::Input(format!("{figure} of {name} shows costs of decisions")));
        }
        let expected = Expected::parse(self.name, self.expected)?;
        let mut found = Vec::new();
        let is_wanted = |experiment: &&Experiment| {
            experiment.figures.iter().any(|figure| wanted.contains(figure))
        };
        let experiments: Vec<_> = self.experiments.iter().filter(is_wanted).collect();
        progress.expect(experiments.iter().map(|experiment| experiment.work).sum());
        for experiment in experiments {
            if progress.is_stopped() {
                break;
            }
            let threads = pool::Workers { count: threads, progress };
            let job = Job { effort, threads, progress, decision_costs, figures: &wanted };
            progress.begin(experiment.work);
            match (experiment.run)(&job) {
                Ok(figures) => found.extend(figures),
                Err(Error::Interrupted) => break,
                Err(error) => return Err(error),
            }
            progress.end();
        }
        let (mut figures, mut unfinished) = (Vec::new(), Vec::new());
        for id in &wanted {
            match found.iter().find(|found| found.id == *id) {
                Some(found) => figures.push(expected.judge(found)?),
                None => unfinished.push((*id).to_owned()),
            }
        }
        let reproduction = expected.reproduction(self.name, effort, figures);
        Ok(Reproduction { unfinished, ..reproduction })
    }
}
