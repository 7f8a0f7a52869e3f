// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search: every value of each tunable with every other, of which the worse part is left out
//! again and again as more seeds are run (successive halving), then closer looks between the
//! neighbours of the best. Other seeds judge what was found, next to the policy as it ships.

use super::{axes, TuneArgs};
use crate::error::Error;
use crate::object;
use crate::output::messages;
use crate::program;
use crate::simulation;
use crate::stop::Stop;
use crate::tuned::{Point, Tried, Tuned};
use rota_measure::catalogue::Measure;
use rota_session::Ask;
use rota_sim::Policy;
use rota_sweep::{
    Aims, Axis, Cell, Counts, Done, Fit, Method, Range, Rounds, Row, RunTable, Runs, Sought, Sweep,
    Swept, Table, Value, Values, WorkloadFile, OF_SET,
};
use std::collections::HashMap;
use std::num::NonZero;
use std::ops::Range as Places;
use std::sync::Arc;

/// Seeds of the first round; of so many settings one goes on to the next, with as many times the
/// seeds.
const HALVING: (usize, usize) = (2, 3);
/// Closer looks at a tunable, each with so many values between two neighbours, and on both of them.
const LOOKS: usize = 3;
const VALUES: usize = 5;
/// A tunable with so many numbers or more is one of which those between them are worth a look; fewer
/// are choices.
const NUMBERS: usize = 3;

/// What a search came to.
pub(super) enum Outcome {
    Whole(Box<Tuned>),
    /// The user ended it: what is known by then.
    Stopped(Tried),
}

/// A search, and all its runs.
pub(super) struct Search {
    runs: Runs,
    sweep: Sweep,
    /// To ask whether a tunable takes numbers with a fraction.
    policy: Policy,
    axes: Vec<Axis>,
    aims: Aims,
    seeds: (u64, u32),
    threads: usize,
    stop: Stop,
    /// All that was run for the search.
    known: HashMap<String, Row>,
}

impl Search {
    pub(super) fn new(args: &TuneArgs, aims: Aims, stop: Stop) -> Result<Self, Error> {
        let options = args.machine.options();
        if program::is_meant(&args.policy) {
            return Err(Error::input(format!(
                "{}: a program, expected a policy or a file, whose tunables can be set; rota sweep \
                 takes programs, with {{NAME}} in their arguments",
                args.policy
            )));
        }
        let kernel = simulation::kernel(&args.object, &args.machine)?;
        let found = object::find(&args.policy, args.object.compiler(&kernel))?;
        let name = found.name.clone();
        let policy = found.simulate(&kernel)?.policy;
        let axes = axes::axes(args, &name, &policy)?;
        let sweep = Sweep {
            file: "rota tune".into(),
            workloads: vec![WorkloadFile {
                name: args.workload.display().to_string(),
                path: args.workload.clone(),
                line: 0,
            }],
            policies: vec![rota_sweep::Policy {
                label: name,
                policy: args.policy.clone(),
                program: None,
                set: args.set.clone(),
                manifest: None,
                axes: axes.clone(),
                plain: true,
                line: 0,
            }],
            baseline: Some(0),
            seeds: Vec::new(),
            method: Method::Grid,
            run: RunTable::default(),
            workload: Vec::new(),
            machine: Vec::new(),
            aims: Sought::default(),
        };
        let base = Ask {
            ops: args.object.ops.clone(),
            include: args.object.include.clone(),
            kernel: args.object.kernel.clone(),
            btf: args.object.btf.clone(),
            cpus: args.cpus,
            machine: options,
            ..Ask::default()
        };
        let seeds = (args.machine.seed, args.seeds);
        let sweep = Sweep { seeds: seeds_of(seeds, 0..args.seeds), ..sweep };
        let runs = Runs::with(Arc::new(sweep.clone()), base, Box::new(messages::line))?;
        let threads = args.jobs.or(std::thread::available_parallelism().ok());
        let threads = threads.map_or(1, NonZero::get);
        Ok(Self { runs, sweep, policy, axes, aims, seeds, threads, stop, known: HashMap::new() })
    }

    /// How far it is.
    pub(super) fn counts(&self) -> Arc<Counts> {
        self.runs.counts()
    }

    fn label(&self) -> &str {
        &self.sweep.policies[0].label
    }

