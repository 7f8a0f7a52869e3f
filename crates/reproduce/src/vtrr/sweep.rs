// SPDX-License-Identifier: MIT OR Apache-2.0
//! Service time errors over the grid of (N, S) [VTRR §5.1].

use super::vectors::{self, Point};
use crate::bench::{hogs, image, Bench, Length, QUANTUM_NS};
use crate::effort::Effort;
use crate::error::Error;
use crate::pool;
use crate::Job;
use rota_bpf::image::Image;
use rota_measure::ServiceError;
use std::collections::BTreeMap;
use std::sync::Arc;

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
}

/// What a scheduler did at a point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Errors {
    /// Sums over all combinations, in nanoseconds times S.
    highest: i128,
    lowest: i128,
    /// The lowest of any combination.
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

    /// The furthest behind in any combination.
    pub(crate) fn worst(&self) -> f64 {
        self.tu(self.worst)
    }

    fn add(&mut self, other: &Self) {
        self.highest += other.highest;
        self.lowest += other.lowest;
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
fn combinations(effort: Effort, point: Point) -> usize {
    match effort {
        Effort::Quick if point.clients > 2 => 500,
        Effort::Quick | Effort::Default => 1_000,
        Effort::Full => 10_000,
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

/// Different combinations of a point, and how often each was drawn. Under few clients or shares
/// there are not many; the schedulers being deterministic, each is run once.
struct Part {
    point: Point,
    vectors: Vec<(Vec<u64>, u64)>,
}

fn parts(effort: Effort) -> Vec<Part> {
    let mut parts = Vec::new();
    for point in points(effort) {
        let mut drawn: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
        for vector in vectors::draw(point, combinations(effort, point)) {
            *drawn.entry(vector).or_default() += 1;
        }
        let drawn: Vec<(Vec<u64>, u64)> = drawn.into_iter().collect();
        let size = (JOB_QUANTA / u64::from(point.shares)).max(1) as usize;
        let chunks = drawn.chunks(size);
        parts.extend(chunks.map(|chunk| Part { point, vectors: chunk.to_vec() }));
    }
    parts
}

/// Runs all schedulers at all points.
pub(crate) fn run(job: &Job<'_>, schedulers: &[Scheduler]) -> Result<Sweep, Error> {
    let images: Result<Vec<Arc<Image>>, Error> =
        schedulers.iter().map(|scheduler| image(scheduler.policy, &[])).collect();
    let images = images?;
    let parts = parts(job.effort);
    let each = schedulers.len() as u64;
    let quanta = |part: &Part| part.vectors.len() as u64 * u64::from(part.point.shares) * each;
    job.progress.announce(parts.iter().map(quanta).sum());
    let found = pool::map(job.threads, &parts, |part| {
        let errors = run_part(part, &images);
        job.progress.advance(quanta(part));
        errors
    })?;
    let mut sweep: Sweep = vec![BTreeMap::new(); schedulers.len()];
    for (part, errors) in parts.iter().zip(&found) {
        for (of_scheduler, errors) in sweep.iter_mut().zip(errors) {
            of_scheduler.entry(part.point).or_default().add(errors);
        }
    }
    Ok(sweep)
}

/// One cycle of S quanta under each scheduler, for each combination of the part: then all have
/// their due, and the schedule repeats.
fn run_part(part: &Part, images: &[Arc<Image>]) -> Result<Vec<Errors>, Error> {
    let mut benches: Vec<Bench> = images.iter().map(Bench::new).collect();
    let mut errors = vec![Errors::default(); images.len()];
    let length = Length::of(u64::from(part.point.shares) * QUANTUM_NS);
    for (vector, drawn) in &part.vectors {
        let workload = hogs(vector, |at| format!("c{at}"))?;
        for (bench, errors) in benches.iter_mut().zip(&mut errors) {
            let mut error = ServiceError::default();
            bench.run(&workload, length, &mut error)?;
            let nobody = || Error::Failure("nobody ran".into());
            let range = error.finish(length.duration_ns).ok_or_else(nobody)?;
            errors.add(&Errors {
                highest: range.highest * i128::from(*drawn),
                lowest: range.lowest * i128::from(*drawn),
                worst: range.lowest,
                combinations: *drawn,
                shares: part.point.shares,
            });
        }
    }
    Ok(errors)
}
