// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program can reach: its own code, the functions that it calls, and those whose address it
//! takes, which are its callbacks. Dead code is gone by then.

use super::op::code;
use super::program::Program;
use crate::code::LimitedCall;
use crate::memory::handle;
use rota_object::image::FuncId;
use std::collections::BTreeSet;

/// See [`Code::limited_calls`](crate::code::Code::limited_calls).
pub(super) fn limited_calls<H>(program: &Program<H>, func: FuncId) -> Vec<LimitedCall> {
    let mut found = Vec::new();
    for func in reached(program, func) {
        for pc in ops_of(program, func) {
            let op = program.ops[pc];
            let callee = match op.code {
                code::CALL_HOST => program.callees.get(op.imm as usize),
                _ => None,
            };
            let Some((contexts, kfunc)) = callee.and_then(|callee| callee.limit) else { continue };
            let Some((function, insn, source)) = program.place(pc) else { continue };
            found.push(LimitedCall { kfunc, contexts, function, insn, source });
        }
    }
    found
}

/// A function and all that it can reach.
fn reached<H>(program: &Program<H>, func: FuncId) -> BTreeSet<FuncId> {
    let mut all = BTreeSet::new();
    let mut open = vec![func];
    while let Some(func) = open.pop() {
        if !all.insert(func) {
            continue;
        }
        for pc in ops_of(program, func) {
            let op = program.ops[pc];
            open.extend(match op.code {
                code::CALL => function_at(program, op.off as usize),
                code::LDDW => handle::as_function(op.imm),
                _ => None,
            });
        }
    }
    all
}

fn ops_of<H>(program: &Program<H>, func: FuncId) -> std::ops::Range<usize> {
    let Some(first) = program.first_op(func) else { return 0..0 };
    let next = program.first_op(FuncId(func.0 + 1));
    first..next.unwrap_or(program.ops.len())
}

/// The function that begins at this op.
fn function_at<H>(program: &Program<H>, op: usize) -> Option<FuncId> {
    let at = program.entries.binary_search(&(op as u32)).ok()?;
    Some(FuncId(at as u32))
}
