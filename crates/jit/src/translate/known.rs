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
    hand: Hand,
}

/// What is in the registers for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hand {
    Nothing,
    /// The window of this sum, and the sum is in the lower half of what a region can have; or that is not
    /// so, and the window at hand has no bytes.
    Window(Sum),
    /// The shift of this region.
    Region(u32),
    /// The same, and in the place of a window how far behind the region's beginning a sum is.
    Distance(u32, Sum),
}

impl Known {
    /// Nothing is.
    pub(super) fn nothing(roots: &mut Roots) -> Self {
        Self { registers: std::array::from_fn(|_| roots.next()), hand: Hand::Nothing }
    }

    /// What holds behind each of several ways.
    pub(super) fn both(self, other: &Self, roots: &mut Roots) -> Self {
        let both = |reg: usize| match self.registers[reg] == other.registers[reg] {
            true => self.registers[reg],
            false => roots.next(),
        };
        let registers = std::array::from_fn(both);
        let hand = match (self.hand, other.hand) {
            (one, other) if one == other => one,
            (one, other) if one.region().is_some() && one.region() == other.region() => {
                one.without_window()
            }
            _ => Hand::Nothing,
        };
        Self { registers, hand }
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

    /// Other code may have changed what is at hand.
    pub(super) fn lose(&mut self) {
        self.hand = Hand::Nothing;
    }

    /// The window's register gets something else.
    pub(super) fn lose_window(&mut self) {
        self.hand = self.hand.without_window();
    }

    /// The window of a sum was found.
    pub(super) fn found(&mut self, sum: Sum) {
        self.hand = Hand::Window(sum);
    }

    /// The shift of a region was loaded.
    pub(super) fn shifted(&mut self, region: u32) {
        self.hand = Hand::Region(region);
    }

    /// With the shift of a region, how far behind its beginning a sum is was put in the window's place.
    pub(super) fn measured(&mut self, region: u32, sum: Sum) {
        self.hand = Hand::Distance(region, sum);
    }

    /// The region whose shift is at hand.
    pub(super) fn region(&self) -> Option<u32> {
        self.hand.region()
    }

    /// How far behind a sum whose distance in a region is at hand another one is.
    pub(super) fn behind_measured(&self, region: u32, sum: Sum) -> Option<i32> {
        match self.hand {
            Hand::Distance(of, measured) if of == region && measured.root == sum.root => {
                i32::try_from(sum.distance.checked_sub(measured.distance)?).ok()
            }
            _ => None,
        }
    }

    /// How far behind what the window at hand was found for an access begins: it has to be checked
    /// against the size of the region, and nothing else.
    pub(super) fn in_window(&self, sum: Sum) -> bool {
        let Hand::Window(window) = self.hand else { return false };
        let ahead = sum.distance.checked_sub(window.distance).filter(|_| window.root == sum.root);
        ahead.is_some_and(|ahead| u64::try_from(ahead).is_ok_and(|ahead| ahead < FAR))
    }
}

impl Hand {
    fn region(self) -> Option<u32> {
        match self {
            Self::Region(region) | Self::Distance(region, _) => Some(region),
            Self::Nothing | Self::Window(_) => None,
        }
    }

    fn without_window(self) -> Self {
        self.region().map_or(Self::Nothing, Self::Region)
    }
}
