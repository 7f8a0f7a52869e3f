// SPDX-License-Identifier: MIT OR Apache-2.0
//! Call frames and their stacks.

use crate::callback::Callback;
use crate::error::{Fault, FaultKind};
use crate::memory::Memory;

/// Bytes of stack per frame.
pub const STACK_SIZE: u32 = 512;

/// Frames of one call, callbacks included, as in the kernel.
const MAX_FRAMES: usize = 8;

/// Room behind each stack for the key that a map callback gets a pointer to.
const KEY_ROOM: u32 = 512;

/// Times that one frame may take `may_goto`'s loop edge.
const MAX_LOOPS: u32 = 8 << 20;

/// What a callee must give back to its caller.
pub(crate) struct Saved<R, H> {
    /// Op to go on at.
    pub(crate) pc: usize,
    callee_saved: [u64; 4],
    frame_pointer: u64,
    loops_left: u32,
    /// Who asked for the call, if it was not a plain one.
    pub(crate) callback: Option<Box<dyn Callback<R, H>>>,
}

/// The frame stack of one call. Each frame's stack is a region of its own, so that
/// running off either end of it faults.
pub(crate) struct Frames<R, H> {
    saved: Vec<Saved<R, H>>,
    stacks: Vec<u64>,
    loops_left: u32,
}

impl<R, H> Default for Frames<R, H> {
    fn default() -> Self {
        Self { saved: Vec::new(), stacks: Vec::new(), loops_left: 0 }
    }
}

impl<R, H> Frames<R, H> {
    /// Drops all frames but the first; returns its frame pointer.
    pub(crate) fn reset(&mut self, memory: &mut Memory) -> u64 {
        self.saved.clear();
        self.loops_left = MAX_LOOPS;
        self.stack(0, memory)
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
        let depth = self.saved.len() + 1;
        if depth >= MAX_FRAMES {
            return Err(Fault::new(FaultKind::Stack));
        }
        self.saved.push(Saved {
            pc,
            callee_saved: [regs[6], regs[7], regs[8], regs[9]],
            frame_pointer: regs[10],
            loops_left: self.loops_left,
            callback,
        });
        self.loops_left = MAX_LOOPS;
        regs[10] = self.stack(depth, memory);
        Ok(())
    }

    /// Leaves a frame: r6..=r10 are the caller's again. `None`: it was the first.
    #[inline]
    pub(crate) fn pop(&mut self, regs: &mut [u64; 16]) -> Option<Saved<R, H>> {
        let saved = self.saved.pop()?;
        regs[6..10].copy_from_slice(&saved.callee_saved);
        regs[10] = saved.frame_pointer;
        self.loops_left = saved.loops_left;
        Some(saved)
    }

    /// Counts one loop; false once the frame's loops are used up.
    #[inline]
    pub(crate) fn may_loop(&mut self) -> bool {
        let may = self.loops_left > 0;
        self.loops_left -= u32::from(may);
        may
    }

    fn stack(&mut self, depth: usize, memory: &mut Memory) -> u64 {
        while self.stacks.len() <= depth {
            self.stacks.push(memory.alloc_lasting("stack", STACK_SIZE + KEY_ROOM));
        }
        self.stacks[depth] + u64::from(STACK_SIZE)
    }
}

/// Where the caller of the frame with this frame pointer keeps a key for it.
pub(crate) fn key_room(frame_pointer: u64) -> u64 {
    frame_pointer
}
