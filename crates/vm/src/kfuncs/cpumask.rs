// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU masks. A mask is words of 64 bits; bits beyond the machine's CPUs are ignored.

use super::row;
use crate::errno::code;
use crate::error::Fault;
use crate::host::Host;
use crate::maps::Special;
use crate::memory::{Memory, Perm};
use crate::runtime::Runtime;
use crate::table::Kfunc;
use std::sync::Arc;

type Answer = Result<u64, Fault>;
type Args = [u64; 5];

const EACCES: i64 = 13;

pub(super) fn rows<H: Host>() -> Vec<Kfunc<H>> {
    vec![
        row("bpf_cpumask_create", 0..=0, 60, create),
        row("bpf_cpumask_acquire", 1..=1, 5, acquire),
        row("bpf_cpumask_release", 1..=1, 20, release),
        row("bpf_cpumask_first", 1..=1, 8, first),
        row("bpf_cpumask_first_zero", 1..=1, 8, first_zero),
        row("bpf_cpumask_first_and", 2..=2, 10, first_and),
        row("bpf_cpumask_set_cpu", 2..=2, 6, set_cpu),
        row("bpf_cpumask_clear_cpu", 2..=2, 6, clear_cpu),
        row("bpf_cpumask_test_cpu", 2..=2, 5, test_cpu),
        row("bpf_cpumask_test_and_set_cpu", 2..=2, 8, set_cpu),
        row("bpf_cpumask_test_and_clear_cpu", 2..=2, 8, clear_cpu),
        row("bpf_cpumask_setall", 1..=1, 8, set_all),
        row("bpf_cpumask_clear", 1..=1, 8, clear),
        row("bpf_cpumask_and", 3..=3, 12, and),
        row("bpf_cpumask_or", 3..=3, 12, or),
        row("bpf_cpumask_xor", 3..=3, 12, xor),
        row("bpf_cpumask_equal", 2..=2, 10, equal),
        row("bpf_cpumask_intersects", 2..=2, 10, intersects),
        row("bpf_cpumask_subset", 2..=2, 10, subset),
        row("bpf_cpumask_empty", 1..=1, 8, empty),
        row("bpf_cpumask_full", 1..=1, 8, full),
        row("bpf_cpumask_copy", 2..=2, 8, copy),
        row("bpf_cpumask_any_distribute", 1..=1, 15, any_distribute),
        row("bpf_cpumask_any_and_distribute", 2..=2, 18, any_and_distribute),
        row("bpf_cpumask_weight", 1..=1, 10, weight),
        row("bpf_cpumask_populate", 3..=3, 12, populate),
    ]
}

/// Words of a mask, as `(offset, bits that are CPUs)`.
fn words(cpus: u32) -> impl Iterator<Item = (u64, u64)> {
    (0..cpus.div_ceil(64)).map(move |word| {
        let bits = (cpus - word * 64).min(64);
        (u64::from(word) * 8, u64::MAX >> (64 - bits))
    })
}

/// The first CPU at or after `from` that `of` leaves set, or the number of CPUs.
fn find(cpus: u32, from: u32, mut of: impl FnMut(u64) -> Result<u64, Fault>) -> Result<u32, Fault> {
    for (offset, valid) in words(cpus).skip(from as usize / 64) {
        let base = offset as u32 * 8;
        let skipped = if from > base { u64::MAX << (from - base) } else { u64::MAX };
        let word = of(offset)? & valid & skipped;
        if word != 0 {
            return Ok(base + word.trailing_zeros());
        }
    }
    Ok(cpus)
}

fn create<H: Host>(host: &mut H, rt: &mut Runtime<H>, _: &Args) -> Answer {
    let size = rt.layout.cpumask_object;
    let addr = host.memory().alloc("struct bpf_cpumask", size, Perm::ReadWrite);
    rt.objects.add(addr, Arc::new(Special::default()));
    Ok(addr)
}

fn acquire<H: Host>(_: &mut H, rt: &mut Runtime<H>, args: &Args) -> Answer {
    rt.objects.acquire(args[0]);
    Ok(args[0])
}

fn release<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &Args) -> Answer {
    if !rt.objects.contains(args[0]) {
        return Err(Fault::denied(format!(
            "release of {:#x}, which is not a live cpumask",
            args[0]
        )));
    }
    rt.release_object(host, args[0]);
    Ok(0)
}

fn first<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    let cpus = host.nr_cpus();
    let memory = host.memory();
    find(cpus, 0, |at| memory.read(args[0].wrapping_add(at), 8)).map(u64::from)
}

fn first_zero<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    let cpus = host.nr_cpus();
    let memory = host.memory();
    find(cpus, 0, |at| Ok(!memory.read(args[0].wrapping_add(at), 8)?)).map(u64::from)
}

fn first_and<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    let cpus = host.nr_cpus();
    let memory = host.memory();
    find(cpus, 0, |at| both(memory, args[0], args[1], at)).map(u64::from)
}

fn both(memory: &Memory, a: u64, b: u64, at: u64) -> Answer {
    Ok(memory.read(a.wrapping_add(at), 8)? & memory.read(b.wrapping_add(at), 8)?)
}

