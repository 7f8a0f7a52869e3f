// SPDX-License-Identifier: MIT OR Apache-2.0
//! The debug dump of an error exit: `scx_dump_state()`.

use crate::consts::*;
use crate::hosted::Hosted;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::Tid;
use std::fmt::Write;

/// A dump being written. Scheduler lines are indented like the kernel's.
#[derive(Debug, Default)]
pub(crate) struct DumpBuffer {
    text: String,
    prefix: &'static str,
    line: String,
}

impl DumpBuffer {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// `scx_bpf_dump_bstr()`: a line may come in several calls.
    pub(crate) fn scheduler_text(&mut self, text: &str) {
        self.line.push_str(text);
        while let Some(end) = self.line.find('\n') {
            let rest = self.line.split_off(end + 1);
            let line = std::mem::replace(&mut self.line, rest);
            self.text.push_str(self.prefix);
            self.text.push_str(&line);
        }
    }

    /// `ops_dump_exit()`.
    fn flush(&mut self) {
        if !self.line.is_empty() {
            self.scheduler_text("\n");
        }
    }
}

impl System {
    /// Writes the dump into the pending exit.
    pub(crate) fn take_dump(&mut self, o: &mut dyn Ops) {
        let Some(exit) = self.hosted.exit.clone() else { return };
        let mut dump = DumpBuffer::default();
        dump.line(&format!("{}: triggered exit kind {}:", o.params().name, exit.kind as u32));
        dump.line(&format!("  {exit}"));
        self.hosted.dump = Some(dump);
        self.publish_dump_ctx();
        let ctx = self.guest.scratch.dump_ctx;
        if self.has(Op::Dump) {
            self.call(o, Op::Dump, None, None, &[ctx]);
        }
        self.hosted.dump_line("");
        self.hosted.dump_line("CPU states");
        self.hosted.dump_line("----------");
        for cpu in 0..self.nr_cpus() {
            self.dump_cpu(o, ctx, cpu);
        }
        self.hosted.dump_line("");
        self.hosted.dump_line("Event counters");
        self.hosted.dump_line("--------------");
        let c = &self.told.counters;
        let counters = [
            ("SCX_EV_SELECT_CPU_FALLBACK", c.select_cpu_fallback),
            ("SCX_EV_DISPATCH_KEEP_LAST", c.dispatch_keep_last),
            ("SCX_EV_ENQ_SKIP_EXITING", c.enq_skip_exiting),
            ("SCX_EV_REENQ_IMMED", c.reenq_immed),
            ("SCX_EV_REENQ_LOCAL_REPEAT", c.reenq_local_repeat),
            ("SCX_EV_REFILL_SLICE_DFL", c.refill_slice_dfl),
            ("SCX_EV_BYPASS_DISPATCH", c.bypass_dispatch),
        ];
        for (name, value) in counters {
            self.hosted.dump_line(&format!("{name:>40}: {value:>16}"));
        }
        let len = match o.params().exit_dump_len {
            0 => EXIT_DUMP_DFL_LEN,
            n => n as usize,
        };
        let mut text = self.hosted.dump.take().map(|d| d.text).unwrap_or_default();
        if text.len() > len {
            let mut end = len;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            text.push_str("\n\n~~~~ TRUNCATED ~~~~\n");
        }
        if let Some(exit) = &mut self.hosted.exit {
            exit.dump = text;
        }
    }

    /// `scx_dump_cpu()`: CPUs with nothing to do are left out.
    fn dump_cpu(&mut self, o: &mut dyn Ops, ctx: u64, cpu: u32) {
        let rq = self.rq(cpu);
        let idle = rq.curr.is_none() && rq.nr_running == 0;
        if idle {
            return;
        }
        let curr = rq.curr.map_or_else(|| format!("swapper/{cpu}[0]"), |t| self.task(t).label());
        let line = format!("\nCPU {cpu:<4}: nr_run={} curr={curr}", rq.nr_running);
        self.hosted.dump_line(&line);
        self.hosted.indent("  ");
        if self.has(Op::DumpCpu) {
            self.call(o, Op::DumpCpu, Some(cpu), None, &[ctx, u64::from(cpu), u64::from(idle)]);
        }
        let waiting: Vec<Tid> = self.cpus.links.iter(&self.rq(cpu).runnable).map(Tid).collect();
        for t in self.rq(cpu).curr.into_iter().chain(waiting) {
            self.dump_task(o, ctx, cpu, t);
        }
        self.hosted.indent("");
    }

