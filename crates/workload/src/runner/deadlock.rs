// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the deadlocks of a running workload: who waits, and who could end that.
//!
//! Tasks of one definition can do the same, so what is waited for is looked up by definition: the
//! search takes as long as there are tasks and events. Only a definition that others fork counts
//! once more for each of them.

use std::collections::{BTreeMap, BTreeSet};

use super::Runner;
use crate::event::{Event, LockEvent, MeetingEvent, SocketEvent, TaskEvent};
use crate::model::{Definition, TaskIx};
use crate::sync::{Awaits, Deadlock, Link, Other, Waits, Wanted};

/// What a task waits for, by index; those who wait for the same wait for the same tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    /// Of this definition.
    Resume(u32),
    Semaphore(u32),
    Barrier(u32),
    Mutex(u32),
    Condition(u32),
    /// A request at this socket.
    Request(u32),
    /// That someone takes a request from this socket.
    Receive(u32),
    /// Bytes in this stream.
    Bytes(u32),
    /// Room in this stream.
    Space(u32),
    /// An answer of this task.
    Answer(TaskIx),
}

/// Definitions that have an event for a thing.
#[derive(Clone, Debug, Default)]
struct Mentions {
    bring: Vec<usize>,
    /// Those that lock the mutex.
    lock: Vec<usize>,
}

/// Who waits, by task.
type Blocked = BTreeMap<usize, Awaits>;

impl Runner {
    /// The circles of tasks that wait for each other and can never go on.
    pub fn deadlocks(&self) -> Vec<Deadlock> {
        let mut blocked = self.blocked();
        // Customers may come at any time.
        let served = |socket: &String| self.workload.requests.has_customers(socket);
        let mut sockets: BTreeMap<String, bool> = BTreeMap::new();
        blocked.retain(|(_, awaits)| match awaits {
            Awaits::Request(socket) => {
                !*sockets.entry(socket.clone()).or_insert_with(|| served(socket))
            }
            _ => true,
        });
        if blocked.is_empty() {
            return Vec::new();
        }
        let blocked: Blocked = blocked.into_iter().map(|(t, a)| (t.0 as usize, a)).collect();
        let circles = self.waits(&blocked).circles();
        if circles.is_empty() {
            return Vec::new();
        }
        let mut held: BTreeMap<usize, Vec<&String>> = BTreeMap::new();
        for (index, name) in (0u32..).zip(&self.workload.mutexes) {
            if let Some(owner) = self.sync.mutexes.owner(index) {
                held.entry(owner.0 as usize).or_default().push(name);
            }
        }
        circles.iter().map(|circle| self.named(circle, &blocked, &held)).collect()
    }

    fn waits(&self, blocked: &Blocked) -> Waits {
        let mut indexes: BTreeMap<Thing, usize> = BTreeMap::new();
        let mut things = Vec::new();
        let mut waiting = Vec::new();
        for (task, thing) in self.things(blocked) {
            let index = *indexes.entry(thing).or_insert_with(|| {
                things.push(thing);
                things.len() - 1
            });
            waiting.push((task, index));
        }
        let mentions = self.mentions(&indexes);
        let forkers = self.forkers();
        // for each definition the last thing that it or one that it forks could bring
        let mut brings = vec![None; forkers.len()];
        let mut wanted = Vec::new();
        for (index, (thing, Mentions { bring, lock })) in things.iter().zip(mentions).enumerate() {
            let forked = bring.iter().any(|definition| !forkers[*definition].is_empty());
            let mut kinds = bring;
            kinds.iter().for_each(|definition| brings[*definition] = Some(index));
            let mut at = 0;
            while at < kinds.len() {
                for forker in &forkers[kinds[at]] {
                    if brings[*forker].replace(index) != Some(index) {
                        kinds.push(*forker);
                    }
                }
                at += 1;
            }
            let (mut needs, mut other) = (1, None);
            match *thing {
                // Forks may come as well, any number of them.
                Thing::Barrier(barrier) if !forked => {
                    let barrier = barrier as usize;
                    let participants = self.workload.barriers[barrier].participants;
                    needs = self.sync.barriers.missing(barrier, participants);
                }
                Thing::Mutex(mutex) => {
                    // Whoever takes it first has to wait as well; others free it without asking.
                    let locks = |definition: &usize| lock.binary_search(definition).is_ok();
                    kinds.retain(|definition| !locks(definition));
                    let owner = self.sync.mutexes.owner(mutex).map(|task| task.0 as usize);
                    other = owner.and_then(|task| {
                        let definition = self.tasks[task].definition as usize;
                        let last = brings[definition] != Some(index);
                        (last || locks(&definition)).then_some(Other { task, last })
                    });
                }
                Thing::Answer(server) => {
                    other = Some(Other { task: server.0 as usize, last: true });
                }
                _ => {}
            }
            wanted.push(Wanted { needs, kinds, other });
        }
        Waits {
            kinds: self.tasks.iter().map(|task| task.definition as usize).collect(),
            over: self.tasks.iter().map(|task| task.cursor.done && task.leaves.is_none()).collect(),
            wanted,
            waiting,
        }
    }

