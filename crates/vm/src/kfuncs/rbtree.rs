// SPDX-License-Identifier: MIT OR Apache-2.0
//! Red-black trees of owned objects as kernel functions.

use super::row;
use crate::callback::{function_at, Callback, Next};
use crate::errno::{code, EINVAL};
use crate::error::Fault;
use crate::graph::rbtree::Tree;
use crate::host::Host;
use crate::runtime::Runtime;
use crate::table::Kfunc;
use rota_object::image::FuncId;

type Answer = Result<u64, Fault>;

pub(super) fn rows<H: Host>() -> [Kfunc<H>; 7] {
    [
        row("bpf_rbtree_add", 3..=5, 40, add),
        row("bpf_rbtree_add_impl", 5..=5, 40, add),
        row("bpf_rbtree_remove", 2..=2, 40, remove),
        row("bpf_rbtree_first", 1..=1, 5, first),
        row("bpf_rbtree_root", 1..=1, 5, root),
        row("bpf_rbtree_left", 2..=2, 5, left),
        row("bpf_rbtree_right", 2..=2, 5, right),
    ]
}

/// A walk from the root to where a new node belongs, which asks `less(node, other)` on the way.
struct Insertion {
    root: u64,
    node: u64,
    less: FuncId,
    /// Node that was compared last.
    parent: u64,
    /// Only left turns so far.
    leftmost: bool,
}

impl<H: Host> Callback<Runtime<H>, H> for Insertion {
    fn next(&mut self, _: &mut Runtime<H>, host: &mut H, last: Option<u64>) -> Result<Next, Fault> {
        let mut tree = Tree::new(host.memory(), self.root);
        let is_less = last.is_some_and(|r0| r0 != 0);
        let onward = match last {
            None => tree.top()?,
            Some(_) if is_less => tree.left(self.parent)?,
            Some(_) => {
                self.leftmost = false;
                tree.right(self.parent)?
            }
        };
        if onward != 0 {
            self.parent = onward;
            return Ok(Next::Call(self.less, [self.node, onward, 0, 0, 0]));
        }
        tree.insert(self.node, self.parent, is_less, self.leftmost)?;
        Ok(Next::Done(0))
    }
}

/// `bpf_rbtree_add(root, node, less)`; a node that is in a tree already is dropped.
fn add<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let &[root, node, less, ..] = args;
    let less = function_at(less)?;
    if Tree::new(host.memory(), root).owner(node)? != 0 {
        rt.release_object(host, node >> 32 << 32);
        return Ok(code(EINVAL));
    }
    rt.call_back(Box::new(Insertion { root, node, less, parent: 0, leftmost: true }));
    Ok(0)
}

fn remove<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let &[root, node, ..] = args;
    let removed = Tree::new(host.memory(), root).remove(node)?;
    Ok(if removed { node } else { 0 })
}

fn first<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    Tree::new(host.memory(), args[0]).first()
}

fn root<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    Tree::new(host.memory(), args[0]).top()
}

fn left<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let &[root, node, ..] = args;
    let tree = Tree::new(host.memory(), root);
    Ok(if tree.owner(node)? == root { tree.left(node)? } else { 0 })
}

fn right<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let &[root, node, ..] = args;
    let tree = Tree::new(host.memory(), root);
    Ok(if tree.owner(node)? == root { tree.right(node)? } else { 0 })
}
