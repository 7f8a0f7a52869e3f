// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers and kernel functions that call back into BPF code: they leave a
//! [`Callback`], and the interpreter calls the function as often as that asks for.

use super::frames::Frames;
use super::program::Program;
use super::State;
use crate::error::Fault;
use crate::host::Host;
use crate::memory::handle;
use crate::runtime::Runtime;
use rota_object::image::FuncId;

/// What a callback is for, and how far it has come.
#[derive(Clone, Debug)]
pub enum Callback {
    /// `bpf_loop`: `func(i, ctx)` for `i` below `count` until it returns non-zero.
    Loop {
        /// Function to call.
        func: FuncId,
        /// Its second argument.
        ctx: u64,
        /// Calls made.
        done: u32,
        /// Calls to make.
        count: u32,
    },
    /// `bpf_for_each_map_elem`: `func(map, key, value, ctx)` until it returns non-zero.
    EachElem {
        /// Function to call.
        func: FuncId,
        /// Number of the map.
        map: u32,
        /// Last argument.
        ctx: u64,
        /// Where to go on in the map.
        cursor: u32,
        /// Calls made.
        done: u32,
    },
    /// `bpf_rbtree_add`: walks down from the root, asking `less(node, other)`.
    TreeAdd(crate::kfuncs::rbtree::Insertion),
    /// `bpf_tail_call`: the function replaces the caller's frame.
    Tail {
        /// Function to go to.
        func: FuncId,
        /// Its only argument.
        ctx: u64,
    },
}

/// What comes after a callback.
pub enum Next {
    /// Call the function again with these arguments.
    Call(FuncId, [u64; 5]),
    /// Like `Call`; the second argument is to point at a copy of this key.
    CallWithKey(FuncId, [u64; 5], Vec<u8>),
    /// The helper that started it returns this.
    Done(u64),
}

impl Callback {
    /// The function that a helper's argument points at.
    pub fn function(pointer: u64) -> Result<FuncId, Fault> {
        handle::as_function(pointer)
            .ok_or_else(|| Fault::denied(format!("{pointer:#x} is not a BPF function")))
    }

    /// Decides what to do: `last` is what the previous call returned, if there was one.
    fn next<H: Host>(
        &mut self,
        rt: &mut Runtime<H>,
        host: &mut H,
        last: Option<u64>,
    ) -> Result<Next, Fault> {
        let stopped = last.is_some_and(|r0| r0 != 0);
        match self {
            Self::Loop { func, ctx, done, count } => {
                if stopped || *done >= *count {
                    return Ok(Next::Done(u64::from(*done)));
                }
                let args = [u64::from(*done), *ctx, 0, 0, 0];
                *done += 1;
                Ok(Next::Call(*func, args))
            }
            Self::EachElem { func, map, ctx, cursor, done } => {
                if stopped {
                    return Ok(Next::Done(u64::from(*done)));
                }
                let Some((key, value)) = rt.next_element(host, *map, cursor) else {
                    return Ok(Next::Done(u64::from(*done)));
                };
                *done += 1;
                let args = [handle::map(*map), 0, value, *ctx, 0];
                Ok(Next::CallWithKey(*func, args, key))
            }
            Self::TreeAdd(insertion) => insertion.next(host.memory(), last),
            Self::Tail { .. } => Ok(Next::Done(0)),
        }
    }
}

/// Goes on with `callback` after it was left by a helper (`last` is `None`) or after
/// its function returned; either enters the function or sets r0 and goes on at `pc`.
pub(super) fn resume<H: Host>(
    mut callback: Callback,
    program: &Program<H>,
    state: &mut State,
    rt: &mut Runtime<H>,
    host: &mut H,
    last: Option<u64>,
) -> Result<(), Fault> {
    if let Callback::Tail { func, ctx } = callback {
        state.pc = entry(program, func)?;
        state.regs[1] = ctx;
        return Ok(());
    }
    let (func, args, key) = match callback.next(rt, host, last)? {
        Next::Done(r0) => {
            state.regs[0] = r0;
            return Ok(());
        }
        Next::Call(func, args) => (func, args, None),
        Next::CallWithKey(func, args, key) => (func, args, Some(key)),
    };
    let target = entry(program, func)?;
    state.frames.push(&mut state.regs, state.pc, Some(callback), host.memory())?;
    state.regs[1..6].copy_from_slice(&args);
    if let Some(key) = key {
        let room = Frames::key_room(state.regs[10]);
        host.memory().bytes_mut(room, key.len() as u32)?.copy_from_slice(&key);
        state.regs[2] = room;
    }
    state.pc = target;
    Ok(())
}

fn entry<H>(program: &Program<H>, func: FuncId) -> Result<usize, Fault> {
    program.entry(func).ok_or_else(|| Fault::denied(format!("no function {}", func.0)))
}
