// SPDX-License-Identifier: MIT OR Apache-2.0
//! The user-space half of a scheduler: the program that loads its BPF object, and goes on while the
//! scheduler is attached. In the machine it is a task like any other, there before all of them: the
//! scheduler that it brings schedules it, too. What it does next comes from a [`UserHalf`].

use crate::consts::BOOT_NS;
use crate::event_queue::Due;
use crate::ops::Ops;
use crate::run::{Machine, RunError};
use crate::system::System;
use crate::task::{comm, State, Task, Tid};
use crate::tasks::LOADER_PID;
use rota_object::image::{Image, StructOps};
use rota_object::set_up::SetUpStep;
use rota_trace::EventKind;
use rota_vm::runtime::Runtime;
use rota_workload::{
    Identity, Policy, Settings, Step as TaskStep, TaskIx, WorkKind, INSTANT_LIMIT,
};
use std::sync::Arc;

mod asks;
mod farewell;
pub mod groups;

/// Process id of the program: known before the machine is made, as programs write it into their
/// objects' constants.
pub const PROGRAM_PID: u32 = LOADER_PID - 1;

/// The program is no task of the workload.
const NO_IX: TaskIx = TaskIx(u32::MAX);

/// Of root, as who loads a scheduler must be.
const IDENTITY: Identity = Identity { uid: 0, session: 1, kthread: false, bound: false };

const SETTINGS: Settings = Settings {
    policy: Policy::Other,
    priority: 0,
    weight: None,
    share: None,
    cpus: None,
    group: None,
    migrate_disable: false,
    core_cookie: None,
    mem_nodes: None,
    util_min: None,
    util_max: None,
    slice_ns: None,
    dl_period_ns: None,
    dl_deadline_ns: None,
    work: WorkKind { class: None, working_set_kib: None, dram_share: None },
};

/// Scheduler and machine at an instant at which the program acts: all that it does to maps, and the
/// programs of the object that it runs, take effect then, on the CPU of its task.
pub struct Live<'a> {
    /// The loaded object.
    pub rt: &'a mut Runtime<System>,
    /// The simulated kernel.
    pub system: &'a mut System,
}

/// What the program does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Uses the CPU.
    Run {
        /// For this many nanoseconds.
        ns: u64,
    },
    /// Sleeps, whatever happens meanwhile.
    SleepUntil {
        /// Until this time of the machine's monotonic clock, `Host::now_ns` of the system, in
        /// nanoseconds.
        at_ns: u64,
    },
    /// Sleeps until [`System::wake_program`], or until a time at the latest.
    WaitUntil {
        /// As of [`Step::SleepUntil`].
        at_ns: u64,
    },
    /// Sleeps until [`System::wake_program`].
    Sleep,
    /// `sched_yield()`.
    Yield,
    /// Has loaded another object ([`UserHalf::image`]), which takes the place of the one before. It
    /// is asked again at once.
    Load,
    /// Attaches the scheduler of the object that it has loaded ([`UserHalf::table`]), and waits
    /// until that is done.
    Attach,
    /// Detaches its scheduler, and waits until that is gone.
    Detach,
    /// Ends. The scheduler is detached, as the last descriptor of its link is closed.
    Exit {
        /// Exit status, as `$?` has it.
        status: i32,
    },
}

