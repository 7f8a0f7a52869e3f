// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of the taken waits has which of the taken posts.

use crate::life::{LifeIx, What};
use crate::watch::Watched;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Posts and waits of one round of the loop.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    /// By edge of a post: the task that waits.
    posts: BTreeMap<u32, LifeIx>,
    /// Edges of waits that have a post.
    waits: BTreeSet<u32>,
    /// Posts of the first round that come from nowhere, by the task that waits.
    pub(crate) first: BTreeMap<LifeIx, u32>,
}

impl Edges {
    /// Of the taken steps (life and place).
    pub(crate) fn new(watched: &Watched, taken: &[(usize, usize)]) -> Self {
        let (mut posts, mut waits) = (Vec::new(), Vec::new());
        for &(life, at) in taken {
            match watched.lives[life].steps[at].what {
                What::Post { edge } => posts.push(edge),
                What::Wait { edge, .. } => waits.push(edge),
                _ => {}
            }
        }
        posts.sort_unstable();
        waits.sort_unstable();
        let mut edges = Self::default();
        for edge in &posts {
            if waits.binary_search(edge).is_ok() {
                edges.posts.insert(*edge, watched.edges[*edge as usize].to);
                edges.waits.insert(*edge);
            }
        }
        // Of what is left over: between the same tasks, then of tasks of the same kinds.
        let same = |edge: u32| {
            let edge = watched.edges[edge as usize];
            (edge.from, edge.to)
        };
        let alike = |edge: u32| {
            let edge = watched.edges[edge as usize];
            (watched.lives[edge.from].kind, watched.lives[edge.to].kind)
        };
        edges.pair(watched, (&posts, &waits), same);
        edges.pair(watched, (&posts, &waits), alike);
        edges
    }

    /// Gives waits without a post one of the posts without a wait that have the same key.
    fn pair(
        &mut self,
        watched: &Watched,
        (posts, waits): (&[u32], &[u32]),
        key: impl Fn(u32) -> (usize, usize),
    ) {
        let mut free: BTreeMap<(usize, usize), VecDeque<u32>> = BTreeMap::new();
        for edge in posts.iter().filter(|edge| !self.posts.contains_key(*edge)) {
            free.entry(key(*edge)).or_default().push_back(*edge);
        }
        for edge in waits {
            if self.waits.contains(edge) {
                continue;
            }
            if let Some(post) = free.get_mut(&key(*edge)).and_then(VecDeque::pop_front) {
                let to = watched.edges[*edge as usize].to;
                self.posts.insert(post, to);
                self.waits.insert(*edge);
                *self.first.entry(to).or_default() += 1;
            }
        }
    }

    /// The task that waits for a post; `None`: none of those that were taken.
    pub(crate) fn post(&self, edge: u32) -> Option<LifeIx> {
        self.posts.get(&edge).copied()
    }

    /// Whether a wait has a post.
    pub(crate) fn is_waited(&self, edge: u32) -> bool {
        self.waits.contains(&edge)
    }
}