/// Changes one bit; returns what it was.
fn change<H: Host>(host: &mut H, args: &Args, to: bool) -> Answer {
    let (cpu, mask) = (args[0] as u32, args[1]);
    if cpu >= host.nr_cpus() {
        return Ok(0);
    }
    let memory = host.memory();
    let addr = mask.wrapping_add(u64::from(cpu / 64) * 8);
    let old = memory.read(addr, 8)?;
    let bit = 1 << (cpu % 64);
    memory.write(addr, 8, if to { old | bit } else { old & !bit })?;
    Ok((old & bit != 0).into())
}

fn set_cpu<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    change(host, args, true)
}

fn clear_cpu<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    change(host, args, false)
}

fn test_cpu<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    let (cpu, mask) = (args[0] as u32, args[1]);
    if cpu >= host.nr_cpus() {
        return Ok(0);
    }
    let word = host.memory().read(mask.wrapping_add(u64::from(cpu / 64) * 8), 8)?;
    Ok(word >> (cpu % 64) & 1)
}

/// Sets every word of a mask; returns whether any CPU is in it now.
fn fill<H: Host>(host: &mut H, to: u64, of: impl Fn(&Memory, u64) -> Result<u64, Fault>) -> Answer {
    let cpus = host.nr_cpus();
    let memory = host.memory();
    let mut any = false;
    for (at, valid) in words(cpus) {
        let word = of(memory, at)? & valid;
        memory.write(to.wrapping_add(at), 8, word)?;
        any |= word != 0;
    }
    Ok(any.into())
}

fn set_all<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    fill(host, args[0], |_, _| Ok(u64::MAX)).map(|_| 0)
}

fn clear<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    fill(host, args[0], |_, _| Ok(0))
}

fn and<H: Host>(host: &mut H, _: &mut Runtime<H>, &[to, a, b, ..]: &Args) -> Answer {
    fill(host, to, |memory, at| both(memory, a, b, at))
}

fn or<H: Host>(host: &mut H, _: &mut Runtime<H>, &[to, a, b, ..]: &Args) -> Answer {
    fill(host, to, |memory, at| {
        Ok(memory.read(a.wrapping_add(at), 8)? | memory.read(b.wrapping_add(at), 8)?)
    })
    .map(|_| 0)
}

fn xor<H: Host>(host: &mut H, _: &mut Runtime<H>, &[to, a, b, ..]: &Args) -> Answer {
    fill(host, to, |memory, at| {
        Ok(memory.read(a.wrapping_add(at), 8)? ^ memory.read(b.wrapping_add(at), 8)?)
    })
    .map(|_| 0)
}

fn copy<H: Host>(host: &mut H, _: &mut Runtime<H>, &[to, from, ..]: &Args) -> Answer {
    fill(host, to, |memory, at| memory.read(from.wrapping_add(at), 8)).map(|_| 0)
}

/// `bpf_cpumask_populate(mask, source, size)`.
fn populate<H: Host>(host: &mut H, _: &mut Runtime<H>, &[to, from, size, ..]: &Args) -> Answer {
    if size < u64::from(host.nr_cpus().div_ceil(64)) * 8 {
        return Ok(code(EACCES));
    }
    fill(host, to, |memory, at| memory.read(from.wrapping_add(at), 8)).map(|_| 0)
}

/// Whether `holds` is true of the CPUs of every pair of words.
fn all<H: Host>(host: &mut H, &[a, b, ..]: &Args, holds: impl Fn(u64, u64, u64) -> bool) -> Answer {
    let cpus = host.nr_cpus();
    let memory = host.memory();
    for (at, valid) in words(cpus) {
        let (x, y) = (
            memory.read(a.wrapping_add(at), 8)? & valid,
            memory.read(b.wrapping_add(at), 8)? & valid,
        );
        if !holds(x, y, valid) {
            return Ok(0);
        }
    }
    Ok(1)
}

fn equal<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    all(host, args, |a, b, _| a == b)
}

fn intersects<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    all(host, args, |a, b, _| a & b == 0).map(|disjoint| 1 - disjoint)
}

fn subset<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    all(host, args, |a, b, _| a & !b == 0)
}

fn empty<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    all(host, &[args[0], args[0], 0, 0, 0], |a, _, _| a == 0)
}

fn full<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    all(host, &[args[0], args[0], 0, 0, 0], |a, _, valid| a == valid)
}

fn weight<H: Host>(host: &mut H, _: &mut Runtime<H>, args: &Args) -> Answer {
    let cpus = host.nr_cpus();
    let memory = host.memory();
    let mut sum = 0;
    for (at, valid) in words(cpus) {
        sum += u64::from((memory.read(args[0].wrapping_add(at), 8)? & valid).count_ones());
    }
    Ok(sum)
}

/// Walks round the CPUs, going on behind what this CPU got last.
fn distribute<H: Host>(host: &mut H, rt: &mut Runtime<H>, a: u64, b: u64) -> Answer {
    let (cpus, here) = (host.nr_cpus(), host.cpu());
    let memory = host.memory();
    let last = rt.last_distributed(here);
    let mut next = find(cpus, *last + 1, |at| both(memory, a, b, at))?;
    if next >= cpus {
        next = find(cpus, 0, |at| both(memory, a, b, at))?;
    }
    if next < cpus {
        *last = next;
    }
    Ok(next.into())
}

fn any_distribute<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &Args) -> Answer {
    distribute(host, rt, args[0], args[0])
}

fn any_and_distribute<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &Args) -> Answer {
    distribute(host, rt, args[0], args[1])
}