/// The program, as the machine sees it.
pub trait UserHalf {
    /// Before the machine starts: goes on until the scheduler is attached, and says what its table
    /// of callbacks holds then; or why it never is.
    fn attach(&mut self, live: Live<'_>) -> Result<StructOps, String>;

    /// Before it is asked to attach: [`UserHalf::set_up`] is wanted.
    fn record_set_up(&mut self) {}

    /// What it did to its object until it attached, if that was wanted; empty of one that does not
    /// tell.
    fn set_up(&self) -> &[SetUpStep] {
        &[]
    }

    /// Its task has the CPU and is done with its last step: what it does next. Once the scheduler
    /// has left, it is asked for a while without a machine around it, so that it learns of that and
    /// ends.
    fn go_on(&mut self, live: Live<'_>) -> Step;

    /// The object of [`Step::Load`].
    fn image(&mut self) -> Option<Image> {
        None
    }

    /// What the table of callbacks of [`Step::Attach`] holds.
    fn table(&mut self) -> Option<StructOps> {
        None
    }
}

/// The program's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramExit {
    /// When, in nanoseconds of simulated time.
    pub at_ns: u64,
    /// Its exit status.
    pub status: i32,
}

/// What the machine keeps of the program.
#[derive(Debug)]
pub(crate) struct Program {
    t: Tid,
    /// Its scheduler was attached: it goes on.
    started: bool,
    /// It waits until its scheduler is attached, or has gone.
    in_transition: bool,
    /// Its scheduler has left, and nothing but the program goes on.
    alone: bool,
    /// When its sleep ends; `None`: when it is woken.
    until_ns: Option<u64>,
    /// It may be woken before.
    waits: bool,
    /// It watches cgroups, and is woken when one changes.
    watches_groups: bool,
    /// The CPU from which it was woken.
    woken_on: Option<u32>,
    /// What it asks for its task, and what it does once it has that.
    asks: Option<Settings>,
    pending: Option<Step>,
    /// Instant of the last step, and the steps at it that took no time.
    instant: (u64, u32),
    exit: Option<ProgramExit>,
}

impl Machine {
    /// Has a program with this name, whose task is there from now on.
    pub fn add_program(&mut self, name: &str) {
        let system = &mut self.system;
        let name = comm(name).to_owned();
        let (pid, of) = (PROGRAM_PID, Arc::from(""));
        let mut task = Task::new(NO_IX, pid, pid, name, of, SETTINGS, IDENTITY);
        task.cpus = system.affinity(None);
        let t = system.add_task(task, None);
        system.task_mut(t).class = system.tasks.own_class(t);
        // it waits for the kernel's thread that attaches its scheduler
        system.set_state(t, State::Sleeping);
        system.program = Some(Box::new(Program {
            t,
            started: false,
            in_transition: true,
            alone: false,
            until_ns: None,
            waits: false,
            watches_groups: false,
            woken_on: None,
            asks: None,
            pending: None,
            instant: (0, 0),
            exit: None,
        }));
        system.introduce(t);
        system.emit(None, EventKind::Program { pid });
        system.emit(None, EventKind::Fork { pid, parent: 0 });
    }
}

impl System {
    /// Whether this task is the program.
    #[inline]
    pub(crate) fn is_program(&self, t: Tid) -> bool {
        self.program.as_ref().is_some_and(|program| program.t == t)
    }

    /// Acts as the program before the machine starts: its task is the current one.
    pub(crate) fn as_program<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let current = self.program_task().map_or(self.guest.scratch.loader, |t| self.task(t).addr);
        let before = self.running.this_cpu;
        let result = self.with_current(current, act);
        self.running.this_cpu = before;
        result
    }

    pub(super) fn program_task(&self) -> Option<Tid> {
        self.program.as_ref().map(|program| program.t)
    }

