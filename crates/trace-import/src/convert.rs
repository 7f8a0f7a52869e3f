// SPDX-License-Identifier: MIT OR Apache-2.0
//! From records to the events that `rota record` gives, too.
//!
//! What the stream promises holds even where records were lost: a CPU runs one task at a time,
//! a task runs on one CPU at a time, and it is named before it does anything.
//!
//! A wakeup has the time and place where it began (`sched_waking`), but not before the task had
//! left its CPU. `sched_wakeup` of a task that still runs says that it simply goes on.

use crate::error::Fault;
use crate::facts::{Counts, Lost, TaskFacts, MOST_CPUS};
use crate::kernel_threads;
use crate::record::{Left, Named, Record, Waker, What};
use crate::task::{State, Task};
use crate::weight;
use rota_trace::{Cause, Event, EventKind, OffCpu, Sink};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The parent of kernel threads.
const KTHREADD: u32 = 2;
/// Without `sched_wakeup`, a task that is woken so long before it sleeps is taken to be woken from
/// that sleep: the waker waits for it to leave its CPU, which is a matter of microseconds.
const ABOUT_TO_SLEEP_NS: u64 = 100_000;

/// Makes events of records.
#[derive(Debug)]
pub(crate) struct Converter {
    /// So many, and no more, if that is known.
    cpus: Option<u32>,
    begin_ns: Option<u64>,
    now_ns: u64,
    tasks: FxHashMap<u32, Task>,
    /// Of each CPU that was seen, the task that runs; 0: none.
    running: Vec<Option<u32>>,
    pub(crate) seen: Vec<bool>,
    pub(crate) counts: Counts,
    pub(crate) lost: BTreeMap<u32, Lost>,
    pub(crate) late: u64,
    pub(crate) repaired: u64,
    pub(crate) unexplained: u64,
    pub(crate) events: u64,
    pub(crate) facts: BTreeMap<u32, TaskFacts>,
    /// Some record said whether an interrupt woke the task; some did not.
    pub(crate) knows_interrupts: bool,
    pub(crate) hides_interrupts: bool,
    pub(crate) knows_prio: bool,
}

impl Converter {
    /// For a machine with so many CPUs, if that is known.
    pub(crate) fn new(cpus: Option<u32>) -> Self {
        Self {
            cpus,
            begin_ns: None,
            now_ns: 0,
            tasks: FxHashMap::default(),
            running: Vec::new(),
            seen: Vec::new(),
            counts: Counts::default(),
            lost: BTreeMap::new(),
            late: 0,
            repaired: 0,
            unexplained: 0,
            events: 0,
            facts: BTreeMap::new(),
            knows_interrupts: false,
            hides_interrupts: false,
            knows_prio: false,
        }
    }

    /// Time of the first record of the scheduler, and from there to the last one.
    pub(crate) fn span(&self) -> (u64, u64) {
        let begin_ns = self.begin_ns.unwrap_or(0);
        (begin_ns, self.now_ns)
    }

    /// Gives the events of a record to a sink.
    pub(crate) fn convert(&mut self, record: Record, sink: &mut dyn Sink) -> Result<(), Fault> {
        let Record { time_ns, cpu, what } = record;
        match what {
            What::Name { pid, comm } => {
                self.learn(Named { pid, comm, prio: None }, sink);
                return Ok(());
            }
            What::Process { pid, process, parent } => {
                self.process(pid, process, parent);
                return Ok(());
            }
            _ => {}
        }
        self.see(cpu)?;
        if let What::Lost { count } = what {
            let lost = self.lost.entry(cpu).or_default();
            lost.gaps += 1;
            lost.records = lost.records.saturating_add(count.unwrap_or(0));
            return Ok(());
        }
        let begin_ns = *self.begin_ns.get_or_insert(time_ns);
        let time_ns = time_ns.saturating_sub(begin_ns);
        self.late += u64::from(time_ns < self.now_ns);
        self.now_ns = self.now_ns.max(time_ns);
        self.scheduler(cpu, what, sink);
        Ok(())
    }

    fn see(&mut self, cpu: u32) -> Result<(), Fault> {
        if self.seen.get(cpu as usize) == Some(&true) {
            return Ok(());
        }
        let most = self.cpus.unwrap_or(MOST_CPUS);
        if cpu >= most {
            return Err(Fault::file(format!(
                "a record of CPU {cpu}: expected at most {}",
                most - 1
            )));
        }
        let len = self.seen.len().max(cpu as usize + 1);
        self.seen.resize(len, false);
        self.running.resize(len, None);
        self.seen[cpu as usize] = true;
        Ok(())
    }

