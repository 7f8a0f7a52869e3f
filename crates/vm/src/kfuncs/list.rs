// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linked lists of owned objects, laid out in guest memory as the kernel does:
//! a head is {next, prev}, a node {next, prev, owner}.

use super::row;
use crate::errno::{code, EINVAL};
use crate::error::Fault;
use crate::host::{Host, Kfunc};
use crate::memory::Memory;
use crate::runtime::Runtime;

const PREV: u64 = 8;
const OWNER: u64 = 16;

pub(super) fn rows<H: Host>() -> [Kfunc<H>; 13] {
    [
        row("bpf_list_push_front", 2..=4, 15, push_front),
        row("bpf_list_push_front_impl", 4..=4, 15, push_front),
        row("bpf_list_push_back", 2..=4, 15, push_back),
        row("bpf_list_push_back_impl", 4..=4, 15, push_back),
        row("bpf_list_add", 3..=5, 15, add),
        row("bpf_list_pop_front", 1..=1, 12, pop_first),
        row("bpf_list_pop_back", 1..=1, 12, pop_last),
        row("bpf_list_del", 2..=2, 12, delete),
        row("bpf_list_front", 1..=1, 5, front),
        row("bpf_list_back", 1..=1, 5, back),
        row("bpf_list_is_first", 2..=2, 5, is_first),
        row("bpf_list_is_last", 2..=2, 5, is_last),
        row("bpf_list_empty", 1..=1, 5, is_empty),
    ]
}

type Answer = Result<u64, Fault>;

/// Takes out the first node, for whoever frees a whole list.
pub(crate) fn pop_front(memory: &mut Memory, head: u64) -> Option<u64> {
    let node = ends(memory, head).ok()?.0;
    (node != head).then(|| unlink(memory, node).ok())?
}

/// First and last node; both are the head if the list is empty. A zeroed head becomes one.
fn ends(memory: &mut Memory, head: u64) -> Result<(u64, u64), Fault> {
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

/// Links `node` behind `prev`; a node that is in a list already is dropped.
fn insert<H: Host>(host: &mut H, rt: &mut Runtime<H>, head: u64, node: u64, prev: u64) -> Answer {
    let memory = host.memory();
    let stranger = prev != head && memory.read(prev.wrapping_add(OWNER), 8)? != head;
    if stranger || memory.read(node.wrapping_add(OWNER), 8)? != 0 {
        rt.release_object(host, node >> 32 << 32);
        return Ok(code(EINVAL));
    }
    let next = memory.read(prev, 8)?;
    memory.write(node, 8, next)?;
    memory.write(node.wrapping_add(PREV), 8, prev)?;
    memory.write(node.wrapping_add(OWNER), 8, head)?;
    memory.write(prev, 8, node)?;
    memory.write(next.wrapping_add(PREV), 8, node)?;
    Ok(0)
}

fn push_front<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let &[head, node, ..] = args;
    ends(host.memory(), head)?;
    insert(host, rt, head, node, head)
}

fn push_back<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let &[head, node, ..] = args;
    let (_, last) = ends(host.memory(), head)?;
    insert(host, rt, head, node, last)
}

fn add<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let &[head, node, prev, ..] = args;
    ends(host.memory(), head)?;
    insert(host, rt, head, node, prev)
}

/// Takes `node` out if it is in this list.
fn take(memory: &mut Memory, head: u64, node: u64) -> Answer {
    if node == head || memory.read(node.wrapping_add(OWNER), 8)? != head {
        return Ok(0);
    }
    unlink(memory, node)
}

fn pop_first<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let (first, _) = ends(host.memory(), args[0])?;
    take(host.memory(), args[0], first)
}

fn pop_last<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let (_, last) = ends(host.memory(), args[0])?;
    take(host.memory(), args[0], last)
}

fn delete<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    take(host.memory(), args[0], args[1])
}

fn front<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let (first, _) = ends(host.memory(), args[0])?;
    Ok(if first == args[0] { 0 } else { first })
}

fn back<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let (_, last) = ends(host.memory(), args[0])?;
    Ok(if last == args[0] { 0 } else { last })
}

fn is_first<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    Ok((front(host, rt, args)? == args[1]).into())
}

fn is_last<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    Ok((back(host, rt, args)? == args[1]).into())
}

fn is_empty<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    Ok((front(host, rt, args)? == 0).into())
}
