// SPDX-License-Identifier: MIT OR Apache-2.0
//! Basic blocks of a function, and where its fuel has to be looked at.
//!
//! A block takes its instructions from the fuel as it begins. Whether there is as much is asked at the
//! function's entry, at the beginning of loops and after calls, for the most that can be taken until it
//! is asked again.

use rota_vm::engine::{Insn, Listing};
use std::ops::Range;

/// Instructions without jumps among them, or into them.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) range: Range<usize>,
    /// Its instructions and their costs.
    pub(crate) cost: i64,
    /// Asks for fuel as it begins.
    pub(crate) asks: bool,
    /// The most that is taken from its beginning until fuel is asked for again.
    pub(crate) need: i64,
    pub(crate) next: Vec<usize>,
    /// The blocks that it can follow, and none where the function begins.
    pub(crate) from: Vec<Option<usize>>,
}

/// The blocks of a function that can be reached.
pub(crate) struct Flow {
    first: usize,
    pub(crate) blocks: Vec<Block>,
    /// The block that begins at an instruction, counted from the function's first.
    beginning: Vec<Option<usize>>,
    /// Order in which each comes after all that it goes to, but for loops.
    order: Vec<usize>,
}

/// What an instruction takes from the fuel.
pub(crate) fn cost(insn: &Insn) -> i64 {
    match insn {
        Insn::CallHost { cost, .. } | Insn::Lookup { cost, .. } => 1 + i64::from(*cost),
        _ => 1,
    }
}

/// Where an instruction can go to other than to the next one, and whether it can go there.
pub(crate) fn leads(insn: &Insn) -> (Option<usize>, bool) {
    match insn {
        Insn::Jump { target } => (Some(*target), false),
        Insn::Branch { target, .. } | Insn::MayGoto { target } => (Some(*target), true),
        Insn::Exit => (None, false),
        _ => (None, true),
    }
}

impl Flow {
    pub(crate) fn of(listing: &Listing, function: &Range<usize>) -> Self {
        let mut begins = vec![false; function.len() + 1];
        begins[0] = true;
        for at in function.clone() {
            let insn = &listing.insns[at];
            let (target, goes_on) = leads(insn);
            if let Some(target) = target {
                begins[target - function.start] = true;
            }
            if target.is_some() || !goes_on || matches!(insn, Insn::Call { .. }) {
                begins[at + 1 - function.start] = true;
            }
        }
        let mut flow = Self {
            first: function.start,
            blocks: Vec::new(),
            beginning: vec![None; function.len() + 1],
            order: Vec::new(),
        };
        let mut start = function.start;
        for end in function.start + 1..=function.end {
            if begins[end - function.start] || end == function.end {
                flow.beginning[start - function.start] = Some(flow.blocks.len());
                flow.blocks.push(Block {
                    range: start..end,
                    cost: listing.insns[start..end].iter().map(cost).sum(),
                    asks: false,
                    need: 0,
                    next: Vec::new(),
                    from: Vec::new(),
                });
                start = end;
            }
        }
        flow.connect(listing);
        flow.find_loops();
        flow.find_ways();
        flow.sum_up(listing);
        flow
    }

    /// The block that begins at an instruction.
    pub(crate) fn at(&self, start: usize) -> Option<usize> {
        *self.beginning.get(start.checked_sub(self.first)?)?
    }

    /// Reachable blocks, each after one that goes to it.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().rev().copied()
    }

    /// What is needed once a block is over.
    pub(crate) fn need_after(&self, block: usize) -> i64 {
        let unasked = self.blocks[block].next.iter().filter(|&&next| !self.blocks[next].asks);
        unasked.map(|&next| self.blocks[next].need).max().unwrap_or(0)
    }

    fn connect(&mut self, listing: &Listing) {
        for block in 0..self.blocks.len() {
            let end = self.blocks[block].range.end;
            let (target, goes_on) = leads(&listing.insns[end - 1]);
            let following = goes_on.then_some(end);
            let next = [target, following].into_iter().flatten();
            self.blocks[block].next = next.filter_map(|at| self.at(at)).collect();
        }
    }

    /// Depth first; what leads back to a block that is still open is a loop.
    fn find_loops(&mut self) {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            Not,
            Open,
            Done,
        }
        let mut seen = vec![Seen::Not; self.blocks.len()];
        let mut open = vec![(0, 0)];
        seen[0] = Seen::Open;
        while let Some((block, edge)) = open.pop() {
            let Some(&next) = self.blocks[block].next.get(edge) else {
                seen[block] = Seen::Done;
                self.order.push(block);
                continue;
            };
            open.push((block, edge + 1));
            match seen[next] {
                Seen::Open => self.blocks[next].asks = true,
                Seen::Not => {
                    seen[next] = Seen::Open;
                    open.push((next, 0));
                }
                Seen::Done => {}
            }
        }
    }

    fn find_ways(&mut self) {
        self.blocks[0].from.push(None);
        for &block in &self.order {
            for next in self.blocks[block].next.clone() {
                self.blocks[next].from.push(Some(block));
            }
        }
    }

    fn sum_up(&mut self, listing: &Listing) {
        for position in 0..self.order.len() {
            let block = self.order[position];
            let last = self.blocks[block].range.end - 1;
            let after = match listing.insns[last] {
                // it asks as it goes on
                Insn::Call { .. } => 0,
                _ => self.need_after(block),
            };
            self.blocks[block].need = self.blocks[block].cost + after;
        }
    }
}
