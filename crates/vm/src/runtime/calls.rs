// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls into an instance's functions.

use super::exec::Exec;
use super::{Ret, Runtime};
use crate::error::{Fault, FaultKind};
use crate::host::Host;
use rota_object::image::FuncId;

/// Calls inside calls, by way of kernel functions that call back.
const MAX_DEPTH: u32 = 16;

impl<H: Host> Runtime<H> {
    /// Calls a function and runs it to its end. Kernel functions may use it too.
    pub fn call(&mut self, host: &mut H, func: FuncId, args: &[u64]) -> Result<Ret, Fault> {
        self.call_with_key(host, func, args, None)
    }

    /// Like [`Runtime::call`]; with a key, the second argument points at a copy of it.
    pub(crate) fn call_with_key(
        &mut self,
        host: &mut H,
        func: FuncId,
        args: &[u64],
        key: Option<&[u8]>,
    ) -> Result<Ret, Fault> {
        if self.depth >= MAX_DEPTH {
            return Err(Fault::new(FaultKind::Stack));
        }
        if self.ended {
            return Err(Fault::denied("its object was unloaded"));
        }
        let mut exec = match self.idle.pop() {
            Some(call) => Exec::of(call),
            None => Exec::new(self),
        };
        exec.start(host, func, args);
        if let Some(key) = key {
            exec.pass_key(host, key)?;
        }
        let outer_charge = std::mem::take(&mut self.charged);
        self.depth += 1;
        let result = exec.run_whole(self, host);
        self.depth -= 1;
        self.charged = outer_charge;
        self.idle.push(exec.into_call());
        if self.depth == 0 && !self.graveyard.is_empty() {
            self.bury(host);
        }
        result
    }
}
