// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of tasks made rows of groups, and no finer than a picture can show.

use super::groups::Groups;
use super::model::{Band, Lags, Shares};

/// Buckets of lags that a picture has room for.
const MOST_BUCKETS: usize = 480;
/// About so many buckets of shares: with more, one sees slices and no shares.
const SHARE_BUCKETS: usize = 100;

/// A value per group and bucket.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Series<T> {
    pub(crate) from_ns: u64,
    pub(crate) bucket_ns: u64,
    /// End of the last bucket: that of the run, if it ends earlier than a whole one would.
    pub(crate) to_ns: u64,
    /// Of each group; as many values in each.
    pub(crate) groups: Vec<Vec<T>>,
}

/// Sums of the tasks of each group, means of the buckets that become one, of a run that ended then.
pub(crate) fn shares(shares: &Shares, groups: &Groups, end_ns: u64) -> Series<f32> {
    let buckets = longest(&shares.tasks);
    let merge = ((buckets + SHARE_BUCKETS / 2) / SHARE_BUCKETS).max(1);
    let bucket_ns = shares.bucket_ns.saturating_mul(merge as u64);
    let to_ns = end_of(shares.from_ns, shares.bucket_ns, buckets, end_ns);
    let mut rows = vec![vec![0.0; buckets.div_ceil(merge)]; groups.list.len()];
    for (task, values) in (0..).zip(&shares.tasks) {
        let Some(row) = rows.get_mut(groups.group_of(task)) else { continue };
        for (index, value) in values.iter().enumerate() {
            // The last one may be shorter.
            let begin_ns = shares.from_ns + bucket_ns * (index / merge) as u64;
            let length_ns = to_ns.saturating_sub(begin_ns).clamp(1, bucket_ns.max(1));
            row[index / merge] += value * (shares.bucket_ns as f64 / length_ns as f64) as f32;
        }
    }
    Series { from_ns: shares.from_ns, bucket_ns, to_ns, groups: rows }
}

/// Least and greatest of all tasks of each group, and of all buckets that become one.
pub(crate) fn lags(lags: &Lags, groups: &Groups, end_ns: u64) -> Series<Option<Band>> {
    let buckets = longest(&lags.tasks);
    let merge = buckets.div_ceil(MOST_BUCKETS).max(1);
    let mut rows = vec![vec![None; buckets.div_ceil(merge)]; groups.list.len()];
    for (task, bands) in (0..).zip(&lags.tasks) {
        let Some(row) = rows.get_mut(groups.group_of(task)) else { continue };
        for (index, band) in bands.iter().enumerate() {
            let cell: &mut Option<Band> = &mut row[index / merge];
            *cell = both(*cell, *band);
        }
    }
    let bucket_ns = lags.bucket_ns.saturating_mul(merge as u64);
    let to_ns = end_of(lags.from_ns, lags.bucket_ns, buckets, end_ns);
    Series { from_ns: lags.from_ns, bucket_ns, to_ns, groups: rows }
}

/// Where so many buckets end, in a run that ended then.
fn end_of(from_ns: u64, bucket_ns: u64, buckets: usize, end_ns: u64) -> u64 {
    let to_ns = from_ns.saturating_add(bucket_ns.saturating_mul(buckets as u64));
    // A run of no known length has only whole buckets.
    if end_ns > from_ns {
        to_ns.min(end_ns)
    } else {
        to_ns
    }
}

/// What covers two bands.
pub(crate) fn both(one: Option<Band>, other: Option<Band>) -> Option<Band> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Band {
            min_ns: one.min_ns.min(other.min_ns),
            max_ns: one.max_ns.max(other.max_ns),
        }),
        (one, other) => one.or(other),
    }
}

fn longest<T>(rows: &[Vec<T>]) -> usize {
    rows.iter().map(Vec::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::groups::Group;

    /// The first two tasks are a group, the third one another.
    fn groups() -> Groups {
        let group = |name: &str, tasks| Group { name: name.to_owned(), tasks, paint: Some(0) };
        Groups { list: vec![group("a", 2), group("b", 1)], of_task: vec![0, 0, 1] }
    }

    #[test]
    fn shares_of_a_group_add_up() {
        let tasks = vec![vec![0.25, 0.5], vec![0.25], vec![0.0, 0.125]];
        let of = Shares { from_ns: 5, bucket_ns: 10, tasks };
        let rows = vec![vec![0.5, 0.5], vec![0.0, 0.125]];
        let expected = Series { from_ns: 5, bucket_ns: 10, to_ns: 25, groups: rows };
        assert_eq!(shares(&of, &groups(), 100), expected);
        // If the run ends in the middle of the last bucket, all of its time is in that half.
        let rows = vec![vec![0.5, 1.0], vec![0.0, 0.25]];
        let expected = Series { from_ns: 5, bucket_ns: 10, to_ns: 20, groups: rows };
        assert_eq!(shares(&of, &groups(), 20), expected);
    }

    #[test]
    fn bands_of_a_group_cover_all_of_its_tasks() {
        let band = |min_ns, max_ns| Some(Band { min_ns, max_ns });
        let tasks = vec![vec![band(-1, 1), None], vec![band(0, 5), None], vec![None, band(2, 3)]];
        let found = lags(&Lags { from_ns: 0, bucket_ns: 10, tasks }, &groups(), 17);
        let rows = vec![vec![band(-1, 5), None], vec![None, band(2, 3)]];
        assert_eq!(found, Series { from_ns: 0, bucket_ns: 10, to_ns: 17, groups: rows });
    }

    #[test]
    fn too_many_buckets_are_merged() {
        // 302 buckets of shares: three become one, the last of 101 is made of two.
        let mut values = vec![0.5f32; 302];
        (values[1], values[300]) = (0.2, 0.1);
        let found = Shares { from_ns: 0, bucket_ns: 10, tasks: vec![values] };
        let found = shares(&found, &groups(), 3020);
        assert_eq!((found.bucket_ns, found.groups[0].len()), (30, 101));
        assert!((found.groups[0][0] - 0.4).abs() < 1e-6);
        assert!((found.groups[0][100] - 0.3).abs() < 1e-6);

        // 1000 of lags: three become one, the last of 334 is made of one.
        let bands = (0..1000).map(|i| Some(Band { min_ns: i, max_ns: -i })).collect();
        let found = lags(&Lags { from_ns: 0, bucket_ns: 10, tasks: vec![bands] }, &groups(), 0);
        assert_eq!(found.groups[0][1], Some(Band { min_ns: 3, max_ns: -3 }));
        assert_eq!(found.groups[0][333], Some(Band { min_ns: 999, max_ns: -999 }));
    }
}
