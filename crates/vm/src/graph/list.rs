// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linked lists in guest memory, with the kernel's layout: a head is {next, prev}, a node
//! {next, prev, owner}.

use crate::error::Fault;
use crate::memory::Memory;

const PREV: u64 = 8;
const OWNER: u64 = 16;

type Answer<T = u64> = Result<T, Fault>;

/// Takes out the first node, for whoever frees a whole list.
pub(crate) fn pop_front(memory: &mut Memory, head: u64) -> Option<u64> {
    let node = ends(memory, head).ok()?.0;
    (node != head).then(|| unlink(memory, node).ok())?
}

/// First and last node; both are the head if the list is empty. A zeroed head becomes one.
pub(crate) fn ends(memory: &mut Memory, head: u64) -> Result<(u64, u64), Fault> {
    if memory.read(head, 8)? == 0 {
        memory.write(head, 8, head)?;
        memory.write(head.wrapping_add(PREV), 8, head)?;
    }
    Ok((memory.read(head, 8)?, memory.read(head.wrapping_add(PREV), 8)?))
}

fn unlink(memory: &mut Memory, node: u64) -> Answer {
    let (next, prev) = (memory.read(node, 8)?, memory.read(node.wrapping_add(PREV), 8)?);
    memory.write(prev, 8, next)?;
    memory.write(next.wrapping_add(PREV), 8, prev)?;
    for offset in [0, PREV, OWNER] {
        memory.write(node.wrapping_add(offset), 8, 0)?;
    }
    Ok(node)
}

/// Links `node` behind `prev`, which is a node of this list or its head; false if it is not, or
/// if `node` is in a list already.
pub(crate) fn link(memory: &mut Memory, head: u64, node: u64, prev: u64) -> Answer<bool> {
    let stranger = prev != head && memory.read(prev.wrapping_add(OWNER), 8)? != head;
    if stranger || memory.read(node.wrapping_add(OWNER), 8)? != 0 {
        return Ok(false);
    }
    let next = memory.read(prev, 8)?;
    memory.write(node, 8, next)?;
    memory.write(node.wrapping_add(PREV), 8, prev)?;
    memory.write(node.wrapping_add(OWNER), 8, head)?;
    memory.write(prev, 8, node)?;
    memory.write(next.wrapping_add(PREV), 8, node)?;
    Ok(true)
}

/// Takes `node` out if it is in this list.
pub(crate) fn take(memory: &mut Memory, head: u64, node: u64) -> Answer {
    if node == head || memory.read(node.wrapping_add(OWNER), 8)? != head {
        return Ok(0);
    }
    unlink(memory, node)
}
