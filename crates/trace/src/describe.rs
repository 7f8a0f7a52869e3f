// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events in words: what the exporters that write text have in common.

use std::fmt::Write as _;

use crate::event::{Cost, EventKind, OffCpu};

/// Name and task of an event; the rest is appended to `detail`.
pub(crate) fn describe(kind: &EventKind, detail: &mut String) -> (&'static str, Option<u32>) {
    let mut say = |text: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = detail.write_fmt(text);
    };
    match kind {
        EventKind::Task { pid, weight, .. } => {
            say(format_args!("weight={weight}"));
            ("task", Some(*pid))
        }
        EventKind::Share { pid, share } => {
            say(format_args!("share={share}"));
            ("share", Some(*pid))
        }
        EventKind::Fork { pid, parent } => {
            say(format_args!("parent={parent}"));
            ("fork", Some(*pid))
        }
        EventKind::Exit { pid } => ("exit", Some(*pid)),
        EventKind::Wakeup { pid, waker } => {
            say(format_args!("waker={waker}"));
            ("wakeup", Some(*pid))
        }
        EventKind::Enqueue { pid, enq_flags } => {
            say(format_args!("enq_flags={enq_flags:#x}"));
            ("enqueue", Some(*pid))
        }
        EventKind::Dispatch { pid, dsq } => {
            say(format_args!("dsq={dsq:#x}"));
            ("dispatch", Some(*pid))
        }
        EventKind::Pick { pid, slice_ns } => {
            say(format_args!("slice_ns={slice_ns}"));
            ("pick", Some(*pid))
        }
        EventKind::SwitchIn { pid } => ("switch_in", Some(*pid)),
        EventKind::SwitchOut { pid, why } => {
            say(format_args!("why={}", why_name(*why)));
            ("switch_out", Some(*pid))
        }
        EventKind::Migrate { pid, from, to } => {
            say(format_args!("from={from} to={to}"));
            ("migrate", Some(*pid))
        }
        EventKind::OpCall { op, pid, cost } => {
            match cost {
                Cost::Instructions(count) => say(format_args!("op={op} instructions={count}")),
                Cost::Nanoseconds(ns) => say(format_args!("op={op} ns={ns}")),
            }
            ("op_call", (*pid != 0).then_some(*pid))
        }
        EventKind::PolicyExit { kind, code, reason } => {
            say(format_args!("kind={kind} code={code} reason={reason}"));
            ("policy_exit", None)
        }
    }
}

fn why_name(why: OffCpu) -> &'static str {
    match why {
        OffCpu::Runnable => "runnable",
        OffCpu::Sleep => "sleep",
        OffCpu::Exit => "exit",
    }
}