    /// What each task waits for.
    fn things<'a>(&'a self, blocked: &'a Blocked) -> impl Iterator<Item = (usize, Thing)> + 'a {
        let workload = &self.workload;
        let semaphores = by_name(&workload.semaphores);
        let mutexes = by_name(&workload.mutexes);
        let conditions = by_name(&workload.conditions);
        let barriers = by_name(workload.barriers.iter().map(|b| &b.name));
        let sockets = by_name(workload.requests.sockets.iter().map(|s| &s.name));
        let streams = by_name(workload.streams.iter().map(|s| &s.name));
        let servers = self.traffic.servers();
        let index = |names: &BTreeMap<&str, u32>, name: &String| {
            names.get(name.as_str()).copied().unwrap_or(u32::MAX)
        };
        blocked.iter().map(move |(task, awaits)| {
            let thing = match awaits {
                Awaits::Resume(name) => Thing::Resume(*name),
                Awaits::Semaphore(name) => Thing::Semaphore(index(&semaphores, name)),
                Awaits::Barrier(name) => Thing::Barrier(index(&barriers, name)),
                Awaits::Mutex(name) => Thing::Mutex(index(&mutexes, name)),
                Awaits::Condition(name) => Thing::Condition(index(&conditions, name)),
                Awaits::Bytes(name) => Thing::Bytes(index(&streams, name)),
                Awaits::Space(name) => Thing::Space(index(&streams, name)),
                Awaits::Request(name) => Thing::Request(index(&sockets, name)),
                Awaits::Room(name) => Thing::Receive(index(&sockets, name)),
                Awaits::Answer(name) => match servers.get(&TaskIx(*task as u32)) {
                    Some(server) => Thing::Answer(*server),
                    None => Thing::Receive(index(&sockets, name)),
                },
            };
            (*task, thing)
        })
    }

    /// For each thing which definitions have an event for it, ascending.
    fn mentions(&self, indexes: &BTreeMap<Thing, usize>) -> Vec<Mentions> {
        let mut mentions = vec![Mentions::default(); indexes.len()];
        let definitions = self.workload.definitions.iter().enumerate();
        let events = definitions.flat_map(|(d, of)| of.events().map(move |event| (d, event)));
        for (definition, event) in events {
            let moved = self.moved(event);
            let things = brought(event).into_iter().flatten().chain(moved);
            for index in things.filter_map(|thing| indexes.get(&thing)) {
                add(&mut mentions[*index].bring, definition);
            }
            if let Event::Lock(LockEvent::Lock { mutex }) = event {
                if let Some(index) = indexes.get(&Thing::Mutex(*mutex)) {
                    add(&mut mentions[*index].lock, definition);
                }
            }
        }
        mentions
    }

