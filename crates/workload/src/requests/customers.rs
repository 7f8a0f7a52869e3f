// SPDX-License-Identifier: MIT OR Apache-2.0
//! When customers send their next request, and what it asks for.
//!
//! Every open source and every user has random numbers of its own, so that what they ask for
//! never depends on how the machine served others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::model::{Arrival, Customers, Pattern};
use crate::random::Span;
use rota_choice::{Choices, Origin};

/// A user who was refused does not come back sooner than this.
pub(crate) const REFUSED_PAUSE_NS: u64 = 1_000_000;

/// All customers of a running workload.
#[derive(Clone, Debug)]
pub(crate) struct Outside {
    sources: Vec<Source>,
    due: BinaryHeap<Reverse<Due>>,
}

/// A customer's next arrival. Of one instant: in the order of the file, then of the users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at_ns: u64,
    source: u32,
    user: u32,
}

#[derive(Clone, Debug)]
struct Source {
    customers: Customers,
    start_ns: u64,
    /// Requests still to be sent.
    left: u64,
    /// Of an open source: time of its next arrival, its pauses left out.
    active_ns: u64,
    /// Of a list: arrivals so far.
    listed: usize,
    /// Of each user: how long it thinks now.
    thinks_ns: Vec<u64>,
}

/// Requests that arrive now, together and from one customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) class: u32,
    pub(crate) source: u32,
    /// `Some`: it waits for its answer, after this think time.
    pub(crate) user: Option<(u32, u64)>,
    pub(crate) requests: u32,
    /// What each of them asks for; `None`: to be drawn.
    demand_ns: Option<u64>,
}

impl Outside {
    pub(crate) fn new(customers: &[Customers], choices: &mut Choices) -> Self {
        let mut outside = Outside { sources: Vec::new(), due: BinaryHeap::new() };
        for (number, customers) in (0u32..).zip(customers) {
            let users = match customers.pattern {
                Pattern::Closed { users, .. } => users,
                Pattern::Open { .. } | Pattern::Listed(_) => 1,
            };
            let mut source = Source {
                customers: customers.clone(),
                start_ns: 0,
                left: customers.count.unwrap_or(u64::MAX),
                active_ns: 0,
                listed: 0,
                thinks_ns: vec![0; users as usize],
            };
            source.start_ns = draw(customers.delay, (number, 0), choices);
            outside.sources.push(source);
            for user in 0..users {
                let start_ns = outside.sources[number as usize].start_ns;
                outside.schedule(number, user, start_ns, choices);
            }
        }
        outside
    }

    /// Time of the next arrival.
    pub(crate) fn next_at(&self) -> Option<u64> {
        self.due.peek().map(|Reverse(due)| due.at_ns)
    }

    /// Requests that arrive at or before `now_ns`, those of one customer.
    pub(crate) fn arrive(&mut self, now_ns: u64, choices: &mut Choices) -> Option<Batch> {
        loop {
            let Due { source: number, user, .. } = match self.due.peek() {
                Some(Reverse(due)) if due.at_ns <= now_ns => *due,
                _ => return None,
            };
            self.due.pop();
            let source = &mut self.sources[number as usize];
            let (class, left) = (source.customers.class, source.left);
            let batch = |user, requests, demand_ns| {
                let requests = u64::from(requests).min(left) as u32;
                Batch { class, source: number, user, requests, demand_ns }
            };
            let batch = match &source.customers.pattern {
                Pattern::Open { batch: requests, .. } => batch(None, *requests, None),
                Pattern::Listed(list) => {
                    let demand_ns = list.get(source.listed).and_then(|a| a.demand_ns);
                    source.listed += 1;
                    batch(None, 1, demand_ns)
                }
                Pattern::Closed { .. } => {
                    batch(Some((user, source.thinks_ns[user as usize])), 1, None)
                }
            };
            if source.left != u64::MAX {
                source.left -= u64::from(batch.requests);
            }
            if batch.user.is_none() {
                self.schedule(number, user, now_ns, choices);
            }
            if batch.requests > 0 {
                return Some(batch);
            }
        }
    }

    /// What the next request of a batch asks for.
    pub(crate) fn demand(&self, batch: &Batch, choices: &mut Choices) -> u64 {
        batch.demand_ns.unwrap_or_else(|| {
            let span = self.sources[batch.source as usize].customers.demand;
            draw(span, (batch.source, batch.user.map_or(0, |(user, _)| user)), choices)
        })
    }

