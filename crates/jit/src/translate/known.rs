// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of addresses at a point of a function: which registers differ by a number from one
//! value, and in which region that value is.

use rota_vm::engine::Alu;

/// Sums further away from their first operand are not followed, so that none leaves the addresses of a
/// region and comes back from the other side.
const FAR: u64 = 1 << 29;

/// A value that is not looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Root(u32);

/// A root and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) root: Root,
    pub(super) distance: i64,
}

/// What the frame pointer is.
pub(super) const FRAME: Sum = Sum { root: Root(0), distance: 0 };

/// Gives each value a number.
#[derive(Debug)]
pub(super) struct Roots(u32);

impl Roots {
    pub(super) fn new() -> Self {
        Self(0)
    }

    pub(super) fn next(&mut self) -> Sum {
        self.0 += 1;
        Sum { root: Root(self.0), distance: 0 }
    }
}

/// What is known.
#[derive(Clone, Debug)]
pub(super) struct Known {
    registers: [Sum; 10],
    /// The window at hand is that of this sum, and the sum is in the lower half of what a region can
    /// have; or that is not so, and the window at hand has no bytes.
    pub(super) window: Option<Sum>,
}

impl Known {
    /// Nothing is.
    pub(super) fn nothing(roots: &mut Roots) -> Self {
        Self { registers: std::array::from_fn(|_| roots.next()), window: None }
    }

    /// What holds behind each of several ways.
    pub(super) fn both(self, other: &Self, roots: &mut Roots) -> Self {
        let both = |reg: usize| match self.registers[reg] == other.registers[reg] {
            true => self.registers[reg],
            false => roots.next(),
        };
        let registers = std::array::from_fn(both);
        Self { registers, window: self.window.filter(|_| self.window == other.window) }
    }

    pub(super) fn of(&self, reg: u8) -> Sum {
        self.registers.get(usize::from(reg)).copied().unwrap_or(FRAME)
    }

    pub(super) fn set(&mut self, reg: u8, sum: Sum) {
        if let Some(known) = self.registers.get_mut(usize::from(reg)) {
            *known = sum;
        }
    }

    /// A number was added to a register or taken from it.
    pub(super) fn moved(&mut self, reg: u8, op: Alu, number: i64, roots: &mut Roots) {
        let Sum { root, distance } = self.of(reg);
        let number = if op == Alu::Sub { number.checked_neg() } else { Some(number) };
        let distance = number.and_then(|number| distance.checked_add(number));
        let near = distance.filter(|distance| distance.unsigned_abs() < FAR);
        let sum = near.map_or_else(|| roots.next(), |distance| Sum { root, distance });
        self.set(reg, sum);
    }

    /// How far behind what the window at hand was found for an access begins: it has to be checked
    /// against the size of the region, and nothing else.
    pub(super) fn in_window(&self, sum: Sum) -> bool {
        let window = self.window.filter(|window| window.root == sum.root);
        let ahead = window.and_then(|window| sum.distance.checked_sub(window.distance));
        ahead.is_some_and(|ahead| u64::try_from(ahead).is_ok_and(|ahead| ahead < FAR))
    }
}
