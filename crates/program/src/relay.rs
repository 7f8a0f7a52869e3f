// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs one after the other, as `scx_loader` switches them: the one that runs is sent `SIGINT`,
//! and when it has ended the next one is started. In the machine they are one task.

use crate::error::ProgramError;
use crate::launch::Launch;
use crate::log::Log;
use crate::program::Program;
use crate::report::Report;
use rota_machine::consts::BOOT_NS;
use rota_machine::user_half::{Live, Step, UserHalf};
use rota_object::image::{Image, StructOps};
use rota_vm::host::Host as _;
use std::collections::VecDeque;

/// A program that follows another.
#[derive(Clone, Debug)]
pub struct Switch {
    /// When the one before is to end, in nanoseconds from the start of the run.
    pub at_ns: u64,
    /// The next one.
    pub launch: Launch,
}

/// Programs that follow each other.
pub struct Relay {
    /// `None`: the next one is to be started at its time.
    now: Option<Program>,
    next: VecDeque<Switch>,
    /// The one that runs was sent the signal.
    is_told: bool,
    report: Report,
    log: Log,
}

impl Relay {
    /// This program and then others, in the order of their times.
    ///
    /// # Errors
    /// If they cannot share what they print to.
    pub fn new(first: Program, next: Vec<Switch>) -> Result<Self, ProgramError> {
        let (report, log) = (first.report(), first.share_log()?);
        Ok(Self { now: Some(first), next: next.into(), is_told: false, report, log })
    }

    /// When the next switch is due, by the machine's monotonic clock.
    fn due_ns(&self) -> Option<u64> {
        self.next.front().map(|switch| switch.at_ns.saturating_add(BOOT_NS))
    }

    /// The program that goes on; or what there is to do until one does.
    fn current(&mut self, now_ns: u64) -> Result<&mut Program, Step> {
        let due_ns = self.due_ns();
        let is_due = due_ns.is_some_and(|at_ns| at_ns <= now_ns);
        if self.now.is_none() {
            if let Some(at_ns) = due_ns.filter(|_| !is_due) {
                return Err(Step::SleepUntil { at_ns });
            }
            let start = |switch: Switch| {
                Program::start_after(switch.launch, self.report.clone(), &self.log)
            };
            let started = self.next.pop_front().map(start);
            match started {
                Some(Ok(program)) => self.now = Some(program),
                Some(Err(error)) => self.report.fail(error),
                None => {}
            }
            self.is_told = false;
        } else if is_due && !std::mem::replace(&mut self.is_told, true) {
            if let Some(program) = &mut self.now {
                program.interrupt();
            }
        }
        self.now.as_mut().ok_or(Step::Exit { status: 1 })
    }
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("now", &self.now).finish_non_exhaustive()
    }
}

impl UserHalf for Relay {
    fn attach(&mut self, live: Live<'_>) -> Result<StructOps, String> {
        let first = self.now.as_mut().ok_or("there is no program")?;
        first.attach(live)
    }

    fn go_on(&mut self, live: Live<'_>) -> Step {
        let Live { rt, system } = live;
        let now_ns = system.now_ns();
        let step = match self.current(now_ns) {
            Ok(program) => program.go_on(Live { rt, system }),
            Err(step) => return step,
        };
        if matches!(step, Step::Exit { .. }) && self.report.has_failed() {
            return step;
        }
        let due_ns = self.due_ns().filter(|_| !self.is_told);
        match (step, due_ns) {
            (Step::Exit { status }, _) if !self.next.is_empty() => {
                self.report.end(now_ns.saturating_sub(BOOT_NS), status);
                self.now = None;
                // its link is closed with it
                Step::Detach
            }
            (Step::SleepUntil { at_ns }, Some(due_ns)) => {
                Step::SleepUntil { at_ns: at_ns.min(due_ns) }
            }
            (Step::WaitUntil { at_ns }, Some(due_ns)) => {
                Step::WaitUntil { at_ns: at_ns.min(due_ns) }
            }
            (Step::Sleep, Some(at_ns)) => Step::WaitUntil { at_ns },
            (step, _) => step,
        }
    }

    fn image(&mut self) -> Option<Image> {
        self.now.as_mut()?.image()
    }

    fn table(&mut self) -> Option<StructOps> {
        self.now.as_mut()?.table()
    }
}
