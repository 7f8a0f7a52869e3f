// SPDX-License-Identifier: MIT OR Apache-2.0
//! Service time errors over the grid of (N, S) [VTRR §5.1].

use super::vectors::{self, Point};
use crate::effort::Effort;
use crate::error::Error;
use crate::pool;
use crate::rig::{hogs, linked, Length, Rig, QUANTUM_NS};
use crate::Job;
use rota_measure::ServiceError;
use rota_sim::Policy;
use std::collections::BTreeMap;

pub(crate) const CLIENTS: [u32; 5] = [1, 2, 4, 8, 16];
pub(crate) const SHARES: [u32; 8] = [16, 32, 64, 128, 256, 512, 1024, 2048];

/// Simulated quanta of one job: about a second.
const JOB_QUANTA: u64 = 200_000;

/// A scheduler of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scheduler {
    /// As the paper calls it.
    pub(crate) name: &'static str,
    pub(crate) policy: &'static str,
    /// Tunables by which each decision is for a quantum.
    pub(crate) set: &'static [(&'static str, &'static str)],
    pub(crate) field: Field,
}

/// Who compares a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// The paper.
    Paper,
    /// We do, with a tenth of the combinations, to have the time.
    Ours,
    /// We do too, and it draws: each combination has its own seed, however often it is drawn.
    OursSeeded,
}

/// What a scheduler did at a point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Errors {
    /// Sums over all combinations, in nanoseconds times S.
    highest: i128,
    lowest: i128,
    /// The highest and the lowest of any combination.
    best: i128,
    worst: i128,
    combinations: u64,
    shares: u32,
}

impl Errors {
    fn tu(&self, sum: i128) -> f64 {
        sum as f64 / f64::from(self.shares) / QUANTUM_NS as f64
    }

    /// The furthest ahead, averaged over combinations, in quanta.
    pub(crate) fn highest(&self) -> f64 {
        self.tu(self.highest) / self.combinations as f64
    }

    /// The furthest behind, likewise: negative.
    pub(crate) fn lowest(&self) -> f64 {
        self.tu(self.lowest) / self.combinations as f64
    }

    /// The furthest ahead in any combination.
    pub(crate) fn best(&self) -> f64 {
        self.tu(self.best)
    }

    /// The furthest behind in any combination.
    pub(crate) fn worst(&self) -> f64 {
        self.tu(self.worst)
    }

    fn add(&mut self, other: &Self) {
        self.highest += other.highest;
        self.lowest += other.lowest;
        self.best = self.best.max(other.best);
        self.worst = self.worst.min(other.worst);
        self.combinations += other.combinations;
        self.shares = other.shares;
    }
}

/// By scheduler, then by point.
pub(crate) type Sweep = Vec<BTreeMap<Point, Errors>>;

/// The points that are run: with little time those at which the extremes lie.
pub(crate) fn points(effort: Effort) -> Vec<Point> {
    let all = CLIENTS.iter().flat_map(|n| SHARES.iter().map(move |s| (*n, *s)));
    let quick = [(2, 2048), (4, 2048), (16, 64), (16, 2048)];
    let wanted = |pair: &(u32, u32)| effort != Effort::Quick || quick.contains(pair);
    all.filter(wanted).map(|(clients, shares)| Point { clients, shares }).collect()
}

/// Share combinations at a point. Those of two clients differ most, and are the soonest run.
pub(crate) fn combinations(effort: Effort, point: Point, field: Field) -> usize {
    let of_paper = match effort {
        Effort::Quick if point.clients > 2 => 500,
        Effort::Quick | Effort::Default => 1_000,
        Effort::Full => 10_000,
    };
    match field {
        Field::Paper => of_paper,
        Field::Ours | Field::OursSeeded => of_paper / 10,
    }
}

/// The same in words.
pub(crate) fn combinations_text(effort: Effort) -> &'static str {
    match effort {
        Effort::Quick => "500 share combinations (1,000 of two clients)",
        Effort::Default => "1,000 share combinations",
        Effort::Full => "10,000 share combinations",
    }
}

/// A combination that is run once.
#[derive(Clone, Debug)]
struct Combination {
    shares: Vec<u64>,
    /// How often it was drawn.
    drawn: u64,
    seed: u64,
}

