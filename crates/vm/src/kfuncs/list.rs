// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linked lists of owned objects as kernel functions.

use super::row;
use crate::errno::{code, EINVAL};
use crate::error::Fault;
use crate::graph::list;
use crate::host::Host;
use crate::runtime::Runtime;
use crate::table::Kfunc;

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

/// Links `node` behind `prev`; a node that is in a list already is dropped.
fn insert<H: Host>(host: &mut H, rt: &mut Runtime<H>, head: u64, node: u64, prev: u64) -> Answer {
    if list::link(host.memory(), head, node, prev)? {
        return Ok(0);
    }
    rt.release_object(host, node >> 32 << 32);
    Ok(code(EINVAL))
}

fn push_front<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let &[head, node, ..] = args;
    list::ends(host.memory(), head)?;
    insert(host, rt, head, node, head)
}

fn push_back<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let &[head, node, ..] = args;
    let (_, last) = list::ends(host.memory(), head)?;
    insert(host, rt, head, node, last)
}

fn add<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let &[head, node, prev, ..] = args;
    list::ends(host.memory(), head)?;
    insert(host, rt, head, node, prev)
}

fn pop_first<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let (first, _) = list::ends(host.memory(), args[0])?;
    list::take(host.memory(), args[0], first)
}

fn pop_last<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let (_, last) = list::ends(host.memory(), args[0])?;
    list::take(host.memory(), args[0], last)
}

fn delete<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    list::take(host.memory(), args[0], args[1])
}

fn front<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let (first, _) = list::ends(host.memory(), args[0])?;
    Ok(if first == args[0] { 0 } else { first })
}

fn back<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Answer {
    let (_, last) = list::ends(host.memory(), args[0])?;
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
