// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadlocks of whole workloads: against a plain search, and of many tasks.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::event::{Event, LockEvent, MeetingEvent, SocketEvent, TaskEvent};
use crate::model::Definition;
use crate::parse;
use crate::sync::{plain_circles, Deadlock, Link, Waiting};

impl Runner {
    /// What [`Runner::deadlocks`] finds, by asking for every task about every other.
    fn plain_deadlocks(&self) -> Vec<Deadlock> {
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
            blocked.iter().map(|(task, awaits)| self.plain_waiting(*task, awaits)).collect();
        let is_over =
            |task: usize| self.tasks[task].cursor.done && self.tasks[task].leaves.is_none();
        let circles = plain_circles(&waiting, |task| !is_over(task));
        circles.into_iter().map(|circle| self.plainly_named(&circle, &blocked)).collect()
    }

    fn plain_waiting(&self, task: TaskIx, awaits: &Awaits) -> Waiting {
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
            Awaits::Resume(_) => {
                let own = Some(self.tasks[task.0 as usize].definition);
                of_all(&|e| matches!(e, Event::Task(TaskEvent::Resume { name }) if *name == own))
            }
            Awaits::Semaphore(name) => {
                let wanted = index_of(&self.workload.semaphores, name);
                of_all(&|e| match e {
                    Event::Meeting(MeetingEvent::SemPost { semaphore }) => *semaphore == wanted,
                    Event::Task(TaskEvent::Exit { semaphore }) => *semaphore == Some(wanted),
                    _ => false,
                })
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
            Awaits::Bytes(name) => of_all(&|e| self.moves(e, name, true)),
            Awaits::Space(name) => of_all(&|e| self.moves(e, name, false)),
            Awaits::Request(name) => {
                let wanted = socket(name);
                of_all(&|e| {
                    matches!(e, Event::Socket(SocketEvent::Send { socket, .. })
                        if *socket == wanted)
                })
            }
            Awaits::Room(name) => receive(name),
            Awaits::Answer(name) => match self.traffic.servers().get(&task) {
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

    /// Whether an event puts into a stream, or takes from it.
    fn moves(&self, event: &Event, stream: &str, puts: bool) -> bool {
        let Event::Flow(flow) = event else { return false };
        self.workload.flows[*flow as usize].transfers.iter().any(|transfer| {
            let name = &self.workload.streams[transfer.stream as usize].name;
            transfer.puts == puts && name == stream
        })
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
                if let Event::Task(TaskEvent::Fork { definition, .. }) = event {
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
            Event::Task(TaskEvent::Fork { definition, .. }) => {
                self.may(&definitions[*definition as usize], mentions)
            }
            _ => false,
        })
    }

    fn plainly_named(&self, circle: &[usize], blocked: &[(TaskIx, Awaits)]) -> Deadlock {
        let awaits = |task: usize| {
            let found = blocked.iter().find(|(t, _)| t.0 as usize == task);
            found.map_or(Awaits::Resume(u32::MAX), |(_, awaits)| awaits.clone())
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

fn start(text: &str) -> SeededRunner {
    let workload = parse("w.json", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    SeededRunner::new(Arc::new(workload), 1)
}

const TASKS: usize = 4;

/// Something that a task may do to another, or one of the places where they meet.
fn event() -> impl Strategy<Value = String> {
    let kinds = prop_oneof![
        1 => Just(r#""fork": "t%""#),
        1 => Just(r#""suspend": """#),
        1 => Just(r#""resume": "t%""#),
        2 => Just(r#""barrier": "b%""#),
        1 => Just(r#""sem_post": "s%""#),
        1 => Just(r#""sem_wait": "s%""#),
        4 => Just(r#""lock": "m%""#),
        2 => Just(r#""unlock": "m%""#),
        1 => Just(r#""signal": "c%""#),
        1 => Just(r#""broad": "c%""#),
        1 => Just(r#""wait": {"ref": "c%", "mutex": "m%"}"#),
        1 => Just(r#""sync": {"ref": "c%", "mutex": "m%"}"#),
        2 => Just(r#""send": {"to": "x%"}"#),
        2 => Just(r#""send": {"to": "x%", "wait": true}"#),
        2 => Just(r#""recv": "x%", "reply": "x%""#),
    ];
    (kinds, 0..TASKS - 1).prop_map(|(kind, of)| kind.replace('%', &of.to_string()))
}

fn task() -> impl Strategy<Value = String> {
    let events = proptest::collection::vec(event(), 1..6);
    let parts = (0..4usize, prop_oneof![Just(-1i64), 1..3i64], events);
    parts.prop_map(|(instances, count, events)| {
        let events = events.join(", ");
        format!(r#"{{"instance": {instances}, "loop": {count}, {events}, "run": 1}}"#)
    })
}

/// Lets the tasks run in turn and calls `look` before each step.
fn run_in_turn(runner: &mut SeededRunner, steps: usize, mut look: impl FnMut(&Runner)) {
    let mut ready: std::collections::VecDeque<TaskIx> = runner.initial().map(|(t, _)| t).collect();
    for step in 0..steps {
        look(runner);
        let Some(task) = ready.pop_front() else { return };
        match runner.next(task, step as u64 * 1_000_000) {
            Step::Block | Step::Exit | Step::Stuck(_) => continue,
            Step::Wake { tasks, .. } => ready.extend(tasks.into_iter().filter(|t| *t != task)),
            Step::Fork { child } => ready.push_back(child),
            _ => {}
        }
        ready.push_back(task);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 1 << 20, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn it_finds_what_the_plain_search_finds(
        tasks in proptest::collection::vec(task(), TASKS),
        inherit: bool,
        backlog in 1..3u32,
    ) {
        let tasks: Vec<String> =
            tasks.iter().enumerate().map(|(i, task)| format!(r#""t{i}": {task}"#)).collect();
        let tasks = tasks.join(", ");
        let sockets = (0..TASKS - 1).filter(|i| tasks.contains(&format!(r#""recv": "x{i}""#)));
        let sockets: Vec<String> = sockets
            .map(|i| format!(r#""x{i}": {{"kind": "unix", "backlog": {backlog}}}"#))
            .collect();
        let sockets = sockets.join(", ");
        let text = format!(
            r#"{{"global": {{"pi_enabled": {inherit}}}, "sockets": {{{sockets}}},
                "tasks": {{{tasks}}}}}"#
        );
        let workload = parse("w.json", &text);
        prop_assume!(workload.is_ok());
        let Ok(workload) = workload else { return Ok(()) };
        let mut runner = SeededRunner::new(Arc::new(workload), 1);
        let mut differs = None;
        run_in_turn(&mut runner, 200, |runner| {
            let (found, expected) = (runner.deadlocks(), runner.plain_deadlocks());
            if found != expected {
                differs.get_or_insert((found, expected));
            }
        });
        prop_assert_eq!(differs, None, "{}", text);
    }
}

#[test]
fn a_hundred_thousand_tasks_at_two_barriers() {
    let mut runner = start(
        r#"{"tasks": {"left": {"instance": 50000, "barrier": "a", "barrier1": "b"},
            "right": {"instance": 50000, "barrier": "b", "barrier1": "a"}}}"#,
    );
    run_in_turn(&mut runner, 100_001, |_| {});
    let told: Vec<String> = runner.deadlocks().iter().map(Deadlock::to_string).collect();
    assert_eq!(told, [r#"left-0 waits at barrier "a"; left-1 waits at barrier "a""#]);
}

#[test]
fn thousands_of_philosophers() {
    const GUESTS: usize = 20_000;
    let guest = |g: usize| {
        let right = (g + 1) % GUESTS;
        format!(r#""g{g}": {{"lock": "f{g}", "run": 1, "lock1": "f{right}", "unlock": "f{g}"}}"#)
    };
    let guests: Vec<String> = (0..GUESTS).map(guest).collect();
    let mut runner = start(&format!(r#"{{"tasks": {{{}}}}}"#, guests.join(", ")));
    run_in_turn(&mut runner, 3 * GUESTS + 1, |_| {});
    let deadlocks = runner.deadlocks();
    assert_eq!(deadlocks.len(), 1);
    assert_eq!(deadlocks[0].0.len(), GUESTS);
    let last = &deadlocks[0].0[GUESTS - 1];
    assert_eq!(last.holds, [format!("f{}", GUESTS - 1)]);
    assert_eq!(last.awaits, Awaits::Mutex("f0".to_owned()));
}