    pub(super) fn run(&mut self) -> Result<Outcome, Error> {
        let Some(mut best) = self.coarse()? else { return Ok(self.stopped()) };
        for at in 0..self.axes.len() {
            match self.closer(at, best)? {
                Some(better) => best = better,
                None => return Ok(self.stopped()),
            }
        }
        // What was the best by these seeds may owe it to them: others judge.
        let (first, count) = self.seeds;
        self.plan(&best, seeds_of(self.seeds, count..2 * count))?;
        let Some(rows) = self.rows(&self.runs.cells())? else { return Ok(self.stopped()) };
        let judged = self.judge(rows)?;
        let measure = judged.objectives[0].metric;
        let place = |is_best: bool| {
            let has = |at: &usize| judged.settings[*at].set.is_empty() != is_best;
            (0..judged.settings.len()).find(has)
        };
        let (Some(at), Some(shipped)) = (place(true), place(false)) else {
            return Err(Error::Failure("the runs that judge are not all there".into()));
        };
        if let Fit::Ejected(runs) = judged.settings[at].fit {
            let name = judged.settings[at].name();
            let why = format!("{name}: ejected in {runs} runs with the seeds that judge");
            return Err(Error::Failure(why));
        }
        let tried = self.tried(measure);
        Ok(Outcome::Whole(Box::new(Tuned {
            policy: self.label().to_owned(),
            workload: self.sweep.workloads[0].name.clone(),
            best,
            tried,
            judged,
            at,
            shipped,
            seeds: count,
            first_seed: first,
        })))
    }

    /// Every value with every other, first with few seeds.
    fn coarse(&mut self) -> Result<Option<Vec<Value>>, Error> {
        let judged = (self.aims.clone(), self.label().to_owned());
        let judged = (&judged.0, Some(judged.1.as_str()));
        let mut rounds = Rounds::halving(&self.runs, judged, HALVING)?;
        loop {
            let Some(rows) = self.rows(&rounds.cells(&self.runs))? else { return Ok(None) };
            if !rounds.end(&self.runs, judged, rows)? {
                break;
            }
        }
        self.best(rounds.rows().to_vec()).map(Some)
    }

    /// Looks at values of one tunable between the neighbours of the best.
    fn closer(&mut self, axis: usize, best: Vec<Value>) -> Result<Option<Vec<Value>>, Error> {
        let Values::List(values) = &self.axes[axis].values else { return Ok(Some(best)) };
        let mut tried: Vec<f64> = values.iter().filter_map(Value::number).collect();
        if tried.len() < values.len() || tried.len() < NUMBERS {
            return Ok(Some(best));
        }
        tried.sort_by(f64::total_cmp);
        let whole = !self.takes_fractions(&self.axes[axis].name);
        let mut best = best;
        for _ in 0..LOOKS {
            let Some(own) = best[axis].number() else { break };
            let [from, to] = neighbours(&tried, own);
            let range = Range { from, to, log: from > 0.0, whole };
            let mut closer = range.steps(VALUES);
            closer.retain(|value| value.number().is_some_and(|value| !tried.contains(&value)));
            if closer.is_empty() {
                break;
            }
            tried.extend(closer.iter().filter_map(Value::number));
            tried.sort_by(f64::total_cmp);
            let seeds = seeds_of(self.seeds, 0..self.seeds.1);
            closer.push(best[axis].clone());
            self.plan_axes(&best, Some((axis, closer)), seeds)?;
            let Some(rows) = self.rows(&self.runs.cells())? else { return Ok(None) };
            best = self.best(rows)?;
        }
        Ok(Some(best))
    }

    /// Whether a tunable takes numbers with a fraction.
    fn takes_fractions(&self, name: &str) -> bool {
        self.policy.clone().set(name, "1.5").is_ok()
    }

    fn plan(&mut self, best: &[Value], seeds: Vec<u64>) -> Result<(), Error> {
        self.plan_axes(best, None, seeds)
    }

    /// Plans runs of one setting, or with several values of one of its tunables.
    fn plan_axes(
        &mut self,
        best: &[Value],
        several: Option<(usize, Vec<Value>)>,
        seeds: Vec<u64>,
    ) -> Result<(), Error> {
        let mut sweep = Sweep { seeds, ..self.sweep.clone() };
        let several = &several;
        for (at, axis) in sweep.policies[0].axes.iter_mut().enumerate() {
            let own = several.iter().find(|(axis, _)| *axis == at);
            let values = own.map_or_else(|| vec![best[at].clone()], |(_, values)| values.clone());
            axis.values = Values::List(values);
        }
        Ok(self.runs.replan(sweep)?)
    }

    /// Does runs that are not known; `None`: it was stopped.
    fn rows(&mut self, cells: &[Cell]) -> Result<Option<Vec<Row>>, Error> {
        let stop = self.stop.flag();
        let how = (self.threads, &*stop);
        let Done { rows, stopped } = self.runs.run(cells, &self.known, how, &mut |_| Ok(()))?;
        rota_sweep::add(&mut self.known, &rows);
        Ok((!stopped).then_some(rows))
    }