    /// What a flow brings to those who wait at its streams.
    fn moved(&self, event: &Event) -> impl Iterator<Item = Thing> + '_ {
        let flow = match event {
            Event::Flow(flow) => self.workload.flows.get(*flow as usize),
            _ => None,
        };
        let transfers = flow.into_iter().flat_map(|flow| &flow.transfers);
        transfers.map(|transfer| match transfer.puts {
            true => Thing::Bytes(transfer.stream),
            false => Thing::Space(transfer.stream),
        })
    }

    /// For each definition those that fork it.
    fn forkers(&self) -> Vec<Vec<usize>> {
        let definitions = &self.workload.definitions;
        let mut forkers = vec![Vec::new(); definitions.len()];
        for (forker, event) in definitions
            .iter()
            .map(Definition::events)
            .enumerate()
            .flat_map(|(forker, events)| events.map(move |event| (forker, event)))
        {
            if let Event::Task(TaskEvent::Fork { definition, .. }) = event {
                add(&mut forkers[*definition as usize], forker);
            }
        }
        forkers
    }

    fn named(
        &self,
        circle: &[usize],
        blocked: &Blocked,
        held: &BTreeMap<usize, Vec<&String>>,
    ) -> Deadlock {
        let awaits = |task: &usize| blocked.get(task).cloned().unwrap_or(Awaits::Resume(u32::MAX));
        let wanted = circle.iter().filter_map(|task| match blocked.get(task) {
            Some(Awaits::Mutex(name)) => Some(name),
            _ => None,
        });
        let wanted: BTreeSet<&String> = wanted.collect();
        let link = |task: &usize| {
            let held = held.get(task).into_iter().flatten().filter(|name| wanted.contains(*name));
            Link {
                task: self.tasks[*task].name.clone(),
                holds: held.map(|name| (*name).clone()).collect(),
                awaits: awaits(task),
            }
        };
        Deadlock(circle.iter().map(link).collect())
    }
}

/// What an event brings to those who wait for it.
fn brought(event: &Event) -> [Option<Thing>; 2] {
    match *event {
        Event::Task(TaskEvent::Resume { name }) => [name.map(Thing::Resume), None],
        Event::Meeting(MeetingEvent::SemPost { semaphore }) => {
            [Some(Thing::Semaphore(semaphore)), None]
        }
        Event::Task(TaskEvent::Exit { semaphore }) => [semaphore.map(Thing::Semaphore), None],
        Event::Meeting(MeetingEvent::Barrier { barrier }) => [Some(Thing::Barrier(barrier)), None],
        Event::Lock(event) => match event {
            LockEvent::Lock { .. } => [None, None],
            LockEvent::Unlock { mutex } | LockEvent::Wait { mutex, .. } => {
                [Some(Thing::Mutex(mutex)), None]
            }
            LockEvent::Signal { condition } | LockEvent::Broad { condition } => {
                [Some(Thing::Condition(condition)), None]
            }
            LockEvent::Sync { condition, mutex } => {
                [Some(Thing::Condition(condition)), Some(Thing::Mutex(mutex))]
            }
        },
        Event::Socket(SocketEvent::Send { socket, .. }) => [Some(Thing::Request(socket)), None],
        Event::Socket(SocketEvent::Recv { socket }) => [Some(Thing::Receive(socket)), None],
        _ => [None, None],
    }
}

/// Appends what is not the last already.
fn add(ascending: &mut Vec<usize>, definition: usize) {
    if ascending.last() != Some(&definition) {
        ascending.push(definition);
    }
}

/// The first index of each name.
fn by_name<'a>(names: impl IntoIterator<Item = &'a String>) -> BTreeMap<&'a str, u32> {
    let mut indexes = BTreeMap::new();
    for (index, name) in (0u32..).zip(names) {
        indexes.entry(name.as_str()).or_insert(index);
    }
    indexes
}
