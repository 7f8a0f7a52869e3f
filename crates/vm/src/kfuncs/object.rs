// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects of a program's own types. The program passes the local BTF type; size and
//! special fields, which the kernel's verifier would pass along, come from there.

use super::row;
use crate::error::Fault;
use crate::host::Host;
use crate::maps::Special;
use crate::memory::Perm;
use crate::runtime::Runtime;
use crate::table::Kfunc;
use rota_object::btf::TypeId;
use std::sync::Arc;

/// Larger objects do not fit the kernel's allocator either.
const MAX_SIZE: u32 = 4096;

pub(super) fn rows<H: Host>() -> [Kfunc<H>; 10] {
    [
        row("bpf_obj_new", 1..=2, 80, new),
        row("bpf_obj_new_impl", 2..=2, 80, new),
        row("bpf_obj_drop", 1..=2, 60, drop),
        row("bpf_obj_drop_impl", 2..=2, 60, drop),
        row("bpf_percpu_obj_new", 1..=2, 80, percpu_new),
        row("bpf_percpu_obj_new_impl", 2..=2, 80, percpu_new),
        row("bpf_percpu_obj_drop", 1..=2, 60, drop),
        row("bpf_percpu_obj_drop_impl", 2..=2, 60, drop),
        row("bpf_refcount_acquire", 1..=2, 10, acquire),
        row("bpf_refcount_acquire_impl", 2..=2, 10, acquire),
    ]
}

/// Size, name and special fields of a local type.
fn describe<H: Host>(rt: &mut Runtime<H>, ty: u64) -> Result<(u32, String, Arc<Special>), Fault> {
    let btf = Arc::clone(&rt.image().btf);
    let id = TypeId(ty as u32);
    let size = btf.size_of(id).filter(|size| (1..=MAX_SIZE).contains(size));
    let size = size.ok_or_else(|| Fault::denied(format!("no object of local type {ty}")))?;
    let special = rt.objects.types.entry(id.0);
    let special = Arc::clone(special.or_insert_with(|| Arc::new(Special::of(&btf, Some(id)))));
    Ok((size, format!("struct {}", btf.name(id)), special))
}

fn new<H: Host>(host: &mut H, rt: &mut Runtime<H>, &[ty, ..]: &[u64; 5]) -> Result<u64, Fault> {
    let (size, name, special) = describe(rt, ty)?;
    let addr = host.memory().alloc(&name, size, Perm::ReadWrite);
    rt.objects.add(addr, special);
    Ok(addr)
}

fn percpu_new<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[ty, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let (size, name, special) = describe(rt, ty)?;
    let stride = size.div_ceil(8) * 8;
    let bytes = stride.saturating_mul(host.nr_cpus().max(1));
    let addr = host.memory().alloc(&name, bytes, Perm::ReadWrite);
    rt.objects.add_per_cpu(addr, special, stride);
    Ok(addr)
}

fn drop<H: Host>(host: &mut H, rt: &mut Runtime<H>, &[addr, ..]: &[u64; 5]) -> Result<u64, Fault> {
    if !rt.objects.contains(addr) {
        return Err(Fault::denied(format!("drop of {addr:#x}, which is not a live object")));
    }
    rt.release_object(host, addr);
    Ok(0)
}

fn acquire<H: Host>(_: &mut H, rt: &mut Runtime<H>, &[addr, ..]: &[u64; 5]) -> Result<u64, Fault> {
    Ok(if rt.objects.acquire(addr) { addr } else { 0 })
}
