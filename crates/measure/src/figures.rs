// SPDX-License-Identifier: MIT OR Apache-2.0
//! What figures are drawn from: shares and lags over time, and curves of distributions, in
//! bounded memory however long the run is.
//!
//! Time is cut into buckets of equal length. When there is no room for another bucket, pairs of
//! them become one: lengths double, and every bucket keeps its sum, least and greatest value.

use rustc_hash::FxHashMap;

use crate::curve::Curve;
use crate::lag::Sample;
use crate::whole::Whole;

/// Buckets at most; with lengths doubling, at least half of them are used in a long run.
const BUCKETS: usize = 512;
/// Length of a bucket in a short run.
const BUCKET_NS: u64 = 16_384;
/// Rows at most; with more names the last one is for all that have none.
const MOST_ROWS: usize = 64;

/// Gathers [`Figures`] of a run, as a part of a [`crate::Summary`].
#[derive(Clone, Debug)]
pub struct FigureSink {
    rows: Rows,
    claims: Vec<Option<u64>>,
    bucket_ns: u64,
    ran_ns: Vec<Vec<u64>>,
    lags: Vec<Vec<Option<Band>>>,
}

/// Which tasks share a row of a figure.
#[derive(Clone, Debug)]
pub struct Rows {
    names: Vec<String>,
    row_of: FxHashMap<String, usize>,
    /// Row of whoever has no other.
    rest: Option<usize>,
}

/// Least and greatest lag in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// Least.
    pub min_ns: i64,
    /// Greatest.
    pub max_ns: i64,
}

/// What figures are drawn from.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// What the rows of the lists below are of: a task, or several of one kind.
    pub names: Vec<String>,
    /// Share or weight of the first task of each row; `None`: there was none.
    pub claims: Vec<Option<u64>>,
    /// Length of a bucket.
    pub bucket_ns: u64,
    /// Of each row, CPU time in each bucket.
    pub ran_ns: Vec<Vec<u64>>,
    /// Of each row, lags in each bucket; `None`: nobody wanted to run.
    pub lags: Vec<Vec<Option<Band>>>,
    /// Distributions over all tasks.
    pub curves: Vec<Curve>,
}

impl Rows {
    /// Rows of these names; if there are too many, the last row is for the others.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let mut names: Vec<String> = names.into_iter().take(MOST_ROWS + 1).collect();
        let rest = (names.len() > MOST_ROWS).then(|| {
            names.truncate(MOST_ROWS - 1);
            names.push("others".into());
            MOST_ROWS - 1
        });
        let row_of = names.iter().cloned().zip(0..).collect();
        Rows { names, row_of, rest }
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Row of a task: that of its name; if there is none, of the task that it is an instance or a
    /// fork of.
    pub fn row(&self, name: &str, instance_of: Option<&str>) -> Option<usize> {
        let of = |name: &str| self.row_of.get(name).copied();
        of(name).or_else(|| of(instance_of?)).or(self.rest)
    }
}

impl FigureSink {
    /// Without rows: of such a run, only the curves are wanted.
    pub fn of_curves() -> Self {
        Self::new(Rows::new([]))
    }

    /// With these rows.
    pub fn new(rows: Rows) -> Self {
        let count = rows.names.len();
        FigureSink {
            rows,
            claims: vec![None; count],
            bucket_ns: BUCKET_NS,
            ran_ns: vec![Vec::new(); count],
            lags: vec![Vec::new(); count],
        }
    }

    /// Row of a task.
    pub(crate) fn row(&self, name: &str, instance_of: Option<&str>) -> Option<usize> {
        self.rows.row(name, instance_of)
    }

    /// A task of this row has this share or weight.
    pub(crate) fn claims(&mut self, row: usize, claim: u64) {
        self.claims[row].get_or_insert(claim);
    }

