// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watches the callbacks of the policy that is loaded, whoever loaded it: its ops table in
//! the kernel names the programs.

use super::error::RecordError;
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{btf::types::Func, MapCore, MapFlags, MapHandle, MapType};
use libbpf_rs::{Link, Object, ObjectBuilder, OpenObject};
use rota_object::btf::{Btf, Type, TypeId};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

static OBJECT: &[u8] = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/op.bpf.o"))).0;

/// libbpf reads headers in place.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);

/// Kernel types of registered ops tables.
const TABLES: [&str; 2] = ["bpf_struct_ops_sched_ext_ops", "bpf_struct_ops_sched_ext_ops_cid"];
/// `BPF_STRUCT_OPS_STATE_INUSE`: registered without a link.
const IN_USE: u32 = 1;
/// Callbacks that may sleep (`bpf_scx_check_member()`), and so may change their CPU.
const SLEEPABLE: [&str; 11] = [
    "init",
    "exit",
    "init_task",
    "cgroup_init",
    "cgroup_exit",
    "cgroup_prep_move",
    "cpu_online",
    "cpu_offline",
    "sub_attach",
    "sub_detach",
    "set_cmask",
];

/// A callback of the loaded policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Callback {
    /// Member of the ops table.
    pub(crate) name: String,
    /// Id of the program.
    program: u32,
    /// Its first argument is a task.
    takes_task: bool,
}

/// A callback that is being watched.
#[derive(Debug)]
pub(crate) struct Watched {
    /// Attached programs; they go before the object.
    _links: Vec<Link>,
    _object: Object,
}

/// The callbacks of all loaded policies.
pub(crate) fn loaded(kernel: &Btf) -> Vec<Callback> {
    let mut callbacks = Vec::new();
    for (map, table) in registered(kernel) {
        let Ok(Some(value)) = map.lookup(&0u32.to_ne_bytes(), MapFlags::empty()) else { continue };
        callbacks.extend(callbacks_of(kernel, table, &value));
    }
    callbacks
}

/// Maps that are registered ops tables, with their type.
fn registered(kernel: &Btf) -> Vec<(MapHandle, TypeId)> {
    let tables: Vec<TypeId> = TABLES.iter().filter_map(|name| kernel.find_struct(name)).collect();
    let linked: Vec<u32> = LinkInfoIter::default()
        .filter_map(|link| match link.info {
            LinkTypeInfo::StructOps(info) => Some(info.map_id),
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    for info in libbpf_rs::query::MapInfoIter::default() {
        let table = tables.iter().find(|table| table.0 == info.btf_vmlinux_value_type_id);
        let (MapType::StructOps, Some(table)) = (info.ty, table) else { continue };
        let Ok(map) = MapHandle::from_map_id(info.id) else { continue };
        if linked.contains(&info.id) || state(kernel, *table, &map) == Some(IN_USE) {
            found.push((map, *table));
        }
    }
    found
}

fn state(kernel: &Btf, table: TypeId, map: &MapHandle) -> Option<u32> {
    let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::empty()).ok()??;
    let at = kernel.field_at(table, "common.state").ok()?.offset() as usize;
    Some(u32::from_ne_bytes(value.get(at..at + 4)?.try_into().ok()?))
}

/// In a table that is read, members that are callbacks hold the ids of their programs.
fn callbacks_of(kernel: &Btf, table: TypeId, value: &[u8]) -> Vec<Callback> {
    let data = kernel.field_at(table, "data").ok();
    let Some((base, Type::Struct(ops))) = data.map(|f| (f.offset(), kernel.resolved(f.ty))) else {
        return Vec::new();
    };
    let program = |bits: u32| {
        let at = (base + bits / 8) as usize;
        Some(u64::from_ne_bytes(value.get(at..at + 8)?.try_into().ok()?) as u32)
    };
    ops.members()
        .filter_map(|member| {
            let proto = kernel.func_proto(member.ty)?;
            let program = program(member.bit_offset)?;
            let takes_task = proto.params().next().is_some_and(|p| is_task(kernel, p.ty));
            let name = member.name.to_string();
            (program != 0).then_some(Callback { name, program, takes_task })
        })
        .collect()
}

fn is_task(kernel: &Btf, ty: TypeId) -> bool {
    match kernel.resolved(ty) {
        Type::Ptr(to) => kernel.name(kernel.resolve(to)) == "task_struct",
        _ => false,
    }
}

/// Attaches to a callback. `op` is the number that its records get; `shared` are the
/// recorder's maps by name.
pub(crate) fn watch(
    callback: &Callback,
    op: u32,
    shared: &dyn Fn(&str) -> Option<OwnedFd>,
) -> Result<Watched, RecordError> {
    rota_libbpf_log::start(false);
    let what = format!("watching ops.{}", callback.name);
    let refused = |e| RecordError::refused(&what, e, rota_libbpf_log::take());
    let (target, function) = program(callback.program).map_err(refused)?;
    let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(refused)?;
    set_up(&mut open, callback, op, target.as_fd(), &function, shared).map_err(refused)?;
    let object = open.load().map_err(refused)?;
    let mut links = Vec::new();
    for program in object.progs_mut() {
        links.push(program.attach_trace().map_err(refused)?);
    }
    Ok(Watched { _links: links, _object: object })
}

fn set_up(
    open: &mut OpenObject,
    callback: &Callback,
    op: u32,
    target: BorrowedFd<'_>,
    function: &str,
    shared: &dyn Fn(&str) -> Option<OwnedFd>,
) -> Result<(), libbpf_rs::Error> {
    for mut program in open.progs_mut() {
        program.set_attach_target(target.as_raw_fd(), Some(function.to_string()))?;
    }
    let is = |name: &str| u32::from(callback.name == name);
    let sleepable = u32::from(SLEEPABLE.contains(&callback.name.as_str()));
    let config = [op, u32::from(callback.takes_task), is("enqueue"), is("exit"), sleepable];
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name.ends_with(".rodata") {
            map.set_initial_value(&config.map(u32::to_ne_bytes).concat())?;
        } else if let Some(fd) = shared(&name) {
            map.reuse_fd(fd.as_fd())?;
        }
    }
    Ok(())
}

/// A program and the name of its function: its own name is cut to 15 characters.
fn program(id: u32) -> Result<(OwnedFd, String), libbpf_rs::Error> {
    let fd = libbpf_rs::Program::fd_from_id(id)?;
    let options = ProgInfoQueryOptions::default().include_func_info(true);
    let mut programs = ProgInfoIter::with_query_opts(options);
    let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let info = programs.find(|program| program.id == id).ok_or_else(gone)?;
    let full = info.func_info.first().and_then(|function| {
        let btf = libbpf_rs::btf::Btf::from_prog_id(id).ok()?;
        let function: Func<'_> = btf.type_by_id(function.type_id.into())?;
        Some(function.name()?.to_string_lossy().into_owned())
    });
    Ok((fd, full.unwrap_or_else(|| info.name.to_string_lossy().into_owned())))
}
