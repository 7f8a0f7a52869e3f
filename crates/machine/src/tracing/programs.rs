// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tracing programs of an object: where each is attached, by its section as libbpf reads it,
//! and why it is never called if it is not.

use super::places::Place;
use crate::contexts::Caller;
use rota_object::image::{FuncId, Function, Image, OpsField, StructOps};

/// What a program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The arguments, 64 bits each, and the result after them where there is one.
    Arguments,
    /// Registers (`struct pt_regs`).
    Registers,
    /// The record of a tracepoint (`struct trace_event_raw_*`).
    Record,
}

/// When a place runs its programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// At a tracepoint, or before a function's first instruction.
    Entry,
    /// A function returns.
    Return,
}

/// A program at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attached {
    pub(crate) at: Place,
    pub(crate) moment: Moment,
    pub(crate) form: Form,
    pub(crate) func: FuncId,
}

impl Attached {
    /// What the kernel lets it call: `BPF_PROG_TYPE_KPROBE` is a kind of its own.
    pub(crate) fn caller(&self) -> Caller {
        match self.form {
            Form::Registers => Caller::Probe,
            Form::Arguments | Form::Record => Caller::Tracing,
        }
    }
}

/// A program that nothing in the machine calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeverCalled {
    /// The program.
    pub program: String,
    /// Its section.
    pub section: String,
    /// Why.
    pub why: String,
}

/// How libbpf attaches the programs of a section.
struct Rule {
    prefixes: &'static [&'static str],
    is_tracepoint: bool,
    moment: Moment,
    form: Form,
    /// Of those at the same moment of a place, the lower runs first: a kprobe is called before the
    /// trampoline that calls fentry programs, and a kretprobe when that has returned.
    turn: u8,
}

const fn rule(
    prefixes: &'static [&'static str],
    is_tracepoint: bool,
    moment: Moment,
    form: Form,
    turn: u8,
) -> Rule {
    Rule { prefixes, is_tracepoint, moment, form, turn }
}

const RULES: &[Rule] = &[
    rule(
        &["tp_btf/", "raw_tp/", "raw_tracepoint/", "raw_tp.w/", "raw_tracepoint.w/"],
        true,
        Moment::Entry,
        Form::Arguments,
        0,
    ),
    rule(&["tp/", "tracepoint/"], true, Moment::Entry, Form::Record, 0),
    rule(&["kprobe/", "kprobe.multi/"], false, Moment::Entry, Form::Registers, 0),
    rule(&["fentry/", "fentry.s/"], false, Moment::Entry, Form::Arguments, 1),
    rule(&["fexit/", "fexit.s/"], false, Moment::Return, Form::Arguments, 0),
    rule(&["kretprobe/", "kretprobe.multi/"], false, Moment::Return, Form::Registers, 1),
];

/// Programs of other kinds, and what would call them.
const OTHERS: &[(&str, &str)] = &[
    ("uprobe", "the machine runs no code of user space"),
    ("uretprobe", "the machine runs no code of user space"),
    ("usdt", "the machine runs no code of user space"),
    ("ksyscall", "tasks make no system calls here"),
    ("kretsyscall", "tasks make no system calls here"),
    ("perf_event", "the machine has no performance counters"),
    ("lsm", "the machine has no security hooks"),
    ("iter", "nothing reads a BPF iterator here"),
    ("fmod_ret", "the machine lets no program replace a function's result"),
    ("freplace", "the machine replaces no functions"),
];