    /// A task of this row ran.
    pub(crate) fn ran(&mut self, row: usize, from_ns: u64, to_ns: u64) {
        self.make_room(to_ns);
        let buckets = &mut self.ran_ns[row];
        for (at, from_ns, to_ns) in pieces(from_ns, to_ns, self.bucket_ns) {
            fill(buckets, at);
            buckets[at] += to_ns - from_ns;
        }
    }

    /// The lag of a task of this row was on a straight line between these ends.
    pub(crate) fn lagged(&mut self, row: usize, from: Sample, to: Sample) {
        self.make_room(to.time_ns);
        let length_ns = to.time_ns.saturating_sub(from.time_ns).max(1) as f64;
        let lag_at = |time_ns: u64| {
            let part = time_ns.saturating_sub(from.time_ns) as f64 / length_ns;
            (from.lag_ns + (to.lag_ns - from.lag_ns) * part).round() as i64
        };
        let buckets = &mut self.lags[row];
        // The end of the line may be the beginning of a bucket, and is a part of it too.
        for (at, from_ns, to_ns) in pieces(from.time_ns, to.time_ns + 1, self.bucket_ns) {
            fill(buckets, at);
            let (a, b) = (lag_at(from_ns), lag_at(to_ns.min(to.time_ns)));
            let band = Band { min_ns: a.min(b), max_ns: a.max(b) };
            buckets[at] = Some(band.with(buckets[at]));
        }
    }

    /// Doubles the buckets' length until this time has one.
    fn make_room(&mut self, time_ns: u64) {
        while time_ns / self.bucket_ns >= BUCKETS as u64 {
            self.bucket_ns *= 2;
            for buckets in &mut self.ran_ns {
                *buckets = buckets.chunks(2).map(|pair| pair.iter().sum()).collect();
            }
            for buckets in &mut self.lags {
                let both = |pair: &[Option<Band>]| {
                    let mut bands = pair.iter().flatten();
                    bands.next().map(|band| band.with(bands.next().copied()))
                };
                *buckets = buckets.chunks(2).map(both).collect();
            }
        }
    }

    pub(crate) fn finish(mut self, whole: &Whole, end_ns: u64) -> Figures {
        self.make_room(end_ns);
        let buckets = end_ns.div_ceil(self.bucket_ns) as usize;
        self.ran_ns.iter_mut().for_each(|of_row| of_row.resize(buckets, 0));
        self.lags.iter_mut().for_each(|of_row| of_row.resize(buckets, None));
        Figures {
            names: self.rows.names,
            claims: self.claims,
            bucket_ns: self.bucket_ns,
            ran_ns: self.ran_ns,
            lags: self.lags,
            curves: vec![
                Curve::new("wakeup latency", &whole.wakeups, whole.waiting),
                Curve::new("turnaround", &whole.turnarounds, whole.turnarounds_open),
            ],
        }
    }
}

impl Band {
    fn with(self, other: Option<Band>) -> Band {
        let other = other.unwrap_or(self);
        Band { min_ns: self.min_ns.min(other.min_ns), max_ns: self.max_ns.max(other.max_ns) }
    }
}

/// Makes sure that there is a bucket of this number.
fn fill<T: Clone + Default>(buckets: &mut Vec<T>, at: usize) {
    if buckets.len() <= at {
        buckets.resize(at + 1, T::default());
    }
}