    /// A user got its answer and begins to think.
    pub(crate) fn answered(&mut self, source: u32, user: u32, now_ns: u64, choices: &mut Choices) {
        self.schedule(source, user, now_ns, choices);
    }

    /// A user was refused and begins to think.
    pub(crate) fn refused(&mut self, source: u32, user: u32, now_ns: u64, choices: &mut Choices) {
        let Some(think_ns) = self.think(source, user, choices) else {
            return;
        };
        let think_ns = think_ns.max(REFUSED_PAUSE_NS);
        self.sources[source as usize].thinks_ns[user as usize] = think_ns;
        self.push(now_ns.saturating_add(think_ns), source, user);
    }

    /// Decides when a customer comes next.
    fn schedule(&mut self, number: u32, user: u32, now_ns: u64, choices: &mut Choices) {
        let source = &mut self.sources[number as usize];
        if source.left == 0 {
            return;
        }
        let start_ns = source.start_ns;
        let at_ns = match source.customers.pattern {
            Pattern::Open { gap, windows, .. } => {
                // Two arrivals are never at the same instant, or time could stand still.
                let gap_ns = draw(gap, (number, user), choices).max(1);
                source.active_ns = source.active_ns.saturating_add(gap_ns);
                Some(start_ns.saturating_add(with_pauses(source.active_ns, windows)))
            }
            Pattern::Listed(ref list) => {
                list.get(source.listed).map(|&Arrival { at_ns, .. }| start_ns.saturating_add(at_ns))
            }
            Pattern::Closed { .. } => self.think(number, user, choices).map(|think_ns| {
                self.sources[number as usize].thinks_ns[user as usize] = think_ns;
                now_ns.saturating_add(think_ns)
            }),
        };
        if let Some(at_ns) = at_ns {
            self.push(at_ns, number, user);
        }
    }

    fn push(&mut self, at_ns: u64, source: u32, user: u32) {
        self.due.push(Reverse(Due { at_ns, source, user }));
    }

    fn think(&self, number: u32, user: u32, choices: &mut Choices) -> Option<u64> {
        match self.sources[number as usize].customers.pattern {
            Pattern::Closed { think, .. } => Some(draw(think, (number, user), choices)),
            Pattern::Open { .. } | Pattern::Listed(_) => None,
        }
    }
}

/// A length of time for what a source, or one of its users, does.
fn draw(span: Span, (source, user): (u32, u32), choices: &mut Choices) -> u64 {
    span.draw(&mut || choices.draw(Origin::Customer(source, user)))
}