/// Combinations of a point, for schedulers of a field.
struct Part {
    point: Point,
    field: Field,
    combinations: Vec<Combination>,
}

fn parts(effort: Effort, fields: &[Field]) -> Vec<Part> {
    let mut parts = Vec::new();
    for point in points(effort) {
        for field in fields {
            let drawn = vectors::draw(point, combinations(effort, point, *field));
            let combinations = match field {
                Field::OursSeeded => seeded(drawn),
                Field::Paper | Field::Ours => different(drawn),
            };
            let size = (JOB_QUANTA / u64::from(point.shares)).max(1) as usize;
            let part =
                |chunk: &[Combination]| Part { point, field: *field, combinations: chunk.to_vec() };
            parts.extend(combinations.chunks(size).map(part));
        }
    }
    parts
}

/// Under few clients or shares there are not many; as schedulers are deterministic, each is run
/// once.
fn different(drawn: Vec<Vec<u64>>) -> Vec<Combination> {
    let mut times: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
    for shares in drawn {
        *times.entry(shares).or_default() += 1;
    }
    times.into_iter().map(|(shares, drawn)| Combination { shares, drawn, seed: 1 }).collect()
}

fn seeded(drawn: Vec<Vec<u64>>) -> Vec<Combination> {
    (1..).zip(drawn).map(|(seed, shares)| Combination { shares, drawn: 1, seed }).collect()
}

/// Runs all schedulers at all points.
pub(crate) fn run(job: &Job<'_>, schedulers: &[Scheduler]) -> Result<Sweep, Error> {
    let policies: Result<Vec<Policy>, Error> =
        schedulers.iter().map(|scheduler| linked(scheduler.policy, scheduler.set)).collect();
    let policies = policies?;
    let mut fields: Vec<Field> = Vec::new();
    for scheduler in schedulers {
        if !fields.contains(&scheduler.field) {
            fields.push(scheduler.field);
        }
    }
    let parts = parts(job.effort, &fields);
    let of = |part: &Part| -> Vec<usize> {
        (0..schedulers.len()).filter(|at| schedulers[*at].field == part.field).collect()
    };
    let quanta = |part: &Part| {
        part.combinations.len() as u64 * u64::from(part.point.shares) * of(part).len() as u64
    };
    job.progress.announce(parts.iter().map(quanta).sum());
    let found = pool::map(job.threads, &parts, |part| {
        let policies = of(part).into_iter().map(|at| policies[at].clone());
        let errors = run_part(part, policies.collect());
        job.progress.advance(quanta(part));
        errors
    })?;
    let mut sweep: Sweep = vec![BTreeMap::new(); schedulers.len()];
    for (part, errors) in parts.iter().zip(&found) {
        for (at, errors) in of(part).into_iter().zip(errors) {
            sweep[at].entry(part.point).or_default().add(errors);
        }
    }
    Ok(sweep)
}

/// One cycle of S quanta under each scheduler, for each combination of the part: then all have
/// their due, and the schedule repeats.
fn run_part(part: &Part, mut policies: Vec<Policy>) -> Result<Vec<Errors>, Error> {
    let mut rigs: Vec<Rig> = policies.iter().map(Rig::new).collect();
    let mut errors = vec![Errors::default(); policies.len()];
    let length = Length::of(u64::from(part.point.shares) * QUANTUM_NS);
    for Combination { shares, drawn, seed } in &part.combinations {
        let workload = hogs(shares, |at| format!("c{at}"))?;
        if part.field == Field::OursSeeded {
            // Without them nobody else has the object, and its megabytes are not copied.
            rigs.clear();
            for policy in &mut policies {
                policy.set("seed", &seed.to_string())?;
            }
            rigs.extend(policies.iter().map(Rig::new));
        }
        for (rig, errors) in rigs.iter_mut().zip(&mut errors) {
            let mut error = ServiceError::default();
            rig.run(&workload, length, &mut error)?;
            let none_ran = || Error::Failure("no client ran".into());
            let range = error.finish(length.duration_ns).ok_or_else(none_ran)?;
            errors.add(&Errors {
                highest: range.highest * i128::from(*drawn),
                lowest: range.lowest * i128::from(*drawn),
                best: range.highest,
                worst: range.lowest,
                combinations: *drawn,
                shares: part.point.shares,
            });
        }
    }
    Ok(errors)
}
