// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of the waiting tasks wait for each other in a circle.
//!
//! A task is lost if nobody who could wake it ever will: all of them are lost too, or over. Lost
//! tasks are found by taking away everyone who can still be woken until nothing changes. What is
//! counted as able to wake is generous (any task that is not waiting and mentions the right event
//! anywhere), so whatever is called a deadlock is one.

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
                Awaits::Resume => write!(f, "{and} is suspended")?,
                Awaits::Barrier(name) => write!(f, "{and} waits at barrier {name:?}")?,
                other => write!(f, "{and} waits for {other}")?,
            }
        }
        Ok(())
    }
}

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
pub(crate) fn circles(waiting: &[Waiting], can_act: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
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