    fn scheduler(&mut self, cpu: u32, what: What, sink: &mut dyn Sink) {
        match what {
            What::Switch { prev, left, next } => {
                self.counts.switches += 1;
                self.learn(prev, sink);
                self.learn(next, sink);
                self.leave(prev.pid, left, cpu, sink);
                if next.pid != 0 {
                    self.enter(next.pid, cpu, sink);
                    return;
                }
                self.running[cpu as usize] = Some(0);
                // After a task that sleeps or has ended nothing else is to be expected.
                if prev.pid != 0 && left == Left::Runnable {
                    self.give(Some(cpu), EventKind::Idle, sink);
                }
            }
            What::Waking { task, by } => {
                self.counts.wakings += 1;
                self.learn(task, sink);
                let waker = self.waker(by);
                match self.task(task.pid).state {
                    State::Sleeping | State::Unknown => self.wake(task.pid, waker, cpu, sink),
                    State::Running(_) => {
                        let now_ns = self.now_ns;
                        self.task(task.pid).woken = Some((now_ns, cpu, waker));
                    }
                    State::Runnable => {}
                }
            }
            What::Wakeup { task, by } => {
                self.counts.wakeups += 1;
                self.learn(task, sink);
                let waker = self.waker(by);
                match self.task(task.pid).state {
                    State::Sleeping | State::Unknown => self.wake(task.pid, waker, cpu, sink),
                    State::Running(_) | State::Runnable => self.task(task.pid).woken = None,
                }
            }
            What::WakeupNew { task, by } => {
                self.counts.new_wakeups += 1;
                self.learn(task, sink);
                // The parent does it, with interrupts disabled and not in one.
                self.wake(task.pid, by.pid, cpu, sink);
            }
            What::Fork { parent, child, comm } => {
                self.counts.forks += 1;
                self.begin_life(child, parent, sink);
                self.learn(Named { pid: child, comm, prio: None }, sink);
                self.tell(child, Some(cpu), EventKind::Fork { pid: child, parent }, sink);
            }
            What::Exit { pid } => {
                self.counts.exits += 1;
                if !std::mem::replace(&mut self.task(pid).exited, true) {
                    self.tell(pid, Some(cpu), EventKind::Exit { pid }, sink);
                }
            }
            What::Migrate { .. } => self.counts.migrations += 1,
            What::Name { .. } | What::Process { .. } | What::Lost { .. } => {}
        }
    }

    fn task(&mut self, pid: u32) -> &mut Task {
        self.tasks.entry(pid).or_default()
    }

    fn give(&mut self, cpu: Option<u32>, kind: EventKind, sink: &mut dyn Sink) {
        self.events += 1;
        sink.event(&Event { time_ns: self.now_ns, cpu, kind });
    }

    /// An event of a task, after its name.
    fn tell(&mut self, pid: u32, cpu: Option<u32>, kind: EventKind, sink: &mut dyn Sink) {
        self.introduce(pid, sink);
        self.give(cpu, kind, sink);
    }

    /// Names a task, unless that was done. One that has no name is named by its number.
    fn introduce(&mut self, pid: u32, sink: &mut dyn Sink) {
        let task = self.tasks.entry(pid).or_default();
        if std::mem::replace(&mut task.introduced, true) {
            return;
        }
        let kernel_thread =
            task.kernel_thread.unwrap_or_else(|| kernel_threads::is_name(&task.name));
        let name = match (task.named, kernel_thread) {
            (false, _) => format!("pid {pid}"),
            (true, true) => format!("[{}]", task.name),
            (true, false) => task.name.clone(),
        };
        let weight = task.weight;
        let settings = task.settings(pid);
        let facts = self.facts.entry(pid).or_default();
        (facts.name, facts.kernel_thread) = (name.clone(), kernel_thread);
        self.give(None, EventKind::Task { pid, name, weight, instance_of: None }, sink);
        for kind in settings {
            self.give(None, kind, sink);
        }
    }

    /// What a record says of a task.
    fn learn(&mut self, said: Named, sink: &mut dyn Sink) {
        let Named { pid, comm, prio } = said;
        if pid == 0 {
            return;
        }
        let task = self.tasks.entry(pid).or_default();
        let mut changed = false;
        if comm[0] != 0 && comm != task.comm {
            let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
            task.name = String::from_utf8_lossy(&comm[..end]).into_owned();
            task.comm = comm;
            task.named = true;
            changed = true;
        }
        if let Some(prio) = prio {
            self.knows_prio = true;
            // One that has a real-time priority, maybe lent, keeps its weight.
            if let Some(weight) = weight::of_prio(prio).filter(|weight| *weight != task.weight) {
                task.weight = weight;
                changed = true;
            }
            changed |= task.has_prio(prio);
            let facts = self.facts.entry(pid).or_default();
            facts.prio = Some(prio);
        }
        if changed && task.introduced {
            task.introduced = false;
            self.introduce(pid, sink);
        }
    }

    fn process(&mut self, pid: u32, process: u32, parent: Option<u32>) {
        if pid == 0 {
            return;
        }
        self.task(pid).process = process;
        let facts = self.facts.entry(pid).or_default();
        facts.process = Some(process);
        if let Some(parent) = parent {
            facts.parent = Some(parent);
            self.task(pid).kernel_thread = Some(parent == KTHREADD || pid == KTHREADD);
        }
    }

