// SPDX-License-Identifier: MIT OR Apache-2.0
//! VTRR on one CPU, from the paper [VTRR §3], in exact rational arithmetic. It is told what
//! happens to clients, and says who is to run next. Time passes in [`Model::at`]; all that
//! happens at one time is told in the order in which the kernel tells it to a scheduler.
//!
//! Where the paper is silent it reads as the header of `vtrr.bpf.c` says.

use num_rational::BigRational;
use std::collections::BTreeMap;

/// A rational from a count.
fn ratio(n: u64, d: u64) -> BigRational {
    BigRational::new(n.into(), d.into())
}

fn zero() -> BigRational {
    ratio(0, 1)
}

/// How a client finds its place in the queue.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Insert {
    /// Equal shares by pid.
    Walk,
    /// Equal shares by arrival [§3.3].
    Array,
}

struct Client {
    share: u64,
    /// VFT - Q / share.
    virtual_time: BigRational,
    counter: u64,
    /// CPU time since its last whole quantum: who blocks early has the rest of it later.
    part_ns: u64,
    /// The cycle in which it was in the queue last; none: it never was.
    cycle: Option<u64>,
    /// Its neighbours of last time.
    last_previous: Option<u32>,
    last_next: Option<u32>,
}

/// The current client [§3.1].
enum Current {
    Nobody,
    InQueue(u32),
    /// It left: the next one stands here, and this was its counter.
    Left {
        next: usize,
        counter: u64,
    },
}

pub(crate) struct Model {
    insert: Insert,
    quantum_ns: u64,
    now_ns: u64,
    /// QVT.
    queue_time: BigRational,
    queue: Vec<u32>,
    clients: BTreeMap<u32, Client>,
    current: Current,
    cycle: u64,
    /// Who has the CPU.
    running: Option<u32>,
    /// Who was given a quantum that has not ended, and whether it is still due.
    given: Option<(u32, bool)>,
}

impl Model {
    pub(crate) fn new(insert: Insert, quantum_ns: u64) -> Self {
        Self {
            insert,
            quantum_ns,
            now_ns: 0,
            queue_time: zero(),
            queue: Vec::new(),
            clients: BTreeMap::new(),
            current: Current::Nobody,
            cycle: 1,
            running: None,
            given: None,
        }
    }

    fn total_share(&self) -> u64 {
        self.queue.iter().map(|pid| self.clients[pid].share).sum()
    }

    fn counters(&self) -> u64 {
        self.queue.iter().map(|pid| self.clients[pid].counter).sum()
    }

    /// Time goes on: QVT by eq. 4, the client that runs by eq. 5.
    pub(crate) fn at(&mut self, now_ns: u64) {
        let passed_ns = now_ns - self.now_ns;
        if passed_ns == 0 {
            return;
        }
        self.now_ns = now_ns;
        let Some(pid) = self.running.filter(|pid| self.queue.contains(pid)) else { return };
        self.queue_time += ratio(passed_ns, self.total_share());
        let quantum_ns = self.quantum_ns;
        let client = self.clients.get_mut(&pid).unwrap();
        client.virtual_time += ratio(passed_ns, client.share);
        client.part_ns += passed_ns;
        if client.count(quantum_ns) && self.given.is_some_and(|(given, _)| given == pid) {
            self.given = Some((pid, false));
        }
    }

    pub(crate) fn fork(&mut self, pid: u32, share: u64) {
        let client = Client {
            share,
            virtual_time: zero(),
            counter: 0,
            part_ns: 0,
            cycle: None,
            last_previous: None,
            last_next: None,
        };
        self.clients.insert(pid, client);
    }

    /// It becomes runnable, with this share.
    pub(crate) fn runnable(&mut self, pid: u32, share: u64) {
        self.set_share(pid, share);
        if !self.queue.contains(&pid) {
            self.join(pid);
        }
    }

    /// It is not runnable any more.
    pub(crate) fn quiescent(&mut self, pid: u32) {
        self.end_quantum(pid);
        self.leave(pid);
    }

    pub(crate) fn end_quantum(&mut self, pid: u32) {
        self.given = self.given.filter(|(given, _)| *given != pid);
    }

    pub(crate) fn running(&mut self, pid: u32) {
        self.running = Some(pid);
        if self.given.is_none_or(|(given, _)| given != pid) {
            self.given = Some((pid, true));
        }
    }

    pub(crate) fn stopping(&mut self) {
        self.running = None;
    }

    /// A changed share: it leaves and comes back [§3.2].
    pub(crate) fn set_share(&mut self, pid: u32, share: u64) {
        let quantum_ns = self.quantum_ns;
        if self.clients[&pid].share == share {
            return;
        }
        let queued = self.queue.contains(&pid);
        self.leave(pid);
        let client = self.clients.get_mut(&pid).unwrap();
        if client.cycle.is_some() {
            // Its VFT stays; eq. 8 takes the later one when it comes back.
            client.virtual_time += ratio(quantum_ns, client.share);
            client.virtual_time -= ratio(quantum_ns, share);
            if client.virtual_time < zero() {
                client.virtual_time = zero();
            }
        }
        client.share = share;
        if queued {
            self.join(pid);
        }
    }

