// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a call is made of, for whoever runs it: its state, and the decoded code it runs.

use crate::engine::Engine;
use crate::error::Fault;
use crate::frames::Frames;
use rota_object::image::FuncId;
use std::sync::Arc;

/// What changes while a call runs. `R` is the instance, `H` its host.
pub(crate) struct State<R, H> {
    /// r0..=r10; the rest only makes masked indexes valid.
    pub(crate) regs: [u64; 16],
    /// Next op.
    pub(crate) pc: usize,
    pub(crate) frames: Frames<R, H>,
    /// Instructions counted so far.
    pub(crate) spent: u64,
    /// The function that it calls, until the first instruction of it is run.
    pub(crate) begins: Option<FuncId>,
}

/// A call: its state, and the code that it runs.
pub(crate) struct Call<R, H> {
    pub(crate) code: Arc<dyn Code<R, H>>,
    pub(crate) state: State<R, H>,
}

impl<R, H> Default for State<R, H> {
    fn default() -> Self {
        Self { regs: [0; 16], pc: 0, frames: Frames::default(), spent: 0, begins: None }
    }
}

/// A call of a kernel function that not every program may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitedCall {
    /// The kernel function, by the name in its row.
    pub kfunc: &'static str,
    /// Contexts that it is [limited](crate::table::Kfunc::contexts) to.
    pub contexts: u32,
    /// Function that calls it.
    pub function: String,
    /// Instruction slot relative to the function.
    pub insn: u32,
    /// `file:line: text` from BTF line info, where there is one.
    pub source: Option<String>,
}

/// A place in hosted code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePlace {
    /// Function.
    pub function: String,
    /// Instruction slot relative to the function.
    pub insn: u32,
    /// `file:line: text` from BTF line info, where there is one.
    pub source: Option<String>,
}

/// A load through an argument of a callback that may be NULL, where nothing compares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncheckedLoad {
    /// The callback: a member of its table.
    pub member: String,
    /// The argument.
    pub argument: String,
    /// Function that loads.
    pub function: String,
    /// Instruction slot relative to the function.
    pub insn: u32,
    /// `file:line: text` from BTF line info, where there is one.
    pub source: Option<String>,
}

/// Decoded functions of one image, shared by all calls into them.
pub(crate) trait Code<R, H>: Send + Sync {
    /// Where a function begins.
    fn entry(&self, func: FuncId) -> Option<usize>;
    /// Runs on from `state`. True: the call returned; false: `left` is used up. Each
    /// instruction takes one from `left`, calls of the host take their cost as well.
    fn run(
        &self,
        state: &mut State<R, H>,
        rt: &mut R,
        host: &mut H,
        left: &mut i64,
    ) -> Result<bool, Box<Fault>>;
    /// Has calls that begin from now on run what this engine makes of the code, if it can.
    fn compile(&self, engine: &dyn Engine);
    /// The limited calls that a function and all that it can reach make, in the order of the code.
    /// What is decided by frozen data is decided, as a verifier does it.
    fn limited_calls(&self, func: FuncId) -> Vec<LimitedCall>;
    /// Loads through arguments that the kernel marks nullable, where no way leads that compares the
    /// argument: a verifier refuses them.
    fn unchecked_loads(&self) -> &[UncheckedLoad];
    /// Function, instruction slot in it, and source line of the op at `pc`.
    fn place(&self, pc: usize) -> Option<CodePlace>;
    /// Completes a fault with function, instruction and source line of the op at `pc`.
    fn locate(&self, fault: Fault, pc: usize) -> Fault;
}
