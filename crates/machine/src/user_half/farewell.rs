// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program does after the run.

use super::Step;
use crate::consts::BOOT_NS;
use crate::ops::Ops;
use crate::run::Machine;
use rota_workload::INSTANT_LIMIT;

/// How long a program may take to end once its scheduler is gone and nothing else runs, in
/// nanoseconds of its own time.
const FAREWELL_NS: u64 = 10_000_000_000;

impl Machine {
    /// The program's scheduler has left, and nothing runs any more: it learns of that as it would
    /// where the machine went on, and ends if it likes. Its time goes on alone.
    pub(crate) fn let_program_end(&mut self, o: &mut dyn Ops) {
        let ended_ns = self.system.now_ns;
        let mut steps = 0;
        if let Some(program) = self.system.program.as_deref_mut() {
            program.alone = true;
        }
        while let Some(program) = self.system.program.as_deref_mut() {
            steps += 1;
            let late = self.system.now_ns - ended_ns > FAREWELL_NS;
            if program.exit.is_some() || late || steps > INSTANT_LIMIT {
                break;
            }
            if let Some(at_ns) = program.until_ns.take() {
                self.system.now_ns = self.system.now_ns.max(at_ns);
            }
            let (t, pending) = (program.t, program.pending.take());
            let here = self.system.task(t).cpu;
            let current = self.system.task(t).addr;
            self.system.running.this_cpu = here;
            let next = match pending {
                Some(step) => Some(step),
                // what fails now is no part of the run
                None => self.system.with_current(current, |system| o.go_on(system)).unwrap_or(None),
            };
            match next {
                Some(Step::Run { ns }) => self.system.now_ns += ns,
                Some(Step::SleepUntil { at_ns } | Step::WaitUntil { at_ns }) => {
                    let at_ns = at_ns.saturating_sub(BOOT_NS);
                    self.system.now_ns = self.system.now_ns.max(at_ns);
                }
                Some(Step::Yield | Step::Detach) => {}
                Some(Step::Exit { status }) => self.system.note_program_exit(status),
                // what would wake it, or take its scheduler, is gone
                Some(Step::Sleep | Step::Load | Step::Attach) | None => break,
            }
        }
        self.system.now_ns = ended_ns;
    }
}
