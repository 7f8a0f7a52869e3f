// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the deadlocks of a running workload: who waits, and who could end that.

use super::Runner;
use crate::event::{Event, LockEvent, MeetingEvent, SocketEvent, TaskEvent};
use crate::model::{Definition, TaskIx};
use crate::sync::{circles, Awaits, Deadlock, Link, Waiting};

impl Runner {
    /// The circles of tasks that wait for each other and can never go on.
    pub fn deadlocks(&self) -> Vec<Deadlock> {
        let mut blocked = self.blocked();
        // Customers may come at any time.
        blocked.retain(|(_, awaits)| match awaits {
            Awaits::Request(socket) => !self.workload.requests.has_customers(socket),
            _ => true,
        });
        if blocked.is_empty() {
            return Vec::new();
        }
        let waiting: Vec<Waiting> =
            blocked.iter().map(|(task, awaits)| self.waiting(*task, awaits)).collect();
        let is_over = |task: usize| self.tasks[task].cursor.done;
        let circles = circles(&waiting, |task| !is_over(task));
        circles.into_iter().map(|circle| self.named(&circle, &blocked)).collect()
    }

    fn waiting(&self, task: TaskIx, awaits: &Awaits) -> Waiting {
        let of_all = |mentions: &dyn Fn(&Event) -> bool| -> Vec<usize> {
            let may = |definition: &Definition| self.may(definition, mentions);
            let definition =
                |index: usize| &self.workload.definitions[self.tasks[index].definition as usize];
            (0..self.tasks.len()).filter(|index| may(definition(*index))).collect()
        };
        let index_of = |names: &[String], name: &String| {
            names.iter().position(|n| n == name).unwrap_or(usize::MAX) as u32
        };
        let socket = |name: &String| self.workload.requests.socket(name).unwrap_or(u32::MAX);
        let receive = |name: &String| {
            let wanted = socket(name);
            of_all(
                &|e| matches!(e, Event::Socket(SocketEvent::Recv { socket }) if *socket == wanted),
            )
        };
        let mut needs = 1;
        let wakers = match awaits {
            Awaits::Resume => {
                let own = Some(self.tasks[task.0 as usize].definition);
                of_all(
                    &|e| matches!(e, Event::Task(TaskEvent::Resume { definition }) if *definition == own),
                )
            }
            Awaits::Semaphore(name) => {
                let wanted = index_of(&self.workload.semaphores, name);
                of_all(
                    &|e| matches!(e, Event::Meeting(MeetingEvent::SemPost { semaphore }) if *semaphore == wanted),
                )
            }
            Awaits::Barrier(name) => {
                let barriers = &self.workload.barriers;
                let wanted = barriers.iter().position(|b| b.name == *name).unwrap_or(0);
                let comes = |e: &Event| {
                    matches!(e, Event::Meeting(MeetingEvent::Barrier { barrier })
                        if *barrier as usize == wanted)
                };
                // Forks may come as well, any number of them.
                if !self.forks_one_that(&comes) {
                    needs = self.sync.barriers.missing(wanted, barriers[wanted].participants);
                }
                of_all(&comes)
            }
            Awaits::Condition(name) => {
                let wanted = index_of(&self.workload.conditions, name);
                of_all(&|e| {
                    matches!(e, Event::Lock(LockEvent::Signal { condition }
                        | LockEvent::Broad { condition }
                        | LockEvent::Sync { condition, .. }) if *condition == wanted)
                })
            }
            Awaits::Request(name) => {
                let wanted = socket(name);
                of_all(&|e| {
                    matches!(e, Event::Socket(SocketEvent::Send { socket, .. })
                        if *socket == wanted)
                })
            }
            Awaits::Room(name) => receive(name),
            Awaits::Answer(name) => match self.traffic.server_of(task) {
                Some(server) => vec![server.0 as usize],
                None => receive(name),
            },
            Awaits::Mutex(name) => {
                let wanted = index_of(&self.workload.mutexes, name);
                let mut wakers = of_all(&|e| frees(e, wanted));
                // Whoever takes it first has to wait as well; others free it without asking.
                let locks = |index: &usize| {
                    let definition = self.tasks[*index].definition as usize;
                    let locks = |e: &Event| matches!(e, Event::Lock(LockEvent::Lock { mutex }) if *mutex == wanted);
                    self.workload.definitions[definition].events().any(locks)
                };
                let owner = self.sync.mutexes.owner(wanted).map(|t| t.0 as usize);
                wakers.retain(|index| Some(*index) == owner || !locks(index));
                if let Some(owner) = owner.filter(|owner| !wakers.contains(owner)) {
                    wakers.push(owner);
                }
                wakers
            }
        };
        Waiting { task: task.0 as usize, wakers, needs }
    }

    /// Whether the task has such an event, or forks one that has.
    fn may(&self, definition: &Definition, mentions: &dyn Fn(&Event) -> bool) -> bool {
        let mut seen = vec![false; self.workload.definitions.len()];
        let mut open = vec![definition];
        while let Some(definition) = open.pop() {
            for event in definition.events() {
                if mentions(event) {
                    return true;
                }
                if let Event::Task(TaskEvent::Fork { definition }) = event {
                    let index = *definition as usize;
                    if !std::mem::replace(&mut seen[index], true) {
                        open.push(&self.workload.definitions[index]);
                    }
                }
            }
        }
        false
    }

    /// Whether any task of the file forks one that has such an event.
    fn forks_one_that(&self, mentions: &dyn Fn(&Event) -> bool) -> bool {
        let definitions = &self.workload.definitions;
        definitions.iter().flat_map(Definition::events).any(|event| match event {
            Event::Task(TaskEvent::Fork { definition }) => {
                self.may(&definitions[*definition as usize], mentions)
            }
            _ => false,
        })
    }

    fn named(&self, circle: &[usize], blocked: &[(TaskIx, Awaits)]) -> Deadlock {
        let awaits = |task: usize| {
            let found = blocked.iter().find(|(t, _)| t.0 as usize == task);
            found.map_or(Awaits::Resume, |(_, awaits)| awaits.clone())
        };
        let wanted: Vec<Awaits> = circle.iter().map(|task| awaits(*task)).collect();
        let link = |task: usize| {
            let mutexes = self.workload.mutexes.iter().enumerate();
            let held = mutexes.filter(|(index, name)| {
                let owner = self.sync.mutexes.owner(*index as u32);
                owner.is_some_and(|o| o.0 as usize == task)
                    && wanted.contains(&Awaits::Mutex((*name).clone()))
            });
            Link {
                task: self.tasks[task].name.clone(),
                holds: held.map(|(_, name)| name.clone()).collect(),
                awaits: awaits(task),
            }
        };
        Deadlock(circle.iter().map(|task| link(*task)).collect())
    }
}

fn frees(event: &Event, wanted: u32) -> bool {
    match event {
        Event::Lock(
            LockEvent::Unlock { mutex }
            | LockEvent::Wait { mutex, .. }
            | LockEvent::Sync { mutex, .. },
        ) => *mutex == wanted,
        _ => false,
    }
}
