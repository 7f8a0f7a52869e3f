// SPDX-License-Identifier: MIT OR Apache-2.0
//! The debug dump of an error exit: `scx_dump_state()`.

use crate::consts::*;
use crate::cpuset::CpuSet;
use crate::hosted::Hosted;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::{OpsState, Tid};
use rota_trace::SchedClass;

/// `SCX_RQ_ONLINE`, of `rq->scx.flags`.
const RQ_ONLINE: u32 = 1;
/// `SCX_TASK_STATE_SHIFT`.
const TASK_STATE_SHIFT: u32 = 8;

/// A dump being written. Scheduler lines are indented like the kernel's.
#[derive(Debug, Default)]
pub(crate) struct DumpBuffer {
    text: String,
    prefix: &'static str,
    line: String,
    /// Nothing of the running callback is written yet.
    first: bool,
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
            // ops_dump_flush(): a blank line comes before what a callback writes
            if std::mem::take(&mut self.first) {
                self.text.push('\n');
            }
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
        let on = exit.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
        let current = exit.cpu.map_or_else(|| "swapper/0[0]".into(), |cpu| self.curr_label(cpu));
        dump.line(&format!("{}: root", o.params().name));
        dump.line(&format!("{current} triggered exit kind {}{on}:", exit.kind as u32));
        dump.line(&format!("  {} ({})", exit.kind.reason(), exit.message));
        dump.line("\nBacktrace:");
        // in the place of the kernel's stack: what it would lead to
        if let (Some(exit), Some(site)) = (&mut self.hosted.exit, self.hosted.exit_site) {
            exit.origin.place = exit.origin.place.take().or_else(|| o.place(site.op, site.at));
        }
        let origin = self.hosted.exit.as_ref().map(|exit| exit.origin.lines());
        origin.into_iter().flatten().for_each(|line| dump.line(&format!("  {line}")));
        self.hosted.dump = Some(dump);
        self.publish_dump_ctx();
        let ctx = self.guest.scratch.dump_ctx;
        self.hosted.indent("");
        if self.has(Op::Dump) {
            self.call(o, Op::Dump, None, None, &[ctx]);
        }
        self.hosted.dump_line("");
        self.hosted.dump_line("CPU states");
        self.hosted.dump_line("----------");
        // that of the exit first, so that it is not cut off
        let others = (0..self.nr_cpus()).filter(|cpu| exit.cpu != Some(*cpu));
        for cpu in exit.cpu.into_iter().chain(others) {
            self.dump_cpu(o, ctx, cpu);
        }
        self.hosted.dump_line("");
        self.hosted.dump_line("Event counters");
        self.hosted.dump_line("--------------");
        let c = &self.told.counters;
        let counters = [
            ("SCX_EV_SELECT_CPU_FALLBACK", c.select_cpu_fallback),
            ("SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE", c.dispatch_local_dsq_offline),
            ("SCX_EV_DISPATCH_KEEP_LAST", c.dispatch_keep_last),
            ("SCX_EV_ENQ_SKIP_EXITING", c.enq_skip_exiting),
            ("SCX_EV_ENQ_SKIP_MIGRATION_DISABLED", c.enq_skip_migration_disabled),
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

    /// `rq->curr` as a dump names it.
    fn curr_label(&self, cpu: u32) -> String {
        self.rq(cpu).curr.map_or_else(|| format!("swapper/{cpu}[0]"), |t| self.task(t).label())
    }

    /// `scx_dump_cpu()`: CPUs with nothing to do are left out, unless `ops.dump_cpu()` writes.
    fn dump_cpu(&mut self, o: &mut dyn Ops, ctx: u64, cpu: u32) {
        let rq = self.rq(cpu);
        let waiting: Vec<Tid> = self.cpus.links.iter(&rq.runnable).map(Tid).collect();
        let idle = rq.curr.is_none() && waiting.is_empty();
        if idle && !self.has(Op::DumpCpu) {
            return;
        }
        let class = match rq.curr.map(|t| self.task(t).class.told()) {
            None => "idle_sched_class",
            Some(SchedClass::Ext) => "ext_sched_class",
            Some(SchedClass::Fair) => "fair_sched_class",
            Some(SchedClass::Realtime) => "rt_sched_class",
            Some(SchedClass::Deadline) => "dl_sched_class",
        };
        let (before, released) = (self.hosted.dump_size(), u32::from(rq.released));
        let line = format!(
            "\nCPU {cpu:<4}: nr_run={} flags={RQ_ONLINE:#x} cpu_rel={released} ksync=0\n\
             {:10}curr={} class={class}",
            rq.nr_running,
            "",
            self.curr_label(cpu)
        );
        self.hosted.dump_line(&line);
        let head = self.hosted.dump_size();
        self.hosted.indent("  ");
        if self.has(Op::DumpCpu) {
            self.call(o, Op::DumpCpu, Some(cpu), None, &[ctx, self.cpu_arg(cpu), u64::from(idle)]);
        }
        self.hosted.indent("");
        if idle && self.hosted.dump_size() == head {
            return self.hosted.dump_cut(before);
        }
        let curr = self.rq(cpu).curr.filter(|t| self.task(*t).class.is_ext());
        for t in curr.into_iter().chain(waiting) {
            self.dump_task(o, ctx, cpu, t);
        }
        self.hosted.indent("");
    }

    /// `scx_dump_task()`.
    fn dump_task(&mut self, o: &mut dyn Ops, ctx: u64, cpu: u32, t: Tid) {
        let task = self.task(t);
        let running = if self.rq(cpu).curr == Some(t) { '*' } else { ' ' };
        let waited = self.jiffies().saturating_sub(task.runnable_at_jiffies);
        let waited_ms = waited * self.config.tick_ns() / 1_000_000;
        let sign = if waited_ms > 0 { '-' } else { '+' };
        let dsq = task.dsq.map_or_else(|| "(n/a)".into(), |d| format!("{:#x}", self.dsq(d).id));
        let (ops_state, qseq) = match task.ops_state {
            OpsState::None => (0, 0),
            OpsState::Queueing => (1, task.ops_qseq),
            OpsState::Queued(qseq) => (2, qseq),
            OpsState::Dispatching => (3, task.ops_qseq),
        };
        let flags = self.flags(t);
        let text = format!(
            "\n {running}R {} *root {sign}{waited_ms}ms\n\
             {:6}scx_state/flags={}/{:#x} dsq_flags={:#x} ops_state/qseq={ops_state}/{qseq}\n\
             {:6}sticky/holding_cpu={}/-1 dsq_id={dsq}\n\
             {:6}dsq_vtime={} slice={} weight={}\n\
             {:6}cpus={} no_mig={}",
            task.label(),
            "",
            (flags & TASK_STATE_MASK) >> TASK_STATE_SHIFT,
            flags & !TASK_STATE_MASK,
            u32::from(task.dsq_key.is_some()),
            "",
            task.sticky_cpu,
            "",
            self.vtime(t),
            self.slice(t),
            task.weight,
            "",
            hex_mask(&task.cpus_ptr(), self.nr_cpus()),
            u8::from(task.migration_disabled),
        );
        self.hosted.dump_line(&text);
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
            dump.first = true;
        }
    }

