// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search against a plain one, which asks every task about every other.

use proptest::prelude::*;

use super::*;

/// A task that waits and those who could let it go on.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// Index among all tasks.
    pub(crate) task: usize,
    /// Whom it waits for: so many of them must come.
    pub(crate) wakers: Vec<usize>,
    pub(crate) needs: usize,
}

/// Circles of lost tasks, each task of them once, in the order of the tasks.
pub(crate) fn plain_circles(
    waiting: &[Waiting],
    can_act: impl Fn(usize) -> bool,
) -> Vec<Vec<usize>> {
    let mut lost: Vec<&Waiting> = waiting.iter().collect();
    loop {
        let is_lost = |task: usize| lost.iter().any(|w| w.task == task);
        let (free, still): (Vec<&Waiting>, Vec<&Waiting>) = lost.iter().partition(|w| {
            let able = w.wakers.iter().filter(|t| **t != w.task && can_act(**t) && !is_lost(**t));
            able.count() >= w.needs
        });
        if free.is_empty() {
            break;
        }
        lost = still;
    }
    let mut circles: Vec<Vec<usize>> = Vec::new();
    for begin in &lost {
        let mut path = vec![begin.task];
        while let Some(next) = next_of(&lost, *path.last().unwrap_or(&begin.task)) {
            if let Some(at) = path.iter().position(|t| *t == next) {
                let mut circle = path.split_off(at);
                let least = circle.iter().enumerate().min_by_key(|(_, t)| **t);
                let shift = least.map_or(0, |(index, _)| index);
                circle.rotate_left(shift);
                if !circles.contains(&circle) {
                    circles.push(circle);
                }
                break;
            }
            path.push(next);
        }
    }
    circles
}

/// The first lost task that this one waits for; itself only if there is no other.
fn next_of(lost: &[&Waiting], task: usize) -> Option<usize> {
    let waiting = lost.iter().find(|w| w.task == task)?;
    let mut candidates = waiting.wakers.iter().filter(|t| lost.iter().any(|w| w.task == **t));
    let other = candidates.clone().find(|t| **t != task);
    other.or_else(|| candidates.next()).copied()
}

/// What the plain search needs to know.
fn spelled_out(waits: &Waits) -> Vec<Waiting> {
    let of = |wanted: &Wanted| {
        let early = wanted.other.filter(|other| !other.last).map(|other| other.task);
        let comes =
            |task: &usize| wanted.kinds.contains(&waits.kinds[*task]) || early == Some(*task);
        let mut wakers: Vec<usize> = (0..waits.kinds.len()).filter(comes).collect();
        wakers.extend(wanted.other.filter(|other| other.last).map(|other| other.task));
        wakers
    };
    let waiting = waits.waiting.iter().map(|(task, wanted)| {
        let wanted = &waits.wanted[*wanted];
        Waiting { task: *task, wakers: of(wanted), needs: wanted.needs }
    });
    waiting.collect()
}

const KINDS: usize = 5;

fn wanted(tasks: usize) -> impl Strategy<Value = Wanted> {
    let kinds = proptest::collection::btree_set(0..KINDS, 0..3);
    let other = proptest::option::of((0..tasks, any::<bool>()));
    (prop_oneof![6 => Just(1), 3 => 0..5usize], kinds, other).prop_map(|(needs, kinds, other)| {
        let other = other.map(|(task, last)| Other { task, last });
        Wanted { needs, kinds: kinds.into_iter().collect(), other }
    })
}

fn waits() -> impl Strategy<Value = Waits> {
    let sizes = (1..9usize, 1..7usize);
    let parts = sizes.prop_flat_map(|(tasks, things)| {
        (
            proptest::collection::vec(0..KINDS, tasks),
            proptest::collection::vec(proptest::bool::weighted(0.2), tasks),
            proptest::collection::vec(wanted(tasks), things),
            proptest::collection::vec(proptest::option::weighted(0.8, 0..things), tasks),
        )
    });
    parts.prop_map(|(kinds, over, mut wanted, waits_for)| {
        for wanted in &mut wanted {
            let known = |other: &Other| wanted.kinds.contains(&kinds[other.task]);
            wanted.other = wanted.other.filter(|other| !known(other));
        }
        let waiting = waits_for.iter().enumerate();
        let waiting = waiting.filter_map(|(task, wanted)| Some((task, (*wanted)?))).collect();
        Waits { kinds, over, wanted, waiting }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn it_finds_what_the_plain_search_finds(waits in waits()) {
        let expected = plain_circles(&spelled_out(&waits), |task| !waits.over[task]);
        prop_assert_eq!(waits.circles(), expected);
    }
}

const MANY: usize = 200_000;

/// Each task waits for one thing that only `brings` of it could bring.
fn each_for(brings: impl Fn(usize) -> usize) -> Waits {
    let wanted = |task| Wanted {
        needs: 1,
        kinds: Vec::new(),
        other: Some(Other { task: brings(task), last: true }),
    };
    Waits {
        kinds: vec![0; MANY],
        over: vec![false; MANY],
        wanted: (0..MANY).map(wanted).collect(),
        waiting: (0..MANY).map(|task| (task, task)).collect(),
    }
}

#[test]
fn a_long_circle_is_one() {
    let circles = each_for(|task| (task + 1) % MANY).circles();
    assert_eq!(circles, [(0..MANY).collect::<Vec<_>>()]);
}

#[test]
fn a_long_chain_comes_free_from_its_end() {
    let mut waits = each_for(|task| (task + 1).min(MANY - 1));
    assert_eq!(waits.circles(), [[MANY - 1]]);
    // now its last task waits no more
    waits.waiting.pop();
    assert_eq!(waits.circles(), [[0; 0]; 0]);
}

#[test]
fn a_crowd_that_waits_for_itself_is_told_by_two() {
    let mut waits = each_for(|task| task);
    waits.wanted = vec![Wanted { needs: 2, kinds: vec![0], other: None }];
    waits.waiting.iter_mut().for_each(|(_, wanted)| *wanted = 0);
    assert_eq!(waits.circles(), [[0, 1]]);
    // two that do not wait are enough for all
    waits.waiting.truncate(MANY - 2);
    assert_eq!(waits.circles(), [[0; 0]; 0]);
}
