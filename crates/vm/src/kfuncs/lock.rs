// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resilient spin locks: taking one twice is an error that the program sees.

use super::{row, simple};
use crate::engine::Simple;
use crate::errno::{code, EDEADLK};
use crate::error::Fault;
use crate::host::Host;
use crate::runtime::Runtime;
use crate::table::Kfunc;

pub(super) fn rows<H: Host>() -> [Kfunc<H>; 6] {
    [
        row("bpf_res_spin_lock", 1..=1, 15, lock),
        row("bpf_res_spin_unlock", 1..=1, 8, unlock),
        row("bpf_res_spin_lock_irqsave", 2..=2, 20, lock_irqsave),
        row("bpf_res_spin_unlock_irqrestore", 2..=2, 12, unlock),
        row("bpf_local_irq_save", 1..=1, 4, irq_save),
        simple("bpf_local_irq_restore", 1..=1, 4, irq_restore, Simple::Nothing),
    ]
}

/// Interrupts enabled, as x86's flags register says it.
const FLAGS: u64 = 0x200;

fn lock<H: Host>(host: &mut H, _: &mut Runtime<H>, &[lock, ..]: &[u64; 5]) -> Result<u64, Fault> {
    let memory = host.memory();
    if memory.read(lock, 4)? != 0 {
        return Ok(code(EDEADLK));
    }
    memory.write(lock, 4, 1)?;
    Ok(0)
}

fn lock_irqsave<H: Host>(host: &mut H, rt: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    let result = lock(host, rt, args)?;
    if result == 0 {
        host.memory().write(args[1], 8, FLAGS)?;
    }
    Ok(result)
}

fn unlock<H: Host>(host: &mut H, _: &mut Runtime<H>, &[lock, ..]: &[u64; 5]) -> Result<u64, Fault> {
    let memory = host.memory();
    if memory.read(lock, 4)? == 0 {
        return Err(Fault::denied(format!("the lock at {lock:#x} is not held")));
    }
    memory.write(lock, 4, 0)?;
    Ok(0)
}

fn irq_save<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[flags, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    host.memory().write(flags, 8, FLAGS)?;
    Ok(0)
}

fn irq_restore<H: Host>(_: &mut H, _: &mut Runtime<H>, _: &[u64; 5]) -> Result<u64, Fault> {
    Ok(0)
}
