// SPDX-License-Identifier: MIT OR Apache-2.0
//! Call frames and their stacks.

use crate::callback::Callback;
use crate::error::{Fault, FaultKind};
use crate::memory::Memory;

/// Bytes of stack per frame.
pub const STACK_SIZE: u32 = 512;

/// Frames of one call, callbacks included, as in the kernel.
pub const MAX_FRAMES: usize = 8;

/// Room behind each stack for the key that a map callback gets a pointer to.
const KEY_ROOM: u32 = 512;

/// Times that one frame may take `may_goto`'s loop edge.
pub const MAX_LOOPS: u64 = 8 << 20;

/// What a callee must give back to its caller.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller {
    /// Instruction to go on at.
    pub pc: u64,
    /// r6 to r9.
    pub kept: [u64; 4],
    /// r10.
    pub frame_pointer: u64,
    /// Of the frame that was left for the callee's.
    pub loops_left: u64,
    unused: u64,
}

/// The frames of a call. Compiled code enters and leaves them, too.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct FrameStack {
    /// Callers of the frame that runs.
    pub depth: u64,
    /// Times that it may still take `may_goto`'s loop edge.
    pub loops_left: u64,
    /// Frame pointers, by depth: 0 if there was no such frame yet.
    pub pointers: [u64; MAX_FRAMES],
    /// Of each caller.
    pub callers: [Caller; MAX_FRAMES],
}

/// The frames of one call. Each frame's stack is a region of its own, so that
/// running off either end of it faults.
pub(crate) struct Frames<R, H> {
    stack: FrameStack,
    /// Who asked for a frame, if it was not a plain call, and the frame's depth.
    callbacks: Vec<(u64, Box<dyn Callback<R, H>>)>,
}

impl<R, H> Default for Frames<R, H> {
    fn default() -> Self {
        Self { stack: FrameStack::default(), callbacks: Vec::new() }
    }
}

/// Where a frame goes back to, and who asked for it, if it was not a plain call.
pub(crate) struct Return<R, H> {
    pub(crate) pc: usize,
    pub(crate) callback: Option<Box<dyn Callback<R, H>>>,
}

impl<R, H> Frames<R, H> {
    /// Drops all frames but the first; returns its frame pointer.
    pub(crate) fn reset(&mut self, memory: &mut Memory) -> u64 {
        self.callbacks.clear();
        (self.stack.depth, self.stack.loops_left) = (0, MAX_LOOPS);
        self.stack(0, memory)
    }

    /// As compiled code sees them.
    pub(crate) fn raw(&mut self) -> &mut FrameStack {
        &mut self.stack
    }

    /// Enters a frame: r10 becomes its frame pointer.
    #[inline]
    pub(crate) fn push(
        &mut self,
        regs: &mut [u64; 16],
        pc: usize,
        callback: Option<Box<dyn Callback<R, H>>>,
        memory: &mut Memory,
    ) -> Result<(), Fault> {
        let depth = self.stack.depth as usize;
        if depth + 1 >= MAX_FRAMES {
            return Err(Fault::new(FaultKind::Stack));
        }
        self.stack.callers[depth] = Caller {
            pc: pc as u64,
            kept: [regs[6], regs[7], regs[8], regs[9]],
            frame_pointer: regs[10],
            loops_left: self.stack.loops_left,
            unused: 0,
        };
        self.stack.depth += 1;
        if let Some(callback) = callback {
            self.callbacks.push((self.stack.depth, callback));
        }
        self.stack.loops_left = MAX_LOOPS;
        regs[10] = self.stack(depth + 1, memory);
        Ok(())
    }

    /// Leaves a frame: r6..=r10 are the caller's again. `None`: it was the first.
    #[inline]
    pub(crate) fn pop(&mut self, regs: &mut [u64; 16]) -> Option<Return<R, H>> {
        let depth = self.stack.depth;
        let caller = depth.checked_sub(1)?;
        let left = self.stack.callers[caller as usize % MAX_FRAMES];
        self.stack.depth = caller;
        regs[6..10].copy_from_slice(&left.kept);
        regs[10] = left.frame_pointer;
        self.stack.loops_left = left.loops_left;
        let asked = self.callbacks.last().is_some_and(|(of, _)| *of == depth);
        let callback = if asked { self.callbacks.pop() } else { None };
        Some(Return { pc: left.pc as usize, callback: callback.map(|(_, callback)| callback) })
    }

    /// Counts one loop; false once the frame's loops are used up.
    #[inline]
    pub(crate) fn may_loop(&mut self) -> bool {
        let may = self.stack.loops_left > 0;
        self.stack.loops_left -= u64::from(may);
        may
    }

    fn stack(&mut self, depth: usize, memory: &mut Memory) -> u64 {
        let pointer = &mut self.stack.pointers[depth];
        if *pointer == 0 {
            let lowest = memory.alloc_lasting("stack", STACK_SIZE + KEY_ROOM);
            *pointer = lowest + u64::from(STACK_SIZE);
        }
        *pointer
    }
}

/// Where the caller of the frame with this frame pointer keeps a key for it.
pub(crate) fn key_room(frame_pointer: u64) -> u64 {
    frame_pointer
}
