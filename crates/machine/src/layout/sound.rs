// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether kernel types fit together. A file of types may be damaged, or another kernel's that the
//! machine does not know; it must not write past its objects, nor give them gigabytes.

use super::*;
use rota_object::btf::reference;

/// More than any kernel's: a `struct rq` has some 5 kB, a `struct task_struct` 14 kB.
const MOST_BYTES: u32 = 1 << 20;

/// What is wrong with one of the types, if anything is.
pub(super) fn check(btf: &Btf) -> Result<(), String> {
    let (task, rq, dsq) =
        (TaskLayout::resolve(btf), RqLayout::resolve(btf), DsqLayout::resolve(btf));
    let (sock, unix_sock) = (SockLayout::resolve(btf), UnixSockLayout::resolve(btf));
    fields(btf, &task)?;
    fields(btf, &SchedInfoLayout::resolve(btf))?;
    fields(btf, &rq)?;
    fields(btf, &dsq)?;
    fields(btf, &sock)?;
    fields(btf, &unix_sock)?;
    fields(btf, &ExitInfoLayout::resolve(btf))?;
    fields(btf, &DumpCtxLayout::resolve(btf))?;
    fields(btf, &InitTaskArgsLayout::resolve(btf))?;
    fields(btf, &ExitTaskArgsLayout::resolve(btf))?;
    fields(btf, &CpuReleaseArgsLayout::resolve(btf))?;
    fields(btf, &CgroupInitArgsLayout::resolve(btf))?;
    fields(btf, &SubArgsLayout::resolve(btf))?;
    fields(btf, &SubOpsLayout::resolve(btf))?;
    fields(btf, &CgroupLayout::resolve(btf))?;
    fields(btf, &KernfsLayout::resolve(btf))?;
    fields(btf, &TaskGroupLayout::resolve(btf))?;
    fields(btf, &CssSetLayout::resolve(btf))?;
    fields(btf, &MmLayout::resolve(btf))?;
    fields(btf, &CredLayout::resolve(btf))?;
    fields(btf, &SignalLayout::resolve(btf))?;
    fields(btf, &PidLayout::resolve(btf))?;
    let mask = cpumask_size(btf);
    fits("cpumask", 0, mask, MOST_BYTES)?;
    if task.cpus_mask != ABSENT {
        fits("task_struct.cpus_mask", task.cpus_mask, mask, task.size())?;
    }
    // Where a kernel has none, the machine keeps it at the beginning.
    let local = if rq.local_dsq == ABSENT { 0 } else { rq.local_dsq };
    fits("rq.scx.local_dsq", local, dsq.size(), rq.size())?;
    fits("the sock of a unix_sock", 0, sock.size(), unix_sock.size())
}

/// Each field lies in its type, as wide as it is in the bundled kernel: so the machine writes it.
fn fields<T: KernelType>(btf: &Btf, layout: &T) -> Result<(), String> {
    fits(T::TYPE, 0, layout.size(), MOST_BYTES)?;
    let known = reference();
    for path in T::FIELDS.iter().chain(T::ALSO_RIGHT) {
        let Some(field) = btf.member_at(T::TYPE, path) else { continue };
        let written = known.member_at(T::TYPE, path).map_or(0, |field| field.size.min(8));
        let what = format!("{}.{path}", T::TYPE);
        let size = if field.bits == 0 { field.size.max(written) } else { 1 };
        fits(&what, field.offset(), size, layout.size())?;
    }
    Ok(())
}

fn fits(what: &str, at: u32, size: u32, within: u32) -> Result<(), String> {
    match at.checked_add(size).is_some_and(|end| end <= within) {
        true => Ok(()),
        false => Err(format!(
            "the kernel BTF contradicts itself: {what} is {size} bytes at {at}, of at most {within}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &[u8] = include_bytes!("../../../object/data/kernel-7.2.btf");
    const STRUCT: u32 = 4;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
    }

    /// Where the bundled types have a struct: its name, kind and count, size, and then its fields:
    /// name, type, offset in bits.
    fn place_of(name: &str) -> usize {
        let types = word(KERNEL, 4) as usize;
        let names = types + word(KERNEL, 16) as usize;
        let is_named = |at: usize| {
            let name_at = names + word(KERNEL, at) as usize;
            KERNEL
                .get(name_at..)
                .is_some_and(|rest| rest.starts_with(format!("{name}\0").as_bytes()))
        };
        let is_struct = |at: &usize| word(KERNEL, at + 4) >> 24 & 0x1f == STRUCT && is_named(*at);
        (types..names - 12).step_by(4).find(is_struct).expect("a struct")
    }

    fn with(at: usize, value: u32) -> Result<(), String> {
        let mut bytes = KERNEL.to_vec();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let btf = Btf::parse(&bytes).expect("types");
        Layouts::of(&btf).map(drop)
    }

    #[test]
    fn types_that_contradict_themselves_are_refused() {
        let (size, first_field) = (8, 12 + 8);
        assert_eq!(with(0, word(KERNEL, 0)), Ok(()));
        for (name, place, value, is) in [
            // A field behind the end, and one that does not fit; gigabytes; nothing.
            ("scx_exit_info", first_field, 8 << 16, "scx_exit_info.kind is 4 bytes at 65536"),
            ("scx_dispatch_q", size, 3, "scx_dispatch_q.nr is"),
            ("task_struct", size, u32::MAX, "task_struct is 4294967295 bytes"),
            ("rq", size, 0, "rq.cpu is 4 bytes"),
            ("cpumask", size, 1 << 30, "task_struct.cpus_mask is 1073741824 bytes"),
            ("sock", size, 1 << 19, "the sock of a unix_sock is 524288 bytes"),
        ] {
            let told = with(place_of(name) + place, value).expect_err(name);
            let begin = format!("the kernel BTF contradicts itself: {is}");
            assert!(told.starts_with(&begin), "{told}");
        }
    }
}