    /// Whether it belongs between its neighbours of last time still.
    fn place_of_last_time(&self, pid: u32) -> Option<usize> {
        let client = &self.clients[&pid];
        client.cycle?;
        let place = match client.last_previous {
            Some(previous) => self.queue.iter().position(|other| *other == previous)? + 1,
            None => 0,
        };
        let share_of = |other: &u32| self.clients[other].share;
        let previous_fits = place == 0 || share_of(&self.queue[place - 1]) >= client.share;
        let next = self.queue.get(place);
        let next_fits = next.is_none_or(|next| share_of(next) <= client.share);
        (next.copied() == client.last_next && previous_fits && next_fits).then_some(place)
    }

    /// From the largest share to the smallest.
    fn place_by_share(&self, pid: u32) -> usize {
        let share = self.clients[&pid].share;
        let before = |other: &u32| {
            let others = self.clients[other].share;
            others > share || others == share && (self.insert == Insert::Array || *other < pid)
        };
        self.queue.iter().take_while(|other| before(other)).count()
    }

    /// Its quanta left once the quantum that is being run is over.
    fn counter_after_quantum(&self, pid: u32) -> u64 {
        let counter = self.clients[&pid].counter;
        counter.saturating_sub(u64::from(self.given == Some((pid, true))))
    }

    fn join(&mut self, pid: u32) {
        let place = self.place_of_last_time(pid).unwrap_or_else(|| self.place_by_share(pid));
        let client = &self.clients[&pid];
        // eq. 9, before it is inserted, whole quanta
        let mut counter = match self.total_share() {
            0 => client.share,
            total => client.share * self.counters() / total,
        };
        if client.cycle == Some(self.cycle) {
            counter = counter.min(client.counter);
        }
        if place > 0 {
            counter = counter.min(self.counter_after_quantum(self.queue[place - 1]));
        }
        if let Some(next) = self.queue.get(place) {
            counter = counter.max(self.counter_after_quantum(*next));
        }
        let (cycle, queue_time) = (self.cycle, self.queue_time.clone());
        let client = self.clients.get_mut(&pid).unwrap();
        client.counter = counter;
        client.cycle = Some(cycle);
        // eq. 7, eq. 8
        client.virtual_time = client.virtual_time.clone().max(queue_time);
        self.queue.insert(place, pid);
        if let Current::Left { next, .. } = &mut self.current {
            *next += usize::from(place < *next);
        }
    }

    fn leave(&mut self, pid: u32) {
        let Some(place) = self.queue.iter().position(|other| *other == pid) else { return };
        self.queue.remove(place);
        let previous = place.checked_sub(1).map(|before| self.queue[before]);
        let next_one = self.queue.get(place).copied();
        let cycle = self.cycle;
        let client = self.clients.get_mut(&pid).unwrap();
        client.last_previous = previous;
        client.last_next = next_one;
        client.cycle = Some(cycle);
        let counter = client.counter;
        match &mut self.current {
            Current::InQueue(current) if *current == pid => {
                self.current = Current::Left { next: place, counter };
            }
            Current::Left { next, .. } => *next -= usize::from(place < *next),
            _ => {}
        }
    }

    pub(crate) fn exit(&mut self, pid: u32) {
        self.clients.remove(&pid);
    }

    /// Who runs next [§3.1]; the quantum of `previous`, if that wants to go on, has ended.
    pub(crate) fn pick(&mut self, previous: Option<(u32, u64)>) -> Option<u32> {
        if let Some((pid, share)) = previous {
            self.end_quantum(pid);
            self.set_share(pid, share);
        }
        let pid = self.next()?;
        self.current = Current::InQueue(pid);
        self.given = Some((pid, true));
        Some(pid)
    }

    fn next(&mut self) -> Option<u32> {
        if self.queue.is_empty() {
            return None;
        }
        if self.counters() == 0 {
            // Once more where all that is due was run in advance.
            while self.counters() == 0 {
                self.begin_cycle();
            }
            return self.head();
        }
        let (next, counter) = match self.current {
            Current::Nobody => return self.head(),
            Current::Left { next, counter } => (next, counter),
            Current::InQueue(pid) => {
                let place = self.queue.iter().position(|other| *other == pid).unwrap();
                (place + 1, self.clients[&pid].counter)
            }
        };
        let Some(&next) = self.queue.get(next) else { return self.head() };
        let client = &self.clients[&next];
        let after_quantum = &self.queue_time + ratio(self.quantum_ns, self.total_share());
        // the time counter invariant, then eq. 6
        let follows = client.counter > counter || client.virtual_time < after_quantum;
        if client.counter > 0 && follows {
            return Some(next);
        }
        self.head()
    }

    fn head(&self) -> Option<u32> {
        self.queue.iter().copied().find(|pid| self.clients[pid].counter > 0)
    }

    fn begin_cycle(&mut self) {
        self.cycle += 1;
        for pid in &self.queue {
            let client = self.clients.get_mut(pid).unwrap();
            client.counter = client.share;
            client.cycle = Some(self.cycle);
            client.count(self.quantum_ns);
        }
    }
}

impl Client {
    /// Takes whole quanta off the counter; whether there was one.
    fn count(&mut self, quantum_ns: u64) -> bool {
        let quanta = (self.part_ns / quantum_ns).min(self.counter);
        self.counter -= quanta;
        self.part_ns -= quanta * quantum_ns;
        quanta > 0
    }
}