    /// `scx_dump_task()`.
    fn dump_task(&mut self, o: &mut dyn Ops, ctx: u64, cpu: u32, t: Tid) {
        let running = if self.rq(cpu).curr == Some(t) { '*' } else { ' ' };
        let waited_ms = (self.jiffies().saturating_sub(self.task(t).runnable_at_jiffies))
            * self.config.tick_ns()
            / 1_000_000;
        let dsq =
            self.task(t).dsq.map_or_else(|| "(n/a)".into(), |d| format!("{:#x}", self.dsq(d).id));
        let mut line = format!("\n {running}R {} -{waited_ms}ms", self.task(t).label());
        let _ = write!(line, "\n      scx_flags={:#x} dsq_id={dsq}", self.flags(t));
        let _ = write!(
            line,
            "\n      dsq_vtime={} slice={} weight={}",
            self.vtime(t),
            self.slice(t),
            self.task(t).weight
        );
        self.hosted.dump_line(&line);
        self.hosted.indent("    ");
        if self.has(Op::DumpTask) {
            let addr = self.task(t).addr;
            self.call(o, Op::DumpTask, Some(cpu), Some(t), &[ctx, addr]);
        }
    }

    fn publish_dump_ctx(&mut self) {
        let Some(exit) = self.hosted.exit.clone() else { return };
        let (ctx, layout) = (self.guest.scratch.dump_ctx, self.guest.layouts.dump_ctx.clone());
        let text = self.guest.scratch.text;
        self.guest.write_text(text, exit.kind.reason(), EXIT_MSG_LEN);
        self.guest.put_u32(ctx, layout.kind, exit.kind as u32);
        self.guest.put_u64(ctx, layout.exit_code, exit.code as u64);
        self.guest.put_u64(ctx, layout.reason, text);
        let (now_ns, jiffies) = (self.clock_ns(), self.jiffies());
        self.guest.put_u64(ctx, layout.at_ns, now_ns);
        self.guest.put_u64(ctx, layout.at_jiffies, jiffies);
    }

    /// Fills `struct scx_exit_info` and returns its address.
    pub(crate) fn publish_exit_info(&mut self) -> u64 {
        let (info, layout) = (self.guest.scratch.exit_info, self.guest.layouts.exit_info.clone());
        let Some(exit) = self.hosted.exit.clone() else { return info };
        let text = self.guest.scratch.text;
        let (reason, msg, dump) =
            (text, text + EXIT_MSG_LEN as u64, text + 2 * EXIT_MSG_LEN as u64);
        self.guest.write_text(reason, exit.kind.reason(), EXIT_MSG_LEN);
        self.guest.write_text(msg, &exit.message, EXIT_MSG_LEN);
        self.guest.write_text(dump, &exit.dump, 2 * EXIT_MSG_LEN);
        self.guest.put_u32(info, layout.kind, exit.kind as u32);
        self.guest.put_u32(info, layout.exit_cpu, exit.cpu.unwrap_or(u32::MAX));
        self.guest.put_u64(info, layout.exit_code, exit.code as u64);
        // SCX_EFLAG_INITIALIZED
        self.guest.put_u64(info, layout.flags, 1);
        self.guest.put_u64(info, layout.reason, reason);
        self.guest.put_u64(info, layout.msg, msg);
        self.guest.put_u64(info, layout.dump, dump);
        info
    }
}

impl Hosted {
    fn dump_line(&mut self, text: &str) {
        if let Some(dump) = &mut self.dump {
            dump.flush();
            dump.line(text);
        }
    }

    fn indent(&mut self, prefix: &'static str) {
        if let Some(dump) = &mut self.dump {
            dump.flush();
            dump.prefix = prefix;
        }
    }
}
