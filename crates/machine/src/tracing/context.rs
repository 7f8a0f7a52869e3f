// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a tracing program finds behind its context pointer.

use super::places::Place;
use super::programs::{Form, Moment};
use crate::layout::{KernelType, ABSENT};
use crate::system::System;
use rota_vm::helpers::RETURNED;
use rota_vm::memory::{Memory, Perm};

/// Arguments and a result, after a word with their number.
const WORDS: u32 = 8;
/// Bytes of the largest record.
const RECORD_SIZE: u32 = 128;
/// `TASK_COMM_LEN`.
const COMM_LEN: u32 = 16;
/// `TASK_DEAD`, `EXIT_DEAD`, `EXIT_ZOMBIE`.
const TASK_DEAD: u64 = 0x80;
const EXIT_DEAD: u64 = 0x10;
const EXIT_ZOMBIE: u64 = 0x20;

/// Memory for contexts, 0 until first used. One of each kind is enough: no tracing program passes
/// a place that is watched.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    words: u64,
    registers: u64,
    record: u64,
}

fn once(at: &mut u64, mem: &mut Memory, name: &str, size: u32) -> u64 {
    if *at == 0 {
        *at = mem.alloc(name, size, Perm::ReadOnly);
    }
    *at
}

impl System {
    /// Writes a program's context; its address. `args` has the result behind the arguments where
    /// a function returns.
    pub(super) fn trace_context(
        &mut self,
        at: Place,
        moment: Moment,
        form: Form,
        args: &[u64],
    ) -> u64 {
        match form {
            Form::Arguments => self.argument_words(moment, args),
            Form::Registers => self.registers(at, moment, args),
            Form::Record => self.record(at, args),
        }
    }

    /// As a trampoline has it: `bpf_get_func_arg_cnt()` reads the word before the first argument.
    fn argument_words(&mut self, moment: Moment, args: &[u64]) -> u64 {
        let (contexts, mem) = (&mut self.running.contexts, &mut self.guest.mem);
        let head = once(&mut contexts.words, mem, "tracing arguments", 8 * (1 + WORDS));
        let (results, mark) = if moment == Moment::Return { (1, RETURNED) } else { (0, 0) };
        mem.set_u64(head, (args.len() - results) as u64 | mark);
        for (word, value) in args.iter().enumerate() {
            mem.set_u64(head + 8 * (1 + word as u64), *value);
        }
        head + 8
    }

    /// x86-64: arguments in `di`, `si`, `dx`, the result in `ax`.
    fn registers(&mut self, at: Place, moment: Moment, args: &[u64]) -> u64 {
        let layout = self.guest.layouts.pt_regs.clone();
        let (contexts, mem) = (&mut self.running.contexts, &mut self.guest.mem);
        let regs = once(&mut contexts.registers, mem, "pt_regs", layout.size().max(8));
        let (known, result) = args.split_at(at.arguments().min(args.len()));
        let first = [layout.di, layout.si, layout.dx];
        for (number, offset) in first.into_iter().enumerate() {
            // when it returns they are what the function left there
            let kept = if moment == Moment::Entry { known.get(number) } else { None };
            self.guest.put_u64(regs, offset, kept.copied().unwrap_or(0));
        }
        self.guest.put_u64(regs, layout.ax, result.first().copied().unwrap_or(0));
        regs
    }

    /// `TP_fast_assign()` of a tracepoint.
    fn record(&mut self, at: Place, args: &[u64]) -> u64 {
        let (contexts, mem) = (&mut self.running.contexts, &mut self.guest.mem);
        let record = once(&mut contexts.record, mem, "tracepoint record", RECORD_SIZE);
        let pid_at = self.guest.layouts.task.pid;
        let current = rota_vm::host::Host::current_task(self);
        let pid = self.guest.mem.get_u32(current + u64::from(pid_at));
        // its type is a number that each boot gives anew
        let entry = self.guest.layouts.trace_entry.clone();
        self.guest.put_u32(record, entry.pid, pid);
        if at == Place::SchedSwitch {
            let layout = self.guest.layouts.switch_record.clone();
            let (prev, next) = (args[1], args[2]);
            self.put_comm(record, layout.prev_comm, prev);
            self.put_comm(record, layout.next_comm, next);
            self.copy_task_word(record, layout.prev_pid, prev, pid_at);
            self.copy_task_word(record, layout.next_pid, next, pid_at);
            let prio = self.guest.layouts.task.prio;
            self.copy_task_word(record, layout.prev_prio, prev, prio);
            self.copy_task_word(record, layout.next_prio, next, prio);
            let state = self.reported_state(prev, args[3]);
            self.guest.put_u64(record, layout.prev_state, state);
        } else {
            let layout = self.guest.layouts.wakeup_record.clone();
            let task = args[0];
            self.put_comm(record, layout.comm, task);
            self.copy_task_word(record, layout.pid, task, pid_at);
            let (prio, cpu) = (self.guest.layouts.task.prio, self.guest.layouts.task.cpu);
            self.copy_task_word(record, layout.prio, task, prio);
            self.copy_task_word(record, layout.target_cpu, task, cpu);
        }
        record
    }

    /// `__trace_sched_switch_state()`: of a task that is dead, how it exited.
    fn reported_state(&self, task: u64, state: u64) -> u64 {
        if state != TASK_DEAD {
            return state;
        }
        let leads = self.tasks.at(task).map(|t| self.task(t)).is_some_and(|t| t.pid == t.tgid);
        if leads {
            EXIT_ZOMBIE
        } else {
            EXIT_DEAD
        }
    }

    fn put_comm(&mut self, record: u64, to: u32, task: u64) {
        let from = self.guest.layouts.task.comm;
        if to == ABSENT || from == ABSENT {
            return;
        }
        for at in (0..COMM_LEN).step_by(8) {
            let part = self.guest.mem.get_u64(task + u64::from(from + at));
            self.guest.mem.set_u64(record + u64::from(to + at), part);
        }
    }

    fn copy_task_word(&mut self, record: u64, to: u32, task: u64, from: u32) {
        if from != ABSENT {
            let value = self.guest.mem.get_u32(task + u64::from(from));
            self.guest.put_u32(record, to, value);
        }
    }
}