/// The parts of a time that lie in different buckets: number, from, to.
fn pieces(from_ns: u64, to_ns: u64, bucket_ns: u64) -> impl Iterator<Item = (usize, u64, u64)> {
    let mut at_ns = from_ns;
    std::iter::from_fn(move || {
        if at_ns >= to_ns {
            return None;
        }
        let (begin_ns, bucket) = (at_ns, at_ns / bucket_ns);
        at_ns = to_ns.min((bucket + 1) * bucket_ns);
        Some((bucket as usize, begin_ns, at_ns))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(time_ns: u64, lag_ns: f64) -> Sample {
        Sample { time_ns, lag_ns }
    }

    fn band(min_ns: i64, max_ns: i64) -> Option<Band> {
        Some(Band { min_ns, max_ns })
    }

    #[test]
    fn a_task_has_the_row_of_what_it_was_made_from() {
        let rows = Rows::new(["front-0", "front", "a-b"].map(String::from));
        assert_eq!(rows.row("front-0", Some("front")), Some(0));
        assert_eq!(rows.row("front-1", Some("front")), Some(1));
        assert_eq!(rows.row("whatever", Some("a-b")), Some(2));
        assert_eq!(rows.row("a-b-3", None), None);
        assert_eq!(rows.row("a-b-3", Some("a")), None);
    }

    #[test]
    fn too_many_names_share_the_last_row() {
        let rows = Rows::new((0..100).map(|i| format!("t{i}")));
        assert_eq!((rows.names().len(), rows.names()[63].as_str()), (64, "others"));
        assert_eq!((rows.row("x", Some("t62")), rows.row("y", Some("t63"))), (Some(62), Some(63)));
    }

    #[test]
    fn time_is_cut_into_buckets() {
        let mut sink = FigureSink::new(Rows::new(["a".to_owned()]));
        let bucket = BUCKET_NS;
        sink.ran(0, bucket / 2, 2 * bucket + 1);
        sink.lagged(0, sample(0, 0.0), sample(2 * bucket, 2.0 * bucket as f64));
        let figures = sink.finish(&Whole::new(1), 3 * bucket);
        assert_eq!(figures.ran_ns, [[bucket / 2, bucket, 1]]);
        let length = bucket as i64;
        let expected = [band(0, length), band(length, 2 * length), band(2 * length, 2 * length)];
        assert_eq!(figures.lags, [expected]);
    }

    #[test]
    fn nobody_there_leaves_a_gap() {
        let mut sink = FigureSink::new(Rows::new(["a".to_owned()]));
        sink.lagged(0, sample(0, 0.0), sample(1, -7.0));
        sink.lagged(0, sample(2 * BUCKET_NS, 5.0), sample(2 * BUCKET_NS + 1, 6.0));
        let figures = sink.finish(&Whole::new(1), 4 * BUCKET_NS);
        assert_eq!(figures.lags, [[band(-7, 0), None, band(5, 6), None]]);
    }

    proptest! {
        /// Whatever its length, a run has few buckets; none of its CPU time is lost, and the
        /// extremes of its lags are kept.
        #[test]
        fn memory_is_bounded_and_nothing_is_lost(
            steps in proptest::collection::vec((1..2_000_000_000u64, -1000..1000i64), 1..200)
        ) {
            let mut sink = FigureSink::new(Rows::new(["a".to_owned()]));
            let (mut now_ns, mut last) = (0, sample(0, 0.0));
            for (length_ns, lag_ns) in &steps {
                sink.ran(0, now_ns, now_ns + length_ns);
                now_ns += length_ns;
                let next = sample(now_ns, *lag_ns as f64);
                sink.lagged(0, last, next);
                last = next;
            }
            let figures = sink.finish(&Whole::new(1), now_ns);
            prop_assert!(figures.ran_ns[0].len() <= BUCKETS);
            prop_assert_eq!(figures.ran_ns[0].iter().sum::<u64>(), now_ns);
            prop_assert!(figures.ran_ns[0].iter().rev().skip(1).all(|ns| *ns == figures.bucket_ns));
            let bands = figures.lags[0].iter().flatten();
            let (min, max) = bands.fold((0, 0), |(min, max), band| {
                (band.min_ns.min(min), band.max_ns.max(max))
            });
            prop_assert_eq!(min, steps.iter().map(|s| s.1).min().unwrap().min(0));
            prop_assert_eq!(max, steps.iter().map(|s| s.1).max().unwrap().max(0));
        }
    }
}