/// Names of tracepoints, by their beginning, and why none of them is passed.
const ABSENT: &[(&str, &str)] = &[
    ("sched_process_exec", "tasks execute no other program here"),
    ("sched_prepare_exec", "tasks execute no other program here"),
    ("task_rename", "tasks have their names from the start here"),
    ("sched_process_wait", "no task waits for a process here"),
    ("sched_stat_", "the machine has no scheduler statistics of the fair class"),
    ("block_", "the machine has no block I/O"),
    ("ext4_", "the machine has no file systems"),
    ("irq_", "the machine has no interrupt handlers"),
    ("softirq_", "the machine has no softirqs"),
    ("sys_", "tasks make no system calls here"),
    ("timer_", "the machine has no kernel timers"),
    ("hrtimer_", "the machine has no kernel timers"),
    ("workqueue_", "the machine has no workqueues"),
    ("page_fault", "the machine has no memory management"),
    ("mm_", "the machine has no memory management"),
    ("kmem_", "the machine has no memory management"),
    ("net", "the machine has no network stack"),
    ("napi_", "the machine has no network stack"),
    ("tcp_", "the machine has no network stack"),
    ("inet_", "the machine has no network stack"),
    ("signal_", "the machine has no signals"),
];

/// The object's tracing programs that the machine calls, in the order in which it calls those at
/// the same place.
pub(crate) fn attached(image: &Image) -> Vec<Attached> {
    let mut all: Vec<(u8, Attached)> = Vec::new();
    for (id, function) in (0u32..).zip(&image.functions) {
        let Some((rule, target)) = rule_of(&function.section) else { continue };
        let Ok(at) = place(rule, target) else { continue };
        let Rule { moment, form, turn, .. } = *rule;
        all.push((turn, Attached { at, moment, form, func: FuncId(id) }));
    }
    // bpf_trampoline_link_prog() and register_kprobe() put the latest first, tracepoints the last
    let later_first = |a: &Attached| if a.at.is_tracepoint() { 0 } else { u32::MAX - a.func.0 };
    all.sort_by_key(|(turn, a)| (*turn, later_first(a)));
    all.into_iter().map(|(_, attached)| attached).collect()
}

/// Programs that are never called in a sub-scheduler's object: its tracing programs, too. While
/// another scheduler acts, the machine cannot reach its instance.
pub fn never_called_in_sub(image: &Image) -> Vec<NeverCalled> {
    let traced = attached(image);
    let why = "the machine runs no tracing programs of sub-schedulers";
    let in_vain = |(id, function): (u32, &Function)| {
        let runs = traced.iter().any(|program| program.func == FuncId(id));
        let (program, section) = (function.name.clone(), function.section.clone());
        runs.then(|| NeverCalled { program, section, why: why.into() })
    };
    (0u32..).zip(&image.functions).filter_map(in_vain).chain(never_called(image)).collect()
}

/// The object's programs that are never called, in the order of the object.
pub fn never_called(image: &Image) -> Vec<NeverCalled> {
    let mut all = Vec::new();
    let other = |s: &&StructOps| !s.type_name.starts_with("sched_ext_ops");
    let others = image.struct_ops.iter().filter(other).flat_map(|s| s.fields.values());
    let others: Vec<&OpsField> = others.collect();
    for (id, function) in (0u32..).zip(&image.functions) {
        let of_other = others.contains(&&OpsField::Func(FuncId(id)));
        let why_other = of_other.then(|| "the machine has no callbacks but sched_ext's".to_owned());
        if let Some(why) = why_other.or_else(|| why_never(&function.section)) {
            let (program, section) = (function.name.clone(), function.section.clone());
            all.push(NeverCalled { program, section, why });
        }
    }
    all
}

/// Why programs of this section are never called; `None` if they are, or are no programs that
/// something but their own object would call.
fn why_never(section: &str) -> Option<String> {
    if section.starts_with('?') && !section.starts_with("?struct_ops") {
        return Some("libbpf loads it only if its loader asks for it".into());
    }
    if let Some((rule, target)) = rule_of(section) {
        return place(rule, target).err();
    }
    let kind = section.split(['/', '.', '+']).next().unwrap_or(section);
    if matches!(kind, "struct_ops" | "?struct_ops" | "syscall" | "") {
        return None;
    }
    let known = OTHERS.iter().find(|(name, _)| *name == kind);
    let why = known.map_or("the machine has no such programs", |(_, why)| *why);
    Some(why.into())
}