    fn program_has_started(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.started)
    }

    /// How long a CPU has been without a task since the start, in nanoseconds.
    pub fn idle_ns(&self, cpu: u32) -> u64 {
        let rq = self.rq(cpu);
        let uncharged_ns = match rq.curr {
            Some(_) => self.now_ns.saturating_sub(rq.charged_at_ns),
            None => 0,
        };
        self.now_ns.saturating_sub(rq.busy_ns + uncharged_ns)
    }

    /// Something came that the program waits for, as new records in a ring buffer: it is woken on
    /// the CPU that acts now, after what that does (`irq_work_queue()`). Nothing happens if it does
    /// not wait.
    pub fn wake_program(&mut self) {
        let (now_ns, here) = (self.now_ns, self.running.this_cpu);
        let Some(program) = self.program.as_deref_mut().filter(|program| program.waits) else {
            return;
        };
        program.waits = false;
        (program.until_ns, program.woken_on) = (Some(now_ns), Some(here));
        let t = program.t;
        self.queue.wake_at(now_ns, t.0);
    }

    /// The fair class is there: the program was forked under it.
    pub(crate) fn adopt_program(&mut self, o: &mut dyn Ops) {
        let Some(t) = self.program_task() else { return };
        let class = self.tasks.own_class(t);
        self.task_mut(t).class = class;
        self.emit(None, EventKind::SchedClass { pid: PROGRAM_PID, class: class.told() });
        self.fork_task(o, t);
    }

    /// Its scheduler is attached, was refused, or is gone: the program's call returns.
    pub(crate) fn resume_program(&mut self, o: &mut dyn Ops) {
        let Some(program) = self.program.as_deref_mut().filter(|program| program.in_transition)
        else {
            return;
        };
        program.in_transition = false;
        program.started = true;
        let t = program.t;
        self.wake_up(o, t, self.first_online(), 0, 0);
        self.drain_deferred(o);
    }

    /// Whether a scheduler is attached, or on its way in or out (`scx_enable_state()`).
    pub fn has_scheduler(&self) -> bool {
        self.hosted.enabled
    }

    /// Whether the program can load another object for the machine to run.
    pub(crate) fn takes_another(&self) -> bool {
        let alone = self.program.as_ref().is_some_and(|program| program.alone);
        !alone && !self.hosted.enabled
    }

    /// The timer of a sleeping task is due: the CPU on which it is woken, unless it is the program
    /// and sleeps for something else by now.
    pub(crate) fn wakes_on(&mut self, t: Tid) -> Option<u32> {
        let now_ns = self.now_ns;
        if self.is_program(t) {
            let program = self.program.as_deref_mut()?;
            program.until_ns.take_if(|at_ns| *at_ns <= now_ns)?;
            program.waits = false;
            if let Some(cpu) = program.woken_on.take() {
                return Some(cpu);
            }
        }
        Some(self.timer_cpu(self.task(t).cpu))
    }

    /// The program's next step, as one of a task.
    pub(crate) fn program_step(&mut self, o: &mut dyn Ops) -> Result<TaskStep, RunError> {
        let pending = self.program.as_deref_mut().and_then(|program| program.pending.take());
        let next = match pending {
            Some(step) => Some(step),
            None => o.go_on(self)?,
        };
        let next = next.ok_or_else(|| RunError::Program("the scheduler has no program".into()))?;
        let now_ns = self.now_ns;
        let Some(program) = self.program.as_deref_mut() else { return Ok(TaskStep::Exit) };
        if let Some(settings) = program.asks.take() {
            program.pending = Some(next);
            return Ok(TaskStep::Change(Box::new(settings)));
        }
        let takes_none = matches!(next, Step::Run { ns: 0 } | Step::Yield | Step::Detach);
        program.instant = match program.instant {
            (at_ns, steps) if takes_none && at_ns == now_ns => (now_ns, steps + 1),
            _ => (now_ns, 0),
        };
        if program.instant.1 > INSTANT_LIMIT {
            return Err(RunError::Program(format!(
                "the scheduler's program did {INSTANT_LIMIT} steps at {now_ns} ns without using \
                 any time: its calls must cost some"
            )));
        }
        let until_ns = match next {
            Step::SleepUntil { at_ns } | Step::WaitUntil { at_ns } => {
                Some(at_ns.saturating_sub(BOOT_NS).max(now_ns))
            }
            _ => None,
        };
        program.until_ns = until_ns;
        program.waits = matches!(next, Step::WaitUntil { .. } | Step::Sleep);
        program.woken_on = None;
        program.in_transition = match next {
            Step::Attach => true,
            Step::Detach => self.hosted.enabled,
            _ => false,
        };
        Ok(match (next, until_ns) {
            (_, Some(at_ns)) => TaskStep::SleepUntil { at_ns },
            (Step::Run { ns }, _) => TaskStep::Run { work_ns: ns },
            (Step::Yield, _) => TaskStep::Yield,
            (Step::Attach, _) => {
                self.queue.push(now_ns, Due::Load);
                TaskStep::Block
            }
            (Step::Detach, _) if self.hosted.enabled => {
                let what = "the scheduler's program detaches it".to_owned();
                self.emit(None, EventKind::Outside { what });
                self.detach();
                TaskStep::Block
            }
            (Step::Detach, _) => TaskStep::Run { work_ns: 0 },
            (Step::Exit { status }, _) => {
                self.note_program_exit(status);
                TaskStep::Exit
            }
            _ => TaskStep::Block,
        })
    }

    fn note_program_exit(&mut self, status: i32) {
        let at_ns = self.now_ns;
        if let Some(program) = self.program.as_deref_mut() {
            program.exit.get_or_insert(ProgramExit { at_ns, status });
        }
    }

    /// Its task ends (`exit_files()`).
    pub(crate) fn close_program(&mut self, cpu: u32, t: Tid) {
        let exit = self.program_exit().filter(|_| self.is_program(t));
        if let Some(ProgramExit { status, .. }) = exit {
            let what = format!("the scheduler's program exits with status {status}");
            self.emit(Some(cpu), EventKind::Outside { what });
            self.detach();
        }
    }

    pub(crate) fn program_exit(&self) -> Option<ProgramExit> {
        self.program.as_ref().and_then(|program| program.exit)
    }
}
