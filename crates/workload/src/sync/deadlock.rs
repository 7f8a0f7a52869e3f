// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of the waiting tasks wait for each other in a circle.
//!
//! A task is lost if nobody who could wake it ever will: all of them are lost too, or over. Lost
//! tasks are found by taking away everyone who can still be woken until nothing changes. What is
//! counted as able to wake is generous (any task that is not waiting and mentions the right event
//! anywhere), so whatever is called a deadlock is one.
//!
//! Those who wait for the same thing wait for the same tasks, and tasks of one kind can do the
//! same. So things are counted against kinds, never tasks against tasks.

use std::fmt;

use super::Awaits;

/// A task of a deadlock and why it cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Name of the task.
    pub task: String,
    /// Mutexes that it holds and that another of the circle waits for.
    pub holds: Vec<String>,
    /// What it waits for, which only the next one of the circle could give.
    pub awaits: Awaits,
}

/// Tasks that wait for each other in a circle: each for the next, the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock(pub Vec<Link>);

/// `a-0 holds mutex "m" and waits for mutex "n"; b-1 holds mutex "n" and waits for mutex "m"`.
impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Link { task, holds, awaits }) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{task}")?;
            for (index, mutex) in holds.iter().enumerate() {
                let word = if index == 0 { "holds" } else { "and" };
                write!(f, " {word} mutex {mutex:?}")?;
            }
            let and = if holds.is_empty() { "" } else { " and" };
            match awaits {
                Awaits::Resume(_) => write!(f, "{and} is suspended")?,
                Awaits::Barrier(name) => write!(f, "{and} waits at barrier {name:?}")?,
                other => write!(f, "{and} waits for {other}")?,
            }
        }
        Ok(())
    }
}

/// Something that tasks wait for and who could bring it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// So many must come.
    pub(crate) needs: usize,
    /// Tasks of these kinds can come; each kind once.
    pub(crate) kinds: Vec<usize>,
    /// So can this one, of none of these kinds.
    pub(crate) other: Option<Other>,
}

/// A single task that could come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Other {
    pub(crate) task: usize,
    /// It is named after all others, not in the order of the tasks.
    pub(crate) last: bool,
}

/// All tasks, and who waits for what.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    /// The kind of each task.
    pub(crate) kinds: Vec<usize>,
    /// Tasks that are over; the others can act unless they wait.
    pub(crate) over: Vec<bool>,
    pub(crate) wanted: Vec<Wanted>,
    /// Each task that waits, once and in the order of the tasks, with what it waits for.
    pub(crate) waiting: Vec<(usize, usize)>,
}

impl Waits {
    /// Circles of lost tasks, each task of them once, in the order of the tasks.
    pub(crate) fn circles(&self) -> Vec<Vec<usize>> {
        let next = self.next_of(&self.lost());
        let mut circles: Vec<Vec<usize>> = Vec::new();
        // the walk that came by a task first, from 1 up, and its place on that walk
        let mut seen = vec![(0, 0); self.kinds.len()];
        for (walk, (begin, _)) in (1..).zip(&self.waiting) {
            let mut path = Vec::new();
            let mut at = *begin;
            while seen[at].0 == 0 {
                seen[at] = (walk, path.len());
                path.push(at);
                match next[at] {
                    Some(next) => at = next,
                    None => break,
                }
            }
            // An earlier walk has told where it ends.
            if seen[at].0 == walk && next[at].is_some() {
                let mut circle = path.split_off(seen[at].1);
                let least = circle.iter().enumerate().min_by_key(|(_, t)| **t);
                let shift = least.map_or(0, |(index, _)| index);
                circle.rotate_left(shift);
                circles.push(circle);
            }
        }
        circles
    }