    fn waker(&mut self, by: Waker) -> u32 {
        match by.interrupt {
            Some(interrupt) => {
                self.knows_interrupts = true;
                if interrupt {
                    0
                } else {
                    by.pid
                }
            }
            None => {
                self.hides_interrupts = true;
                by.pid
            }
        }
    }

    /// A number comes into use again if the end of its last task was lost.
    fn begin_life(&mut self, pid: u32, parent: u32, sink: &mut dyn Sink) {
        if let State::Running(on) = self.task(pid).state {
            self.repaired += 1;
            self.off_cpu(pid, OffCpu::Runnable, Some(on), sink);
        }
        let facts = self.facts.entry(pid).or_default();
        // What perf says of its process has come before.
        *facts = TaskFacts { parent: Some(parent), process: facts.process, ..TaskFacts::default() };
        let process = facts.process.unwrap_or(pid);
        let forker = self.tasks.get(&parent);
        let (weight, policy) = forker.map_or((100, None), |forker| (forker.weight, forker.policy));
        let kernel_thread = Some(parent == KTHREADD);
        *self.task(pid) = Task { weight, policy, process, kernel_thread, ..Task::default() };
    }

    fn wake(&mut self, pid: u32, waker: u32, cpu: u32, sink: &mut dyn Sink) {
        let task = self.task(pid);
        if matches!(task.state, State::Unknown | State::Sleeping) {
            task.state = State::Runnable;
            task.woken = None;
            self.tell(pid, Some(cpu), EventKind::Wakeup { pid, waker }, sink);
        }
    }

    /// The task that a CPU switches from leaves it; 0: none.
    fn leave(&mut self, pid: u32, left: Left, cpu: u32, sink: &mut dyn Sink) {
        let known = self.running[cpu as usize];
        if let Some(other) = known.filter(|other| *other != pid) {
            self.repaired += 1;
            if other != 0 {
                self.off_cpu(other, OffCpu::Runnable, Some(cpu), sink);
            }
        }
        if pid == 0 {
            return;
        }
        if self.task(pid).state != State::Running(cpu) {
            // It ran when the trace began; anything else is a loss.
            self.repaired += u64::from(known.is_some());
            self.enter(pid, cpu, sink);
        }
        let why = match left {
            Left::Runnable => OffCpu::Runnable,
            Left::Sleep { deep: false } => OffCpu::Sleep,
            Left::Sleep { deep: true } => {
                let call = "".into();
                let cause = Cause::Block { pid, call, uninterruptible: true, absolute: false };
                self.tell(pid, Some(cpu), EventKind::Cause(cause), sink);
                OffCpu::Sleep
            }
            Left::Exit => OffCpu::Exit,
        };
        if why == OffCpu::Exit && !std::mem::replace(&mut self.task(pid).exited, true) {
            self.tell(pid, Some(cpu), EventKind::Exit { pid }, sink);
        }
        let woken = self.task(pid).woken.take();
        self.off_cpu(pid, why, Some(cpu), sink);
        let Some((woken_ns, on, waker)) = woken.filter(|_| why == OffCpu::Sleep) else { return };
        let certain = self.counts.wakeups > 0;
        if certain || self.now_ns - woken_ns <= ABOUT_TO_SLEEP_NS {
            self.wake(pid, waker, on, sink);
        }
    }

    fn off_cpu(&mut self, pid: u32, why: OffCpu, cpu: Option<u32>, sink: &mut dyn Sink) {
        if let Some(cpu) = cpu {
            self.running[cpu as usize] = Some(0);
        }
        self.tell(pid, cpu, EventKind::SwitchOut { pid, why }, sink);
        let state = match why {
            OffCpu::Runnable => State::Runnable,
            OffCpu::Sleep => State::Sleeping,
            // Its number may come again, for another task.
            OffCpu::Exit => {
                self.tasks.remove(&pid);
                return;
            }
        };
        self.task(pid).state = state;
    }

    /// A task comes onto a CPU, which runs none.
    fn enter(&mut self, pid: u32, cpu: u32, sink: &mut dyn Sink) {
        if let Some(other) = self.running[cpu as usize].filter(|other| *other != 0) {
            self.repaired += 1;
            self.off_cpu(other, OffCpu::Runnable, Some(cpu), sink);
        }
        self.introduce(pid, sink);
        match self.task(pid).state {
            State::Running(elsewhere) => {
                self.repaired += 1;
                self.off_cpu(pid, OffCpu::Runnable, Some(elsewhere), sink);
            }
            State::Sleeping => self.unexplained += 1,
            State::Unknown | State::Runnable => {}
        }
        let task = self.task(pid);
        let from = task.last_cpu.replace(cpu).filter(|from| *from != cpu);
        task.state = State::Running(cpu);
        task.woken = None;
        if let Some(from) = from {
            self.give(Some(cpu), EventKind::Migrate { pid, from, to: cpu }, sink);
        }
        self.give(Some(cpu), EventKind::SwitchIn { pid }, sink);
        self.running[cpu as usize] = Some(pid);
    }
}
