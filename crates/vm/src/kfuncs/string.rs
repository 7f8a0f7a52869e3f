// SPDX-License-Identifier: MIT OR Apache-2.0
//! String functions on kernel memory.

use super::row;
use crate::errno::{code, E2BIG, EFAULT, ENOENT};
use crate::error::Fault;
use crate::host::Host;
use crate::memory::Memory;
use crate::runtime::Runtime;
use crate::table::Kfunc;

/// `XATTR_SIZE_MAX`: no string is longer.
const MAX_LEN: u64 = 65_536;

pub(super) fn rows<H: Host>() -> [Kfunc<H>; 10] {
    [
        row("bpf_strcmp", 2..=2, 30, strcmp),
        row("bpf_strcasecmp", 2..=2, 40, strcasecmp),
        row("bpf_strlen", 1..=1, 20, strlen),
        row("bpf_strnlen", 2..=2, 20, strnlen),
        row("bpf_strchr", 2..=2, 20, strchr),
        row("bpf_strrchr", 2..=2, 20, strrchr),
        row("bpf_strstr", 2..=2, 60, strstr),
        row("bpf_strchrnul", 2..=2, 20, strchrnul),
        row("bpf_strspn", 2..=2, 40, strspn),
        row("bpf_strcspn", 2..=2, 40, strcspn),
    ]
}

/// The bytes of a string without its NUL; an error number if it cannot be read.
fn text(memory: &Memory, addr: u64, max: u64) -> Result<&[u8], i64> {
    let rest = memory.rest_of(addr);
    let bytes = memory.bytes(addr, rest.min(max as u32)).map_err(|_| EFAULT)?;
    match bytes.iter().position(|&byte| byte == 0) {
        Some(end) => Ok(&bytes[..end]),
        None if bytes.len() as u64 >= max => Err(E2BIG),
        None => Err(EFAULT),
    }
}

/// A result or an error number, as a register holds it.
fn register<T: Into<u64>>(result: Result<T, i64>) -> Result<u64, Fault> {
    Ok(result.map_or_else(code, Into::into))
}

fn order(a: &[u8], b: &[u8]) -> u64 {
    a.cmp(b) as i64 as u64
}

fn strcmp<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    let memory = host.memory();
    let (a, b) = (text(memory, args[0], MAX_LEN), text(memory, args[1], MAX_LEN));
    register(a.and_then(|a| Ok(order(a, b?))))
}

fn strcasecmp<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    let memory = host.memory();
    let (a, b) = (text(memory, args[0], MAX_LEN), text(memory, args[1], MAX_LEN));
    register(a.and_then(|a| Ok(order(&a.to_ascii_lowercase(), &b?.to_ascii_lowercase()))))
}

fn strlen<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    register(text(host.memory(), args[0], MAX_LEN).map(|text| text.len() as u64))
}

fn strnlen<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    let max = args[1].min(MAX_LEN);
    match text(host.memory(), args[0], max) {
        Err(E2BIG) => Ok(max),
        other => register(other.map(|text| text.len() as u64)),
    }
}

/// The position that `find` gives, or -ENOENT.
fn find<H: Host>(
    host: &mut H,
    addr: u64,
    find: impl Fn(&[u8]) -> Option<usize>,
) -> Result<u64, Fault> {
    let found = text(host.memory(), addr, MAX_LEN).and_then(|text| find(text).ok_or(ENOENT));
    register(found.map(|at| at as u64))
}

fn strchr<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    let wanted = args[1] as u8;
    find(host, args[0], |text| match wanted {
        0 => Some(text.len()),
        _ => text.iter().position(|&byte| byte == wanted),
    })
}

fn strrchr<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    let wanted = args[1] as u8;
    find(host, args[0], |text| match wanted {
        0 => Some(text.len()),
        _ => text.iter().rposition(|&byte| byte == wanted),
    })
}

/// As [`strchr`], but the end is what is found if nothing else is.
fn strchrnul<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    let wanted = args[1] as u8;
    find(host, args[0], |text| {
        Some(text.iter().position(|&byte| byte == wanted).unwrap_or(text.len()))
    })
}

fn strspn<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    span(host, args, true)
}

fn strcspn<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    span(host, args, false)
}

/// How many bytes at the start of the first string are (or are not) in the second.
fn span<H: Host>(host: &mut H, args: &[u64; 5], inside: bool) -> Result<u64, Fault> {
    let mut set = [false; 256];
    match text(host.memory(), args[1], MAX_LEN) {
        Ok(bytes) => bytes.iter().for_each(|&byte| set[usize::from(byte)] = true),
        Err(errno) => return Ok(code(errno)),
    }
    find(host, args[0], |text| {
        let outside = |&byte: &u8| set[usize::from(byte)] != inside;
        Some(text.iter().position(outside).unwrap_or(text.len()))
    })
}

fn strstr<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    let needle = match text(host.memory(), args[1], MAX_LEN) {
        Ok(needle) => needle.to_vec(),
        Err(errno) => return Ok(code(errno)),
    };
    find(host, args[0], |text| match needle.len() {
        0 => Some(0),
        len => text.windows(len).position(|part| part == needle),
    })
}
