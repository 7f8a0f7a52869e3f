// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program as a task of the simulated machine.

use crate::kept::Kept;
use crate::play::bpf::OfProgram;
use crate::play::scheduling;
use crate::program::{Program, Turn};
use rota_machine::user_half::{Live, Step, UserHalf};
use rota_object::image::{Image, StructOps};
use rota_object::set_up::SetUpStep;

impl Program {
    /// The program's writes to memory that it shares with its object take effect.
    fn pages_in(&mut self, live: &mut Live<'_>) {
        let Kept { memory, pid, pages, played, .. } = &mut self.kept;
        played.pages_in(live, &mut OfProgram { memory, pid: *pid, pages });
    }

    /// It sees what its object has written there.
    fn pages_out(&mut self, live: &mut Live<'_>) {
        let Kept { memory, pid, pages, played, .. } = &mut self.kept;
        played.pages_out(live, &mut OfProgram { memory, pid: *pid, pages });
    }

    /// What the played kernel did not do for it.
    fn tell_notes(&mut self) {
        let notes = self.kept.played.notes();
        for note in notes.get(self.kept.told_notes..).unwrap_or_default() {
            self.report.tell_unplayed(note);
        }
        self.kept.told_notes = notes.len();
    }

    fn fill(&mut self, live: &mut Live<'_>) -> Result<(), String> {
        let Kept { memory, pid, pages, played, .. } = &mut self.kept;
        played.fill(live, &mut OfProgram { memory, pid: *pid, pages })
    }

    fn next_step(&mut self, live: &mut Live<'_>) -> Step {
        loop {
            match self.turn(Some(live)) {
                Ok(Turn::Again) => {}
                Ok(Turn::Stepped) => {
                    self.used_ns += self.call_ns;
                    self.report.count_call();
                    return Step::Run { ns: self.call_ns };
                }
                Ok(Turn::Attached) => {
                    self.report.count_call();
                    return Step::Attach;
                }
                Ok(Turn::NeedsMachine) => match self.loaded_image() {
                    Ok(image) => {
                        self.image = Some(image);
                        return Step::Load;
                    }
                    Err(error) => {
                        self.report.fail(error);
                        return Step::Exit { status: 1 };
                    }
                },
                Ok(Turn::Yields) => return Step::Yield,
                Ok(Turn::Waits(_)) if self.kept.watches_groups && !live.system.watches_groups() => {
                    // from now on; a change just before is seen by asking once more
                    live.system.watch_groups();
                }
                Ok(Turn::Waits(Some(at_ns))) if self.threads.on_files().is_empty() => {
                    return Step::SleepUntil { at_ns }
                }
                Ok(Turn::Waits(Some(at_ns))) => return Step::WaitUntil { at_ns },
                Ok(Turn::Waits(None)) => return Step::Sleep,
                Ok(Turn::Detached) => {
                    self.report.count_call();
                    return Step::Detach;
                }
                Ok(Turn::Ended(status)) => return Step::Exit { status },
                Err(error) => {
                    self.report.fail(error);
                    return Step::Exit { status: 1 };
                }
            }
        }
    }
}

impl UserHalf for Program {
    fn attach(&mut self, mut live: Live<'_>) -> Result<StructOps, String> {
        self.fill(&mut live)?;
        scheduling::ask(&mut self.kept, &mut live);
        loop {
            match self.turn(Some(&mut live)) {
                Ok(Turn::Stepped | Turn::Again | Turn::Yields) => {}
                Ok(Turn::NeedsMachine) => {
                    let what = "has run programs of one object, and attaches another";
                    return Err(self.loaded(what.into()).to_string());
                }
                Ok(Turn::Attached) => {
                    self.pages_in(&mut live);
                    self.set_up = self.kept.played.recorded(&mut live);
                    return self.table.take().ok_or_else(|| "has no table".to_owned());
                }
                // The machine does not run before the scheduler is attached: no time passes.
                Ok(Turn::Waits(Some(until_ns))) => self.pass_time(until_ns),
                Ok(Turn::Waits(None)) => return Err(self.waits_for_ever().to_string()),
                Ok(Turn::Detached | Turn::Ended(_)) => return Err(self.ended_early().to_string()),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn record_set_up(&mut self) {
        self.kept.played.record();
    }

    fn set_up(&self) -> &[SetUpStep] {
        &self.set_up
    }

    fn go_on(&mut self, mut live: Live<'_>) -> Step {
        self.kept.played.settled();
        if self.kept.played.is_to_fill() {
            if let Err(what) = self.fill(&mut live) {
                let error = self.loaded(what);
                self.report.fail(error);
                return Step::Exit { status: 1 };
            }
        }
        self.pages_out(&mut live);
        let step = self.next_step(&mut live);
        self.pages_in(&mut live);
        self.tell_notes();
        step
    }

    fn image(&mut self) -> Option<Image> {
        self.image.take()
    }

    fn table(&mut self) -> Option<StructOps> {
        self.table.take()
    }
}
