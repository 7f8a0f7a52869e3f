// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interpreter: an image decoded once, then one op after the other.

mod alu;
mod atomic;
mod decode;
mod fold;
mod listing;
mod nullable;
mod op;
mod program;
mod reach;
mod resume;
mod run;
mod running;

use crate::code::{Code, CodePlace, LimitedCall, State, UncheckedLoad};
use crate::engine::{Compiled, End, Engine};
use crate::error::{Fault, FaultKind};
use crate::host::Host;
use crate::places::Places;
use crate::runtime::Runtime;
use crate::table::CallTable;
use program::Program;
use rota_object::image::{FuncId, Image};
use running::Running;
use std::sync::Arc;

#[cold]
fn no_function(func: FuncId) -> Box<Fault> {
    Box::new(Fault::new(FaultKind::Missing(format!("no function {}", func.0))))
}

impl<H: Host> Program<H> {
    #[inline]
    fn run_compiled(
        &self,
        compiled: &dyn Compiled,
        function: FuncId,
        state: &mut State<Runtime<H>, H>,
        rt: &mut Runtime<H>,
        host: &mut H,
        left: &mut i64,
    ) -> Result<bool, Box<Fault>> {
        let (mut running, fault);
        running = Running { program: self, state, rt, host, left: *left, fault: None };
        let end = compiled.run(function.0 as usize, &mut running);
        (*left, fault) = (running.left, running.fault.take());
        match (end, fault) {
            (End::Returned, _) => return Ok(true),
            (End::Fault, Some(fault)) => return Err(fault),
            (End::Fault | End::Interpret, _) => {}
        }
        let (at, before) = (state.pc, *left);
        let ran = run::interpret(self, state, rt, host, left);
        compiled.interpreted(at, before.saturating_sub(*left).try_into().unwrap_or(0));
        ran
    }
}

/// Decodes all functions of an image.
pub(crate) fn decode<H: Host>(
    image: &Arc<Image>,
    table: &CallTable<H>,
    places: &Places,
) -> Arc<dyn Code<Runtime<H>, H>> {
    Arc::new(decode::decode(image, table, places))
}

impl<H: Host> Code<Runtime<H>, H> for Program<H> {
    fn entry(&self, func: FuncId) -> Option<usize> {
        self.first_op(func)
    }

    fn run(
        &self,
        state: &mut State<Runtime<H>, H>,
        rt: &mut Runtime<H>,
        host: &mut H,
        left: &mut i64,
    ) -> Result<bool, Box<Fault>> {
        if let Some(function) = state.begins.take() {
            state.pc = self.first_op(function).ok_or_else(|| no_function(function))?;
            if let Some(compiled) = self.compiled.get().and_then(Option::as_ref) {
                return self.run_compiled(&**compiled, function, state, rt, host, left);
            }
        }
        run::interpret(self, state, rt, host, left)
    }

    fn compile(&self, engine: &dyn Engine) {
        self.compiled.get_or_init(|| engine.compile(&listing::listing(self)));
    }

    fn limited_calls(&self, func: FuncId) -> Vec<LimitedCall> {
        reach::limited_calls(self, func)
    }

    fn unchecked_loads(&self) -> &[UncheckedLoad] {
        &self.unchecked
    }

    fn place(&self, pc: usize) -> Option<CodePlace> {
        let (function, insn, source) = Program::place(self, pc)?;
        Some(CodePlace { function, insn, source })
    }

    fn locate(&self, fault: Fault, pc: usize) -> Fault {
        Program::locate(self, fault, pc)
    }
}
