// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps a report's timelines small enough to open.

use super::model::{Comparison, Slice, Slices, Workload};

/// Slices of all timelines of a report together. One takes 6 to 10 bytes, so they are 10 MB at
/// most.
pub const MOST_SLICES: usize = 1_000_000;

/// Slices that each timeline of a report has room for.
pub(crate) fn room(comparison: &Comparison) -> usize {
    let policies = comparison.workloads.iter().flat_map(|workload| &workload.policies);
    MOST_SLICES / policies.filter(|policy| policy.figures.is_some()).count().max(1)
}

/// When the timelines of a workload have to end: together, so that they can be compared, and
/// so early that each has no more slices than there is room for. `None`: none has too many.
pub(crate) fn end(workload: &Workload, room: usize) -> Option<u64> {
    let figures = workload.policies.iter().filter_map(|policy| policy.figures.as_ref());
    figures.filter_map(|figures| end_of(&figures.timeline, room)).min()
}

/// The start of the first slice for which there is no room.
fn end_of(timeline: &Slices, room: usize) -> Option<u64> {
    let slices = timeline.cpus.iter().flatten();
    let mut starts: Vec<u64> = slices.map(|slice| slice.start_ns).collect();
    if starts.len() <= room {
        return None;
    }
    Some(*starts.select_nth_unstable(room).1)
}

/// What of a timeline lies before its end.
pub(crate) fn cut(timeline: &Slices, end_ns: Option<u64>) -> Slices {
    let to_ns = end_ns.map_or(timeline.to_ns, |end| end.clamp(timeline.from_ns, timeline.to_ns));
    let before = |slices: &Vec<Slice>| -> Vec<Slice> {
        let inside = slices.iter().filter(|slice| slice.start_ns < to_ns);
        inside.map(|slice| Slice { end_ns: slice.end_ns.min(to_ns), ..*slice }).collect()
    };
    Slices { from_ns: timeline.from_ns, to_ns, cpus: timeline.cpus.iter().map(before).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::model::{Figures, Outcome, PolicyResult};
    use proptest::prelude::*;

    fn timeline(cpus: &[&[(u64, u64)]]) -> Slices {
        let slice = |(start_ns, end_ns): &(u64, u64)| Slice {
            start_ns: *start_ns,
            end_ns: *end_ns,
            task: 0,
        };
        let cpus = cpus.iter().map(|slices| slices.iter().map(slice).collect()).collect();
        Slices { from_ns: 0, to_ns: 100, cpus }
    }

    fn workload(timelines: Vec<Slices>) -> Workload {
        let policy = |timeline| PolicyResult {
            name: "p".to_owned(),
            settings: Vec::new(),
            outcome: Outcome::Finished,
            cells: Vec::new(),
            figures: Some(Figures { timeline, ..Figures::default() }),
        };
        let policies = timelines.into_iter().map(policy).collect();
        Workload { policies, ..Workload::default() }
    }

    #[test]
    fn all_policies_end_where_the_first_has_no_room() {
        let busy = timeline(&[&[(0, 10), (10, 25), (30, 60)], &[(5, 80)]]);
        let calm = timeline(&[&[(0, 100)]]);
        let workload = workload(vec![busy.clone(), calm.clone()]);
        assert_eq!(end(&workload, 4), None);
        // Three of 0, 5, 10, 30 fit: it ends at 30.
        assert_eq!(end(&workload, 3), Some(30));
        let expected = Slices { to_ns: 30, ..timeline(&[&[(0, 10), (10, 25)], &[(5, 30)]]) };
        assert_eq!(cut(&busy, Some(30)), expected);
        assert_eq!(cut(&calm, Some(30)), Slices { to_ns: 30, ..timeline(&[&[(0, 30)]]) });
        assert_eq!(cut(&calm, None), calm);
    }

    proptest! {
        #[test]
        fn what_is_left_has_room(
            cpus in proptest::collection::vec(proptest::collection::vec(0..100u64, 0..20), 0..4),
            room in 0..40usize,
        ) {
            let cpus = cpus.into_iter().map(|starts| {
                starts.into_iter().map(|s| Slice { start_ns: s, end_ns: s + 1, task: 0 }).collect()
            });
            let timeline = Slices { from_ns: 0, to_ns: 200, cpus: cpus.collect() };
            let end = end(&workload(vec![timeline.clone()]), room);
            let left = cut(&timeline, end).cpus.iter().flatten().count();
            prop_assert!(left <= room, "{} {}", left, room);
        }
    }
}
