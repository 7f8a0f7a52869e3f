// SPDX-License-Identifier: MIT OR Apache-2.0
//! A red-black tree in guest memory, with the kernel's layout: a root is
//! {top, leftmost}, a node {parent | colour, right, left, owner}.
//!
//! Guest code could have overwritten a node, so every access is checked and every walk
//! is bounded.

use crate::error::Fault;
use crate::memory::Memory;

const LEFTMOST: u64 = 8;
const RIGHT: u64 = 8;
const LEFT: u64 = 16;
const OWNER: u64 = 24;
/// Colour bit of a node's first word.
const BLACK: u64 = 1;

/// A red-black tree is at most twice as deep as a perfect one of 2^32 nodes.
const MAX_DEPTH: u32 = 64;

/// Either child: what is true of one is true of the other, mirrored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Side {
    fn offset(self) -> u64 {
        match self {
            Self::Left => LEFT,
            Self::Right => RIGHT,
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

type Answer<T = u64> = Result<T, Fault>;

/// The tree under one root.
pub(crate) struct Tree<'a> {
    memory: &'a mut Memory,
    root: u64,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(memory: &'a mut Memory, root: u64) -> Self {
        Self { memory, root }
    }

    /// The top node, 0 if the tree is empty.
    pub(crate) fn top(&self) -> Answer {
        self.memory.read(self.root, 8)
    }

    /// The leftmost node, 0 if the tree is empty.
    pub(crate) fn first(&self) -> Answer {
        self.memory.read(self.root.wrapping_add(LEFTMOST), 8)
    }

    pub(crate) fn left(&self, node: u64) -> Answer {
        self.child(node, Side::Left)
    }

    pub(crate) fn right(&self, node: u64) -> Answer {
        self.child(node, Side::Right)
    }

    /// The root of the tree that a node is in, 0 if it is in none.
    pub(crate) fn owner(&self, node: u64) -> Answer {
        self.memory.read(node.wrapping_add(OWNER), 8)
    }

    fn child(&self, node: u64, side: Side) -> Answer {
        self.memory.read(node.wrapping_add(side.offset()), 8)
    }

    fn set_child(&mut self, node: u64, side: Side, child: u64) -> Answer<()> {
        self.memory.write(node.wrapping_add(side.offset()), 8, child)
    }

    fn parent(&self, node: u64) -> Answer {
        Ok(self.memory.read(node, 8)? & !3)
    }

    fn set_parent(&mut self, node: u64, parent: u64) -> Answer<()> {
        let colour = self.memory.read(node, 8)? & BLACK;
        self.memory.write(node, 8, parent | colour)
    }

    /// Missing nodes are black.
    fn is_red(&self, node: u64) -> Answer<bool> {
        Ok(node != 0 && self.memory.read(node, 8)? & BLACK == 0)
    }

    fn paint(&mut self, node: u64, colour: u64) -> Answer<()> {
        let word = self.memory.read(node, 8)? & !BLACK;
        self.memory.write(node, 8, word | colour)
    }

    fn side_of(&self, parent: u64, node: u64) -> Answer<Side> {
        Ok(if self.left(parent)? == node { Side::Left } else { Side::Right })
    }

    /// Puts `new` (which may be 0) where `old` hangs.
    fn replace(&mut self, parent: u64, old: u64, new: u64) -> Answer<()> {
        if parent == 0 {
            self.memory.write(self.root, 8, new)?;
        } else {
            let side = self.side_of(parent, old)?;
            self.set_child(parent, side, new)?;
        }
        if new != 0 {
            self.set_parent(new, parent)?;
        }
        Ok(())
    }

    /// Moves `node` down to `side`; its child on the other side takes its place.
    fn rotate(&mut self, node: u64, side: Side) -> Answer<()> {
        let up = self.child(node, side.other())?;
        let inner = self.child(up, side)?;
        let parent = self.parent(node)?;
        self.replace(parent, node, up)?;
        self.set_child(node, side.other(), inner)?;
        if inner != 0 {
            self.set_parent(inner, node)?;
        }
        self.set_child(up, side, node)?;
        self.set_parent(node, up)
    }

    /// Links a new node under `parent` (0: the tree is empty) and restores balance.
    pub(crate) fn insert(
        &mut self,
        node: u64,
        parent: u64,
        to_left: bool,
        leftmost: bool,
    ) -> Answer<()> {
        self.memory.write(node, 8, parent)?;
        self.memory.write(node.wrapping_add(RIGHT), 8, 0)?;
        self.memory.write(node.wrapping_add(LEFT), 8, 0)?;
        self.memory.write(node.wrapping_add(OWNER), 8, self.root)?;
        if parent == 0 {
            self.memory.write(self.root, 8, node)?;
        } else {
            self.set_child(parent, if to_left { Side::Left } else { Side::Right }, node)?;
        }
        if leftmost {
            self.memory.write(self.root.wrapping_add(LEFTMOST), 8, node)?;
        }
        self.mend_red(node)
    }

    /// `node` is red; no red node may have a red parent.
    fn mend_red(&mut self, mut node: u64) -> Answer<()> {
        for _ in 0..MAX_DEPTH {
            let parent = self.parent(node)?;
            if parent == 0 {
                return self.paint(node, BLACK);
            }
            if !self.is_red(parent)? {
                return Ok(());
            }
            let grand = self.parent(parent)?;
            let side = self.side_of(grand, parent)?;
            let uncle = self.child(grand, side.other())?;
            if self.is_red(uncle)? {
                self.paint(parent, BLACK)?;
                self.paint(uncle, BLACK)?;
                self.paint(grand, 0)?;
                node = grand;
                continue;
            }
            let mut upper = parent;
            if self.child(parent, side.other())? == node {
                self.rotate(parent, side)?;
                upper = node;
            }
            self.rotate(grand, side.other())?;
            self.paint(upper, BLACK)?;
            return self.paint(grand, 0);
        }
        Err(damaged())
    }

    /// Takes a node out; false if it is not in this tree.
    pub(crate) fn remove(&mut self, node: u64) -> Answer<bool> {
        if self.owner(node)? != self.root {
            return Ok(false);
        }
        if self.first()? == node {
            let next = self.successor(node)?;
            self.memory.write(self.root.wrapping_add(LEFTMOST), 8, next)?;
        }
        let (left, right) = (self.left(node)?, self.right(node)?);
        let parent = self.parent(node)?;
        // What moves up, under whom, and the colour that went missing there.
        let (risen, under, lost_black) = if left == 0 || right == 0 {
            let child = left | right;
            let lost = !self.is_red(node)?;
            self.replace(parent, node, child)?;
            (child, parent, lost)
        } else {
            let next = self.least(right)?;
            let lost = !self.is_red(next)?;
            let child = self.right(next)?;
            let under = if next == right {
                next
            } else {
                let above = self.parent(next)?;
                self.replace(above, next, child)?;
                self.set_child(next, Side::Right, right)?;
                self.set_parent(right, next)?;
                above
            };
            self.replace(parent, node, next)?;
            self.set_child(next, Side::Left, left)?;
            self.set_parent(left, next)?;
            let colour = if self.is_red(node)? { 0 } else { BLACK };
            self.paint(next, colour)?;
            (child, under, lost)
        };
        if lost_black {
            self.mend_black(risen, under)?;
        }
        for offset in [0, RIGHT, LEFT, OWNER] {
            self.memory.write(node.wrapping_add(offset), 8, 0)?;
        }
        Ok(true)
    }

    /// Paths through `node`, a child of `parent`, have one black node too few.
    fn mend_black(&mut self, mut node: u64, mut parent: u64) -> Answer<()> {
        for _ in 0..MAX_DEPTH {
            if parent == 0 || self.is_red(node)? {
                break;
            }
            let side = self.side_of(parent, node)?;
            let mut sibling = self.child(parent, side.other())?;
            if self.is_red(sibling)? {
                self.paint(sibling, BLACK)?;
                self.paint(parent, 0)?;
                self.rotate(parent, side)?;
                sibling = self.child(parent, side.other())?;
            }
            let near = self.child(sibling, side)?;
            let far = self.child(sibling, side.other())?;
            if !self.is_red(near)? && !self.is_red(far)? {
                self.paint(sibling, 0)?;
                node = parent;
                parent = self.parent(node)?;
                continue;
            }
            let (mut upper, mut outer) = (sibling, far);
            if !self.is_red(far)? {
                self.rotate(sibling, side.other())?;
                (upper, outer) = (near, sibling);
            }
            let colour = if self.is_red(parent)? { 0 } else { BLACK };
            self.rotate(parent, side)?;
            self.paint(upper, colour)?;
            self.paint(parent, BLACK)?;
            return self.paint(outer, BLACK);
        }
        if node != 0 {
            self.paint(node, BLACK)?;
        }
        Ok(())
    }

    fn least(&self, mut node: u64) -> Answer {
        for _ in 0..MAX_DEPTH {
            match self.left(node)? {
                0 => return Ok(node),
                left => node = left,
            }
        }
        Err(damaged())
    }

    /// The next node in order of the leftmost one, 0 if it is alone.
    fn successor(&self, leftmost: u64) -> Answer {
        match self.right(leftmost)? {
            0 => self.parent(leftmost),
            right => self.least(right),
        }
    }
}

fn damaged() -> Fault {
    Fault::denied("the nodes of an rbtree were overwritten")
}

/// Takes out the first node, for whoever frees a whole tree.
pub(crate) fn pop_first(memory: &mut Memory, root: u64) -> Option<u64> {
    let mut tree = Tree::new(memory, root);
    let node = tree.first().ok().filter(|&node| node != 0)?;
    tree.remove(node).ok()?.then_some(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Perm;
    use proptest::prelude::*;

    /// Nodes carry their key behind the four words of the tree.
    const KEY: u64 = 32;

    fn add(memory: &mut Memory, root: u64, key: u64) -> u64 {
        let node = memory.alloc("node", 40, Perm::ReadWrite);
        memory.set_u64(node + KEY, key);
        let (mut parent, mut to_left, mut leftmost) = (0, false, true);
        let mut at = Tree::new(memory, root).top().unwrap();
        while at != 0 {
            parent = at;
            to_left = key < memory.get_u64(at + KEY);
            leftmost &= to_left;
            let tree = Tree::new(memory, root);
            at = if to_left { tree.left(at).unwrap() } else { tree.right(at).unwrap() };
        }
        Tree::new(memory, root).insert(node, parent, to_left, leftmost).unwrap();
        node
    }

    /// Keys in order; checks colours, parents and black heights on the way.
    fn walk(tree: &Tree<'_>, node: u64, parent: u64, out: &mut Vec<u64>) -> u32 {
        if node == 0 {
            return 0;
        }
        assert_eq!(tree.parent(node).unwrap(), parent);
        let red = tree.is_red(node).unwrap();
        assert!(!(red && tree.is_red(parent).unwrap()), "red under red");
        let left = walk(tree, tree.left(node).unwrap(), node, out);
        out.push(tree.memory.get_u64(node + KEY));
        let right = walk(tree, tree.right(node).unwrap(), node, out);
        assert_eq!(left, right, "black height");
        left + u32::from(!red)
    }

    proptest! {
        #[test]
        fn stays_ordered_and_balanced(steps in prop::collection::vec((any::<bool>(), 0u64..50), 1..200)) {
            let mut memory = Memory::new();
            let root = memory.alloc("root", 16, Perm::ReadWrite);
            let mut model: Vec<(u64, u64)> = Vec::new();
            for (remove, key) in steps {
                match model.iter().position(|entry| entry.0 == key) {
                    Some(at) if remove => {
                        let (_, node) = model.remove(at);
                        prop_assert!(Tree::new(&mut memory, root).remove(node).unwrap());
                        prop_assert!(!Tree::new(&mut memory, root).remove(node).unwrap());
                    }
                    _ => {
                        let node = add(&mut memory, root, key);
                        model.push((key, node));
                    }
                }
                let tree = Tree::new(&mut memory, root);
                let mut keys = Vec::new();
                walk(&tree, tree.top().unwrap(), 0, &mut keys);
                let mut expected: Vec<u64> = model.iter().map(|entry| entry.0).collect();
                expected.sort_unstable();
                prop_assert_eq!(&keys, &expected);
                let first = tree.first().unwrap();
                let least = if first == 0 { None } else { Some(tree.memory.get_u64(first + KEY)) };
                prop_assert_eq!(least, expected.first().copied());
            }
        }
    }
}
