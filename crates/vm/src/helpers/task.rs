// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers about where code runs and for whom.

use crate::errno::{code, EINVAL, EOPNOTSUPP};
use crate::error::Fault;
use crate::host::Host;
use crate::runtime::Runtime;

type Args = [u64; 5];

/// What a host sets in the word before a tracing program's arguments, with their number, if the
/// function has returned.
pub const RETURNED: u64 = 1 << 63;

/// `bpf_get_prandom_u32()`.
pub(super) fn random<H: Host>(host: &mut H, _: &mut Runtime<H>, _: &Args) -> Result<u64, Fault> {
    Ok(host.random_u32().into())
}

/// `bpf_get_smp_processor_id()`.
pub(super) fn cpu<H: Host>(host: &mut H, _: &mut Runtime<H>, _: &Args) -> Result<u64, Fault> {
    Ok(host.cpu().into())
}

/// `bpf_get_numa_node_id()`.
pub(super) fn numa_node<H: Host>(host: &mut H, _: &mut Runtime<H>, _: &Args) -> Result<u64, Fault> {
    Ok(host.numa_node().into())
}

/// `bpf_get_current_task()` and `bpf_get_current_task_btf()`.
pub(super) fn current<H: Host>(host: &mut H, _: &mut Runtime<H>, _: &Args) -> Result<u64, Fault> {
    Ok(host.current_task())
}

/// `bpf_get_current_pid_tgid()`: process in the high half, thread in the low one.
pub(super) fn pid_tgid<H: Host>(host: &mut H, rt: &mut Runtime<H>, _: &Args) -> Result<u64, Fault> {
    let task = host.current_task();
    let (Some(pid), Some(tgid)) = (rt.layout.pid, rt.layout.tgid) else {
        return Ok(code(EINVAL));
    };
    if task == 0 {
        return Ok(code(EINVAL));
    }
    let memory = host.memory();
    let pid = memory.read(task + u64::from(pid), 4)?;
    let tgid = memory.read(task + u64::from(tgid), 4)?;
    Ok(tgid << 32 | pid)
}

/// `bpf_get_current_comm(buffer, size)`.
pub(super) fn comm<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[buffer, size, ..]: &Args,
) -> Result<u64, Fault> {
    let task = host.current_task();
    let size = size as u32;
    if size == 0 {
        return Ok(code(EINVAL));
    }
    let memory = host.memory();
    let name = match rt.layout.comm.filter(|_| task != 0) {
        Some((offset, len)) => memory.c_string(task + u64::from(offset), len)?,
        None => String::new(),
    };
    let room = memory.guest_bytes_mut(buffer, size)?;
    room.fill(0);
    let len = name.len().min(room.len() - 1);
    room[..len].copy_from_slice(&name.as_bytes()[..len]);
    Ok(if task == 0 { code(EINVAL) } else { 0 })
}

/// `bpf_get_current_cgroup_id()`.
pub(super) fn cgroup_id<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    _: &Args,
) -> Result<u64, Fault> {
    let task = host.current_task();
    let cgroup = host.cgroup_of(task);
    let (Some(kn), Some(id)) = (rt.layout.cgroup_kn, rt.layout.kn_id) else { return Ok(0) };
    if cgroup == 0 {
        return Ok(0);
    }
    let memory = host.memory();
    let node = memory.read(cgroup + u64::from(kn), 8)?;
    memory.read(node.wrapping_add(id.into()), 8)
}

/// `bpf_per_cpu_ptr(pointer, cpu)`: of a kernel variable or a `bpf_percpu_obj_new` object.
pub(super) fn per_cpu_ptr<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[pointer, cpu, ..]: &Args,
) -> Result<u64, Fault> {
    let cpu = cpu as u32;
    if cpu >= host.nr_cpus() {
        return Ok(0);
    }
    Ok(match rt.objects.per_cpu_stride(pointer) {
        Some(stride) => pointer + u64::from(stride) * u64::from(cpu),
        None => host.per_cpu_ptr(pointer, cpu),
    })
}

/// `bpf_this_cpu_ptr(pointer)`.
pub(super) fn this_cpu_ptr<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[pointer, ..]: &Args,
) -> Result<u64, Fault> {
    let cpu = host.cpu();
    per_cpu_ptr(host, rt, &[pointer, cpu.into(), 0, 0, 0])
}

/// `bpf_get_attach_cookie(ctx)`: nothing here attaches with one.
pub(super) fn attach_cookie<H: Host>(
    _: &mut H,
    _: &mut Runtime<H>,
    _: &Args,
) -> Result<u64, Fault> {
    Ok(0)
}

/// Number of arguments of the traced function: the word before the first. Bit 63 is set where a
/// result stands behind them.
fn traced<H: Host>(host: &mut H, ctx: u64) -> Result<(u64, bool), Fault> {
    let head = host.memory().read(ctx.wrapping_sub(8), 8)?;
    Ok((head & !RETURNED, head & RETURNED != 0))
}

/// `bpf_get_func_arg(ctx, n, value)`.
pub(super) fn func_arg<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[ctx, n, value, ..]: &Args,
) -> Result<u64, Fault> {
    let (count, _) = traced(host, ctx)?;
    let n = u64::from(n as u32);
    if n >= count {
        return Ok(code(EINVAL));
    }
    let argument = host.memory().read(ctx + 8 * n, 8)?;
    host.memory().write(value, 8, argument)?;
    Ok(0)
}

/// `bpf_get_func_ret(ctx, value)`: of fexit programs only.
pub(super) fn func_ret<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[ctx, value, ..]: &Args,
) -> Result<u64, Fault> {
    let (count, returned) = traced(host, ctx)?;
    if !returned {
        return Ok(code(EOPNOTSUPP));
    }
    let result = host.memory().read(ctx + 8 * count, 8)?;
    host.memory().write(value, 8, result)?;
    Ok(0)
}

/// `bpf_get_func_arg_cnt(ctx)`.
pub(super) fn func_arg_cnt<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[ctx, ..]: &Args,
) -> Result<u64, Fault> {
    Ok(traced(host, ctx)?.0)
}