    fn judge(&self, rows: Vec<Row>) -> Result<Swept, Error> {
        Ok(Swept::new(&Table::new(rows), &self.aims, Some(self.label()))?)
    }

    /// The best of those that were tried with all seeds, but for the policy as it ships.
    fn best(&self, rows: Vec<Row>) -> Result<Vec<Value>, Error> {
        let swept = self.judge(rows)?;
        let fits = |at: &usize| {
            let setting = &swept.settings[*at];
            setting.fit == Fit::Fits && !setting.set.is_empty()
        };
        let Some(at) = swept.order().into_iter().find(fits) else {
            let (all, what) = (swept.settings.len() - 1, &swept.objectives[0].metric.key);
            return Err(Error::Failure(format!(
                "none of {all} settings can be chosen: each was ejected, has no {what}, or does \
                 not fulfil what must hold"
            )));
        };
        let set = &swept.settings[at].set;
        let value = |axis: &Axis| {
            let own = set.iter().find(|(name, _)| *name == axis.name);
            own.map_or(Value::Text(String::new()), |(_, value)| value.clone())
        };
        Ok(self.axes.iter().map(value).collect())
    }

    fn stopped(&self) -> Outcome {
        let metrics = &self.aims.objectives[0].metrics;
        let is_there = |metric: &&&'static Measure| {
            self.known.values().any(|row| row.metrics.contains_key(metric.key))
        };
        let measure = metrics.iter().find(is_there).copied().unwrap_or(metrics[0]);
        Outcome::Stopped(self.tried(measure))
    }

    /// All settings that were tried in the search, each with its values by seed.
    fn tried(&self, measure: &'static Measure) -> Tried {
        let seeds = seeds_of(self.seeds, 0..self.seeds.1);
        let mut points: Vec<Point> = Vec::new();
        let mut rows: Vec<&Row> = self.known.values().collect();
        let place = |row: &Row| seeds.iter().position(|seed| *seed == row.seed);
        rows.retain(|row| place(row).is_some());
        rows.sort_by_key(|row| place(row));
        for row in rows {
            let value = |axis: &Axis| row.axes.get(&format!("{OF_SET}{}", axis.name)).cloned();
            let Some(set) = self.axes.iter().map(value).collect::<Option<Vec<Value>>>() else {
                continue;
            };
            let found = row.metrics.get(measure.key).copied();
            match points.iter_mut().find(|point| point.set == set) {
                Some(point) => {
                    point.values.push(found);
                    point.ejected |= row.ejected;
                }
                None => points.push(Point { set, values: vec![found], ejected: row.ejected }),
            }
        }
        let places = |point: &Point| {
            let place = |(value, axis): (&Value, &Axis)| match &axis.values {
                Values::List(values) => values.iter().position(|of| of == value),
                Values::Range(_) => None,
            };
            let of = point.set.iter().zip(&self.axes).skip(1);
            of.map(|both| place(both).unwrap_or(usize::MAX)).collect::<Vec<_>>()
        };
        points.sort_by(|a, b| places(a).cmp(&places(b)).then_with(|| turned(a).cmp(&turned(b))));
        Tried { axes: self.axes.iter().map(|axis| axis.name.clone()).collect(), measure, points }
    }
}

/// The first tunable last, as tables have it.
fn turned(point: &Point) -> (&[Value], &Value) {
    (&point.set[1..], &point.set[0])
}

/// Seeds by their places from the first on.
fn seeds_of((first, _): (u64, u32), places: Places<u32>) -> Vec<u64> {
    places.map(|place| first.wrapping_add(u64::from(place))).collect()
}

/// What lies next to a value on both sides, or itself.
fn neighbours(tried: &[f64], own: f64) -> [f64; 2] {
    let below = tried.iter().rev().find(|value| **value < own);
    let above = tried.iter().find(|value| **value > own);
    [*below.unwrap_or(&own), *above.unwrap_or(&own)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_an_end_a_value_is_its_own_neighbour() {
        let tried = [1.0, 2.0, 5.0];
        assert_eq!(neighbours(&tried, 2.0), [1.0, 5.0]);
        assert_eq!(neighbours(&tried, 1.0), [1.0, 2.0]);
        assert_eq!(neighbours(&tried, 5.0), [2.0, 5.0]);
    }

    #[test]
    fn seeds_that_judge_follow_those_of_the_search() {
        assert_eq!(seeds_of((7, 3), 0..3), [7, 8, 9]);
        assert_eq!(seeds_of((7, 3), 3..6), [10, 11, 12]);
        assert_eq!(seeds_of((u64::MAX, 2), 0..2), [u64::MAX, 0]);
    }
}