    /// Whether each task is lost.
    fn lost(&self) -> Vec<bool> {
        let mut lost = vec![false; self.kinds.len()];
        let mut waiters = vec![Vec::new(); self.wanted.len()];
        for (task, wanted) in &self.waiting {
            lost[*task] = true;
            waiters[*wanted].push(*task);
        }
        let kinds = self.kinds.iter().max().map_or(0, |most| most + 1);
        // what tasks of each kind can bring, and what single tasks can
        let mut of_kind = vec![Vec::new(); kinds];
        let mut of_task = vec![Vec::new(); self.kinds.len()];
        for (index, wanted) in self.wanted.iter().enumerate() {
            wanted.kinds.iter().filter(|k| **k < kinds).for_each(|k| of_kind[*k].push(index));
            wanted.other.iter().for_each(|other| of_task[other.task].push(index));
        }
        // how many more must come, and whether they have been seen to come
        let mut missing: Vec<usize> = self.wanted.iter().map(|w| w.needs).collect();
        let mut comes: Vec<bool> = missing.iter().map(|m| *m == 0).collect();
        let mut open: Vec<usize> = (0..missing.len()).filter(|index| comes[*index]).collect();
        let mut come = |index: usize, tasks: usize, open: &mut Vec<usize>| {
            missing[index] = missing[index].saturating_sub(tasks);
            if missing[index] == 0 && !std::mem::replace(&mut comes[index], true) {
                open.push(index);
            }
            missing[index] == 0
        };
        let mut free: Vec<usize> = (0..lost.len()).filter(|task| !lost[*task]).collect();
        let mut free_of_kind = vec![0; kinds];
        loop {
            let mut fresh = Vec::new();
            for task in free.drain(..).filter(|task| !self.over[*task]) {
                of_task[task].drain(..).for_each(|index| _ = come(index, 1, &mut open));
                let kind = self.kinds[task];
                if free_of_kind[kind] == 0 {
                    fresh.push(kind);
                }
                free_of_kind[kind] += 1;
            }
            for kind in fresh {
                let tasks = std::mem::take(&mut free_of_kind[kind]);
                of_kind[kind].retain(|index| !come(*index, tasks, &mut open));
            }
            if open.is_empty() {
                return lost;
            }
            for task in open.drain(..).flat_map(|index| std::mem::take(&mut waiters[index])) {
                lost[task] = false;
                free.push(task);
            }
        }
    }

    /// For each lost task the first lost one that it waits for; itself only if there is no other.
    fn next_of(&self, lost: &[bool]) -> Vec<Option<usize>> {
        let kinds = self.kinds.iter().max().map_or(0, |most| most + 1);
        // two are enough: one of them is not the task that asks
        let mut of_kind: Vec<Vec<usize>> = vec![Vec::new(); kinds];
        for (task, kind) in self.kinds.iter().enumerate().filter(|(task, _)| lost[*task]) {
            if of_kind[*kind].len() < 2 {
                of_kind[*kind].push(task);
            }
        }
        let first_two = |wanted: &Wanted| -> [Option<usize>; 2] {
            let other = wanted.other.filter(|other| lost[other.task]);
            let early = other.filter(|other| !other.last).map(|other| other.task);
            let tasks = wanted.kinds.iter().filter_map(|kind| of_kind.get(*kind)).flatten();
            let mut two = [None, None];
            for task in tasks.copied().chain(early) {
                if two[0].is_none_or(|first| task < first) {
                    two = [Some(task), two[0]];
                } else if two[1].is_none_or(|second| task < second) {
                    two[1] = Some(task);
                }
            }
            if let (Some(other), Some(place)) =
                (other.filter(|other| other.last), two.iter_mut().find(|place| place.is_none()))
            {
                *place = Some(other.task);
            }
            two
        };
        let firsts: Vec<[Option<usize>; 2]> = self.wanted.iter().map(first_two).collect();
        let mut next = vec![None; lost.len()];
        for (task, wanted) in self.waiting.iter().filter(|(task, _)| lost[*task]) {
            let [first, second] = firsts[*wanted];
            next[*task] = if first == Some(*task) { second.or(first) } else { first };
        }
        next
    }
}

#[cfg(test)]
#[path = "deadlock_tests.rs"]
pub(crate) mod tests;
