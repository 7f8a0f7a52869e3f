// SPDX-License-Identifier: MIT OR Apache-2.0
//! Going on with a helper that calls back.

use super::program::Program;
use crate::callback::{Callback, Next};
use crate::code::State;
use crate::error::Fault;
use crate::frames::key_room;
use crate::host::Host;
use crate::runtime::Runtime;
use rota_object::image::FuncId;

/// What a helper that calls back did.
pub(super) enum Resumed {
    /// It is over.
    Done,
    /// It entered this function.
    Called(FuncId),
    /// Another function took the place of the caller.
    Became,
}

/// Goes on with `callback` after it was left by a helper (`last` is `None`) or after
/// its function returned; either enters the function or sets r0 and goes on at `pc`.
pub(super) fn resume<H: Host>(
    mut callback: Box<dyn Callback<Runtime<H>, H>>,
    program: &Program<H>,
    state: &mut State<Runtime<H>, H>,
    rt: &mut Runtime<H>,
    host: &mut H,
    last: Option<u64>,
) -> Result<Resumed, Fault> {
    let (func, args, key) = match callback.next(rt, host, last)? {
        Next::Done(r0) => {
            state.regs[0] = r0;
            return Ok(Resumed::Done);
        }
        Next::Become(func, ctx) => {
            state.pc = entry(program, func)?;
            state.regs[1] = ctx;
            return Ok(Resumed::Became);
        }
        Next::Call(func, args) => (func, args, None),
        Next::CallWithKey(func, args, key) => (func, args, Some(key)),
    };
    let target = entry(program, func)?;
    state.frames.push(&mut state.regs, state.pc, Some(callback), host.memory())?;
    state.regs[1..6].copy_from_slice(&args);
    if let Some(key) = key {
        let room = key_room(state.regs[10]);
        host.memory().bytes_mut(room, key.len() as u32)?.copy_from_slice(&key);
        state.regs[2] = room;
    }
    state.pc = target;
    Ok(Resumed::Called(func))
}

fn entry<H>(program: &Program<H>, func: FuncId) -> Result<usize, Fault> {
    program.first_op(func).ok_or_else(|| Fault::denied(format!("no function {}", func.0)))
}