    fn dump_size(&self) -> usize {
        self.dump.as_ref().map_or(0, |dump| dump.text.len())
    }

    fn dump_cut(&mut self, size: usize) {
        if let Some(dump) = &mut self.dump {
            dump.text.truncate(size);
        }
    }
}

/// A mask as `%*pb` prints it: the highest CPU first, in groups of 32.
fn hex_mask(cpus: &CpuSet, nr_cpus: u32) -> String {
    let groups = (0..nr_cpus.div_ceil(32)).rev().map(|group| {
        let bits = (nr_cpus - 32 * group).min(32);
        let word = (0..bits).filter(|bit| cpus.contains(32 * group + bit));
        let word = word.fold(0_u32, |word, bit| word | 1 << bit);
        format!("{word:0width$x}", width = bits.div_ceil(4) as usize)
    });
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_printed_as_the_kernel_prints_them() {
        // bitmap_string(): groups of 32 bits, the first with as many digits as it has
        let mask = |cpus: &[u32], nr| hex_mask(&cpus.iter().copied().collect(), nr);
        assert_eq!(mask(&[0, 1, 2, 3], 4), "f");
        assert_eq!(mask(&[0], 1), "1");
        assert_eq!(mask(&[0, 1], 12), "003");
        assert_eq!(mask(&[0, 33], 36), "2,00000001");
    }
}
