// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers and kernel functions that call back into BPF code leave a [`Callback`], and the
//! interpreter calls the function as often as that asks for: so that such a call can stop at
//! any instruction and go on later, as every other.

use crate::error::Fault;
use crate::memory::handle;
use rota_object::image::FuncId;

/// What comes after a callback.
pub(crate) enum Next {
    /// Call the function again with these arguments.
    Call(FuncId, [u64; 5]),
    /// Like `Call`; the second argument is to point at a copy of this key.
    CallWithKey(FuncId, [u64; 5], Vec<u8>),
    /// The function takes the place of the caller, with this argument.
    Become(FuncId, u64),
    /// The helper that started it returns this.
    Done(u64),
}

/// A helper that is not done yet. `R` is the instance, `H` its host.
pub(crate) trait Callback<R, H>: Send {
    /// Decides what to do: `last` is what the previous call returned, if there was one.
    fn next(&mut self, rt: &mut R, host: &mut H, last: Option<u64>) -> Result<Next, Fault>;
}

/// The function that a helper's argument points at.
pub(crate) fn function_at(pointer: u64) -> Result<FuncId, Fault> {
    handle::as_function(pointer)
        .ok_or_else(|| Fault::denied(format!("{pointer:#x} is not a BPF function")))
}
