// SPDX-License-Identifier: MIT OR Apache-2.0
//! How another engine than the interpreter runs decoded code.
//!
//! The interpreter is the reference. An [`Engine`] gets a [`Listing`] of a program and makes something
//! of it that runs functions faster. Whatever is rare it asks of the [`Guest`], which does it with the
//! interpreter's own code; and at any instruction it may leave the rest of a call to the interpreter
//! ([`End::Interpret`]). So an engine has to get right what it does itself, and nothing else.

mod listing;

pub use crate::frames::{Caller, FrameStack, MAX_FRAMES, MAX_LOOPS, STACK_SIZE as FRAME_STACK};
pub use crate::maps::MapView;
pub use crate::memory::handle::{MAPS as FIRST_MAP, STRIDE as MAP_STRIDE};
pub use crate::memory::Window;
pub use crate::memory::NULL_PAGE as FIRST_ADDRESS;
pub use listing::{Alu, Change, Insn, Kept, Listing, Operand, Simple, Test};

use std::sync::Arc;

/// Makes [`Compiled`] code.
pub trait Engine: Send + Sync {
    /// Gets a program; `None` if it can do nothing with it: then the interpreter runs it.
    fn compile(&self, listing: &Listing) -> Option<Arc<dyn Compiled>>;
}

/// A program whose functions are compiled, or will be. Shared by all instances of it.
pub trait Compiled: Send + Sync {
    /// Runs a function from its first instruction, with the registers and the fuel of the guest. It can
    /// leave all of it to the interpreter.
    fn run(&self, function: usize, guest: &mut dyn Guest) -> End;

    /// The interpreter went on at the instruction `at`, and ran so many of them before it stopped.
    fn interpreted(&self, at: usize, instructions: u64);
}

/// Why compiled code stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The function returned; r0 is in its register.
    Returned,
    /// There was a fault, which the guest keeps.
    Fault,
    /// The interpreter is to go on: registers, frames and the next instruction are in the guest.
    Interpret,
}

/// What became of a call of a helper or kernel function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// It returned `r0`, and counts `cost` instructions in addition to itself.
    Value {
        /// Its result.
        r0: u64,
        /// Instructions.
        cost: i64,
    },
    /// As `Value`, but functions are to be called before it is over: see [`Guest::call_back`].
    CallsBack {
        /// Instructions.
        cost: i64,
    },
    /// It is a fault.
    Fault,
}

/// What comes next for a helper that calls back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// It is over, and r0 is its result.
    Done,
    /// A frame was entered for this function, which is to run.
    Run(usize),
    /// The interpreter is to go on, at the instruction that the guest knows.
    Interpret,
    /// It is a fault.
    Fault,
}

/// What compiled code reads itself. A call of the host changes nothing of it but the memory and the CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The memory that may be accessed directly, by region.
    pub windows: *const Window,
    /// How many there are.
    pub window_count: u64,
    /// The CPU that the code runs on.
    pub cpu: u64,
    /// The clock, which stands still meanwhile.
    pub now_ns: u64,
    /// Of each map, by its number: its handle is [`FIRST_MAP`] and so many [`MAP_STRIDE`].
    pub maps: *const MapView,
    /// How many maps there are, times the stride.
    pub maps_end: u64,
}

/// What compiled code works with. The pointers are good as long as the call is in progress.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// As it is now.
    pub view: View,
    /// Instructions that are left.
    pub left: i64,
    /// r0..=r10; the rest is not used.
    pub registers: *mut u64,
    /// Frames.
    pub frames: *mut FrameStack,
}

/// A call in progress, as compiled code sees it. Instructions are named by their index in the
/// [`Listing`].
pub trait Guest {
    /// What there is as a function begins. The registers are r0..=r10; the frames are those that compiled
    /// code may enter and leave itself: of those that had been there.
    fn begin(&mut self) -> Begun;
    /// How many instructions are left at the end.
    fn leave(&mut self, left: i64);
    /// What may be accessed directly. Calls change it, loads and stores do not. The window of a frame's
    /// stack is never another.
    fn view(&mut self) -> View;
    /// Where the interpreter is to go on.
    fn go_on_at(&mut self, at: usize);
    /// A load by the instruction at `at`, zero-extended; `None` is a fault.
    fn load(&mut self, at: usize, addr: u64, bytes: u32) -> Option<u64>;
    /// A store by the instruction at `at`; false is a fault.
    fn store(&mut self, at: usize, addr: u64, bytes: u32, value: u64) -> bool;
    /// Runs one instruction that neither jumps nor calls, with the registers as they are; false is a
    /// fault.
    fn step(&mut self, at: usize) -> bool;
    /// Calls the helper or kernel function of the instruction at `at`, which has this number, with r1 to
    /// r5 in their registers; r0 is in its register, too, and the view is brought up to date.
    fn call(&mut self, at: usize, callee: usize, view: &mut View) -> Called;
    /// Begins with what the helper at `at` calls back.
    fn call_back(&mut self, at: usize) -> Back;
    /// Goes on with it after the function returned; its frame is left.
    fn called_back(&mut self) -> Back;
    /// Enters a frame for the call at `at`; false is a fault.
    fn enter(&mut self, at: usize) -> bool;
}