/// The time at which so much of the windows is over, pauses included. A time between two
/// windows is the beginning of the later one.
fn with_pauses(active_ns: u64, windows: Option<(u64, u64)>) -> u64 {
    match windows {
        Some((on_ns, off_ns)) => {
            active_ns.saturating_add((active_ns / on_ns).saturating_mul(off_ns))
        }
        None => active_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Span;
    use proptest::prelude::*;
    use rota_choice::Seeded;

    const MS: u64 = 1_000_000;

    fn source(pattern: Pattern, count: Option<u64>) -> Customers {
        Customers { class: 0, demand: Span::Fixed(7), delay: Span::Fixed(0), count, pattern }
    }

    fn every(gap: Span, batch: u32, windows: Option<(u64, u64)>) -> Pattern {
        Pattern::Open { gap, batch, windows }
    }

    fn seeded(seed: u64) -> Choices {
        Choices::by(Seeded::new(seed))
    }

    /// Times and sizes of batches up to `end_ns`.
    fn arrivals(customers: Customers, seed: u64, end_ns: u64) -> Vec<(u64, u32)> {
        let choices = &mut seeded(seed);
        let mut outside = Outside::new(&[customers], choices);
        let mut found = Vec::new();
        while let Some(at_ns) = outside.next_at().filter(|at_ns| *at_ns <= end_ns) {
            let batch = outside.arrive(at_ns, choices).unwrap();
            found.push((at_ns, batch.requests));
        }
        found
    }

    #[test]
    fn an_interval_is_kept_and_a_count_ends_it() {
        let pattern = every(Span::Fixed(10), 4, None);
        // 4 + 4 + 2 = 10.
        let found = arrivals(source(pattern, Some(10)), 1, 1000);
        assert_eq!(found, [(10, 4), (20, 4), (30, 2)]);
    }

    #[test]
    fn windows_hold_the_arrivals_and_pauses_none() {
        // 30 on, 100 off: 10, 20 in the first window; the one due at its end begins the next.
        let pattern = every(Span::Fixed(10), 1, Some((30, 100)));
        let found = arrivals(source(pattern, None), 1, 300);
        let times: Vec<u64> = found.iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [10, 20, 130, 140, 150, 260, 270, 280]);
    }

    #[test]
    fn a_list_is_followed_with_its_own_demands() {
        let arrival = |at_ns, demand_ns| Arrival { at_ns, demand_ns };
        let list = [arrival(0, None), arrival(5, Some(99)), arrival(5, None)];
        let mut customers = source(Pattern::Listed(list.into()), None);
        customers.delay = Span::Fixed(100);
        let choices = &mut seeded(1);
        let mut outside = Outside::new(&[customers], choices);
        let mut found = Vec::new();
        while let Some(at_ns) = outside.next_at() {
            let batch = outside.arrive(at_ns, choices).unwrap();
            found.push((at_ns, outside.demand(&batch, choices)));
        }
        assert_eq!(found, [(100, 7), (105, 99), (105, 7)]);
    }

    #[test]
    fn a_user_thinks_after_its_answer() {
        let pattern = Pattern::Closed { users: 1, think: Span::Fixed(30 * MS) };
        let choices = &mut seeded(1);
        let mut outside = Outside::new(&[source(pattern, None)], choices);
        assert_eq!(outside.next_at(), Some(30 * MS));
        let first = outside.arrive(30 * MS, choices).unwrap();
        assert_eq!(first.user, Some((0, 30 * MS)));
        assert_eq!(outside.next_at(), None, "it waits for its answer");
        outside.answered(0, 0, 50 * MS, choices);
        assert_eq!(outside.next_at(), Some(80 * MS));
    }

    #[test]
    fn a_refused_user_pauses_even_if_it_never_thinks() {
        let pattern = Pattern::Closed { users: 1, think: Span::Fixed(0) };
        let choices = &mut seeded(1);
        let mut outside = Outside::new(&[source(pattern, None)], choices);
        assert_eq!(outside.arrive(0, choices).unwrap().user, Some((0, 0)));
        outside.refused(0, 0, 0, choices);
        assert_eq!(outside.next_at(), Some(REFUSED_PAUSE_NS));
    }

    #[test]
    fn poisson_arrivals_have_their_rate_and_variance() {
        // 100 per second over 100 s: the count has mean and variance 10000, so 5 standard
        // deviations are 500. Over seeds: counts of single seconds, mean 100, variance 100.
        let gap = Span::Exp { mean: 1e7, max: u64::MAX };
        let times = arrivals(source(every(gap, 1, None), None), 3, 100_000 * MS);
        assert!(times.len().abs_diff(10_000) < 500, "{}", times.len());
        let mut seconds = [0f64; 100];
        times.iter().for_each(|(at, _)| seconds[(*at / (1000 * MS)) as usize % 100] += 1.0);
        let mean = seconds.iter().sum::<f64>() / 100.0;
        let variance = seconds.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 99.0;
        // The estimate's own standard deviation is 100 * sqrt(2/99) = 14.
        assert!((variance - 100.0).abs() < 60.0, "{variance}");
    }

    /// Think times of two users who are answered in this order.
    fn thinks(order: [u32; 2], seed: u64) -> Vec<(u32, u64)> {
        let think = Span::Exp { mean: 1e6, max: u64::MAX };
        let pattern = Pattern::Closed { users: 2, think };
        let choices = &mut seeded(seed);
        let mut outside = Outside::new(&[source(pattern, None)], choices);
        let late = 1_000_000 * MS;
        while outside.arrive(late, choices).is_some() {}
        order.iter().for_each(|user| outside.answered(0, *user, late, choices));
        let second = std::iter::from_fn(|| outside.arrive(2 * late, choices));
        let mut thinks: Vec<_> = second.filter_map(|batch| batch.user).collect();
        thinks.sort_unstable();
        thinks
    }

    proptest! {
        #[test]
        fn what_one_user_does_depends_on_no_other(seed: u64) {
            let found = thinks([0, 1], seed);
            prop_assert_eq!(found.len(), 2);
            prop_assert_eq!(found, thinks([1, 0], seed));
        }
    }
}
