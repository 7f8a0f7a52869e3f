// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel refuses when an object is loaded and registered as a scheduler, before any of
//! its code runs.

use crate::contexts::{allow, callers, may_sleep, name_in_sources, Caller};
use crate::system::System;
use rota_object::image::FuncId;
use rota_vm::error::StartError;
use rota_vm::runtime::{LimitedCall, Runtime, UncheckedLoad};
use thiserror::Error;

/// An object that cannot be attached as a scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AttachError {
    /// It cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It has no table of callbacks.
    #[error("{object}: no variable of type struct sched_ext_ops: this object is not a scheduler")]
    NoScheduler {
        /// The object.
        object: String,
    },
    /// The program that loads it does not attach it.
    #[error("{0}")]
    Program(String),
    /// It has several.
    #[error(
        "{object}: {} schedulers, {}: expected a choice of one, --ops NAME",
        .names.len(), .names.join(", ")
    )]
    Several {
        /// The object.
        object: String,
        /// Their variables.
        names: Vec<String>,
    },
    /// It has none of that name.
    #[error("{object}: no scheduler {asked}, expected {}", .names.join(" or "))]
    Unknown {
        /// The object.
        object: String,
        /// The variable that was asked for.
        asked: String,
        /// Those that there are.
        names: Vec<String>,
    },
    /// A callback is no function.
    #[error("{object}: {member} is {value}, expected a function")]
    Member {
        /// The object.
        object: String,
        /// Variable and member.
        member: String,
        /// What it is.
        value: String,
    },
    /// A program that may sleep, for a callback that may not (`bpf_scx_check_member()`).
    #[error(
        "{object}: {callback} is {function}(), a program that may sleep (section {section}), where \
         the kernel may not: expected {}",
        .section.replacen("struct_ops.s/", "struct_ops/", 1)
    )]
    Sleeps {
        /// The object.
        object: String,
        /// The callback.
        callback: String,
        /// The program.
        function: String,
        /// Its section.
        section: String,
    },
    /// A program can reach a call of a kernel function that it may not call
    /// (`scx_kfunc_context_filter()`).
    #[error(transparent)]
    Call(Box<RefusedCall>),
    /// A program reads through an argument that may be NULL, and nothing compares it.
    #[error(transparent)]
    Load(Box<RefusedLoad>),
}

/// A load that a kernel's verifier refuses.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{object}: ops.{}() reads through '{}' in {}() at instruction {}{}: no kernel loads this \
     program, as '{}' may be NULL and is read without a check",
    .load.member, .load.argument, .load.function, .load.insn,
    .load.source.as_ref().map_or(String::new(), |line| format!(" ({line})")), .load.argument
)]
pub struct RefusedLoad {
    /// The object.
    pub object: String,
    /// Where.
    pub load: UncheckedLoad,
}

/// A call that a kernel's verifier refuses.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{object}: {caller} may not call {kfunc}(), and does in {function}() at instruction {insn}{}: \
     expected {expected}",
    .source_line.as_ref().map_or(String::new(), |line| format!(" ({line})"))
)]
pub struct RefusedCall {
    /// The object.
    pub object: String,
    /// Callback or kind of program.
    pub caller: String,
    /// The kernel function.
    pub kfunc: String,
    /// The function with the call: the program, or one that it can reach.
    pub function: String,
    /// Instruction slot relative to the function.
    pub insn: u32,
    /// `file:line: text` from BTF line info, where there is one.
    pub source_line: Option<String>,
    /// From where it may be called, or what to call.
    pub expected: String,
}

/// A program of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) caller: Caller,
    pub(crate) func: FuncId,
    /// Of a scheduler that knows CPUs by cids.
    pub(crate) cid_form: bool,
}

/// Refuses loads that no verifier accepts.
pub(crate) fn check_loads(rt: &Runtime<System>) -> Result<(), AttachError> {
    let Some(load) = rt.unchecked_loads().first() else { return Ok(()) };
    let object = rt.image().name.clone();
    Err(AttachError::Load(Box::new(RefusedLoad { object, load: load.clone() })))
}

/// Refuses a program that a kernel would not load or register.
pub(crate) fn check(rt: &Runtime<System>, program: Program) -> Result<(), AttachError> {
    let image = rt.image();
    let Some(function) = image.functions.get(program.func.0 as usize) else { return Ok(()) };
    let sleeps = function.section.starts_with("struct_ops.s/") || program.caller == Caller::Syscall;
    if let (true, Caller::Op(op)) = (sleeps, program.caller) {
        if !may_sleep(op) {
            return Err(AttachError::Sleeps {
                object: image.name.clone(),
                callback: program.caller.name(),
                function: function.name.clone(),
                section: function.section.clone(),
            });
        }
    }
    for call in rt.limited_calls(program.func) {
        if let Some(expected) = refusal(program, sleeps, &call) {
            let LimitedCall { kfunc, function, insn, source, .. } = call;
            return Err(AttachError::Call(Box::new(RefusedCall {
                object: image.name.clone(),
                caller: program.caller.name(),
                kfunc: name_in_sources(kfunc).to_owned(),
                function,
                insn,
                source_line: source,
                expected,
            })));
        }
    }
    Ok(())
}

/// What the kernel would have in place of a call that it refuses.
fn refusal(program: Program, sleeps: bool, call: &LimitedCall) -> Option<String> {
    // Only struct_ops programs belong to a scheduler of either form.
    let is_op = matches!(program.caller, Caller::Op(_));
    if is_op && program.cid_form && call.contexts & allow::CPU_FORM != 0 {
        return Some("a function for cids, as the scheduler is in cid form".into());
    }
    if !program.caller.may_call(call.contexts) {
        return Some(format!("a call from {}", callers(call.contexts)));
    }
    if call.contexts & allow::SLEEPS != 0 && !sleeps {
        return Some("a program that may sleep (section struct_ops.s/…)".into());
    }
    None
}