/// The rule for a section, and what it names.
fn rule_of(section: &str) -> Option<(&'static Rule, &str)> {
    RULES.iter().find_map(|rule| {
        let target = rule.prefixes.iter().find_map(|prefix| section.strip_prefix(prefix))?;
        Some((rule, target))
    })
}

/// Where a program is attached, or why it never runs.
fn place(rule: &Rule, target: &str) -> Result<Place, String> {
    let no_record = "the machine does not write the record of this tracepoint: use tp_btf";
    // `tp/GROUP/NAME`
    let (group, name) = match rule.form {
        Form::Record => target.split_once('/').unwrap_or(("", target)),
        _ => ("", target),
    };
    let Some(at) = Place::of(name, rule.is_tracepoint) else {
        return Err(absent(name, rule.is_tracepoint));
    };
    if rule.form == Form::Record && at.record_group() != Some(group) {
        return Err(no_record.into());
    }
    if rule.moment == Moment::Return && !at.returns() {
        return Err(format!("{name}() does not return"));
    }
    Ok(at)
}

fn absent(name: &str, is_tracepoint: bool) -> String {
    if !is_tracepoint {
        return "the machine does not pass this function".into();
    }
    let known = ABSENT.iter().find(|(prefix, _)| name.starts_with(prefix));
    known.map_or("the machine does not pass this tracepoint", |(_, why)| *why).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(section: &str) -> Option<Place> {
        let (rule, target) = rule_of(section)?;
        place(rule, target).ok()
    }

    #[test]
    fn sections_are_read_as_libbpf_reads_them() {
        for section in ["tp_btf/sched_switch", "raw_tp/sched_switch", "raw_tracepoint/sched_switch"]
        {
            assert_eq!(found(section), Some(Place::SchedSwitch), "{section}");
        }
        assert_eq!(found("tp/sched/sched_switch"), Some(Place::SchedSwitch));
        assert_eq!(found("tracepoint/sched/sched_waking"), Some(Place::SchedWaking));
        assert_eq!(found("fentry/enqueue_task_scx"), Some(Place::EnqueueTaskScx));
        assert_eq!(found("kretprobe/try_to_wake_up"), Some(Place::TryToWakeUp));
        // a function's name is no tracepoint's, and the other way round
        assert_eq!(found("fentry/sched_switch"), None);
        assert_eq!(found("tp_btf/try_to_wake_up"), None);
        assert_eq!(found("tp/irq/sched_switch"), None);
    }

    #[test]
    fn a_program_that_nothing_calls_has_a_reason() {
        let why = |section| why_never(section).unwrap_or_default();
        assert_eq!(why("tp_btf/block_rq_issue"), "the machine has no block I/O");
        assert_eq!(why("tp_btf/task_rename"), "tasks have their names from the start here");
        assert_eq!(why("raw_tp/cpu_frequency"), "the machine does not pass this tracepoint");
        assert_eq!(why("kprobe/vfs_read"), "the machine does not pass this function");
        assert_eq!(why("fexit/do_exit"), "do_exit() does not return");
        assert_eq!(why("uprobe//usr/bin/x:main"), "the machine runs no code of user space");
        assert_eq!(why("fentry.s/set_task_cpu"), "");
        assert_eq!(why("?tp_btf/sched_switch"), "libbpf loads it only if its loader asks for it");
        assert_eq!(why("xdp"), "the machine has no such programs");
        for section in ["struct_ops/enqueue", "struct_ops.s/init", "syscall", ".text"] {
            assert_eq!(why_never(section), None, "{section}");
        }
    }

    #[test]
    fn every_place_is_found_by_its_name() {
        for at in Place::ALL {
            assert_eq!(Place::of(at.name(), at.is_tracepoint()), Some(*at));
        }
    }
}
