// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of callbacks: `kernel/bpf/bpf_struct_ops.c`, and what sched_ext says of its own
//! (`bpf_scx_init_member()`, `bpf_scx_reg()`).

use super::attr::{word, Attr};
use super::objects::{Map, ObjectId};
use super::played::{Ctx, InMachine, Played};
use super::table::{Callbacks, Member, Table};
use super::uapi::{map_flag, prog};
use super::Reply;
use crate::Errno;
use rota_object::btf::{Composite, Kind, Type, TypeId};
use rota_object::image::{OpsField, StructOps};

/// `STRUCT_OPS_VALUE_PREFIX`.
const PREFIX: &str = "bpf_struct_ops_";
/// Bytes before the table in its wrapper that user space must leave 0: `refcnt`, `state`.
const COMMON: usize = 8;

/// A table that the machine calls.
pub(super) fn is_scheduler(type_name: &str) -> bool {
    matches!(type_name, "sched_ext_ops" | "sched_ext_ops_cid")
}

impl Played {
    /// The wrapper in which the value of a table of this type comes.
    pub(super) fn table_wrapper(&self, table: TypeId) -> Option<TypeId> {
        match self.btf.kind(table) {
            Kind::Struct => self.btf.find_struct(&format!("{PREFIX}{}", self.btf.name(table))),
            _ => None,
        }
    }

    /// The table in a wrapper, and the byte at which it begins.
    pub(super) fn table_type(&self, wrapper: TypeId) -> Option<(TypeId, usize)> {
        let Type::Struct(ty) = self.btf.get(wrapper) else { return None };
        let table = self.btf.find_struct(ty.name.strip_prefix(PREFIX)?)?;
        let data = ty.members().find(|member| member.ty == table)?;
        Some((table, data.bit_offset as usize / 8))
    }

    fn table_name(&self, map: &Map) -> &str {
        self.table_type(map.kernel_type).map_or("", |(table, _)| self.btf.name(table))
    }

    /// `bpf_struct_ops_map_update_elem()`.
    pub(super) fn table_update(
        &mut self,
        id: ObjectId,
        index: u32,
        value: &[u8],
        flags: u64,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Reply, Errno> {
        if flags != 0 {
            return Err(Errno::EINVAL);
        }
        if index != 0 {
            return Err(Errno::E2BIG);
        }
        let map = self.objects.map(id)?;
        // without a link it is registered by its value, so that is asked again once there is a
        // machine
        let registers = map.flags & map_flag::LINK == 0 && is_scheduler(self.table_name(map));
        let asked_again = registers && self.table == Some(id) && !self.is_attached(c);
        if matches!(map.table, Table::StructOps(Some(_))) && !asked_again {
            return Err(Errno::EBUSY);
        }
        let members = self.members(map, value, c)?;
        let callbacks = Callbacks { value: value.to_vec(), members };
        self.objects.map_mut(id)?.table = Table::StructOps(Some(callbacks));
        if !registers {
            return Ok(Reply::Value(0));
        }
        match self.register(id, c) {
            Ok(Some(table)) => Ok(Reply::Attached { id: None, table }),
            Ok(None) => Ok(Reply::NeedsMachine),
            Err(errno) => {
                self.objects.map_mut(id)?.table = Table::StructOps(None);
                Err(errno)
            }
        }
    }

    /// `bpf_struct_ops_map_delete_elem()`.
    pub(super) fn table_delete(
        &mut self,
        id: ObjectId,
        _: &mut Ctx<'_, '_>,
    ) -> Result<Reply, Errno> {
        let map = self.objects.map_mut(id)?;
        if map.flags & map_flag::LINK != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        match &mut map.table {
            Table::StructOps(table) => table.take().ok_or(Errno::ENOENT)?,
            _ => return Err(Errno::EINVAL),
        };
        let attached = self.table == Some(id) && self.attached;
        if attached {
            self.attached = false;
            return Ok(Reply::Detached);
        }
        Ok(Reply::Value(0))
    }

    /// `prog_assoc_struct_ops()`: says to which table a program that is no callback belongs. There
    /// is one scheduler here, which kernel functions find without that.
    pub(super) fn associate(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        attr.ends_at(12)?;
        if attr.u32(8) != 0 {
            return Err(Errno::EINVAL);
        }
        let program = self.objects.program(c.caller.object_of(attr.fd(4))?)?;
        let map = self.objects.map(c.caller.object_of(attr.fd(0))?)?;
        let fits = program.kind != prog::STRUCT_OPS && matches!(map.table, Table::StructOps(_));
        if fits {
            Ok(Reply::Value(0))
        } else {
            Err(Errno::EINVAL)
        }
    }

    /// `scx_enable_state()`: whether a scheduler is attached. Once there is a machine it knows: one
    /// that was ejected is gone, however long its link is open.
    pub(super) fn is_attached(&self, c: &Ctx<'_, '_>) -> bool {
        match &c.live {
            Some(live) => self.attaching || live.system.has_scheduler(),
            None => self.attached,
        }
    }

    /// `bpf_scx_reg()`: the table for the machine, `None` if there is no machine yet, or none that
    /// has this object.
    pub(super) fn register(
        &mut self,
        id: ObjectId,
        c: &Ctx<'_, '_>,
    ) -> Result<Option<StructOps>, Errno> {
        if self.is_attached(c) {
            return Err(Errno::EBUSY);
        }
        self.table = Some(id);
        self.attached = false;
        let Some(machine) = self.in_machine.as_ref().filter(|_| c.live.is_some()) else {
            return Ok(None);
        };
        let Some(table) = self.ops(id, machine) else {
            // an object that was loaded after that of the machine, which takes it instead
            return Ok(None);
        };
        (self.attached, self.attaching) = (true, true);
        Ok(Some(table))
    }

    /// A table's value, with programs as the machine has them.
    pub(super) fn ops(&self, id: ObjectId, machine: &InMachine) -> Option<StructOps> {
        let map = self.objects.map(id).ok()?;
        let Table::StructOps(Some(callbacks)) = &map.table else { return None };
        let field = |(name, member): &(String, Member)| {
            let field = match member {
                Member::Program(id) => OpsField::Func(*machine.programs.get(id)?),
                Member::Int(value) => OpsField::Int(*value),
                Member::Text(text) => OpsField::Str(text.clone()),
            };
            Some((name.clone(), field))
        };
        Some(StructOps {
            name: map.name.clone(),
            type_name: self.table_name(map).to_owned(),
            fields: callbacks.members.iter().map(field).collect::<Option<_>>()?,
            tags: Vec::new(),
        })
    }

    /// Members of a value that are not 0.
    fn members(
        &self,
        map: &Map,
        value: &[u8],
        c: &Ctx<'_, '_>,
    ) -> Result<Vec<(String, Member)>, Errno> {
        let (table, start) = self.table_type(map.kernel_type).ok_or(Errno::EINVAL)?;
        let Type::Struct(ty) = self.btf.get(table) else { return Err(Errno::EINVAL) };
        let end = start + ty.size as usize;
        let data = value.get(start..end).ok_or(Errno::EINVAL)?;
        let common = value[..start.min(COMMON)].iter().chain(&value[COMMON.min(start)..start]);
        // check_zero_holes(): what is behind the table is padding
        if common.chain(&value[end..]).any(|byte| *byte != 0) {
            return Err(Errno::EINVAL);
        }
        let mut members = Vec::new();
        for (index, member) in (0u32..).zip(ty.members()) {
            let size = self.btf.size_of(member.ty).unwrap_or(0) as usize;
            let at = member.bit_offset as usize / 8;
            let bytes = data.get(at..at + size).ok_or(Errno::EINVAL)?;
            if bytes.iter().all(|byte| *byte == 0) {
                continue;
            }
            let value = match self.btf.resolved(member.ty) {
                Type::Ptr(_) if self.btf.func_proto(member.ty).is_some() => {
                    Member::Program(self.callback_of(table, index, word(bytes, 0) as i32, c)?)
                }
                Type::Int(_) | Type::Enum(_) if size <= 8 => Member::Int(little_endian(bytes)),
                Type::Array(array) if self.btf.size_of(array.elem) == Some(1) => {
                    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(size);
                    Member::Text(String::from_utf8_lossy(&bytes[..end]).into_owned())
                }
                // bpf_struct_ops_map_update_elem(): nothing initialises it
                _ => return Err(Errno::EINVAL),
            };
            members.push((member.name.to_owned(), value));
        }
        if is_scheduler(ty.name) {
            self.check_scheduler(&members, ty)?;
        }
        Ok(members)
    }

    /// The program of a callback: one that was loaded for this member.
    fn callback_of(
        &self,
        table: TypeId,
        index: u32,
        fd: i32,
        c: &Ctx<'_, '_>,
    ) -> Result<ObjectId, Errno> {
        let id = c.caller.object_of(fd)?;
        let program = self.objects.program(id)?;
        let fits = program.kind == prog::STRUCT_OPS
            && program.target == table
            && program.attach_type == index;
        if fits {
            Ok(id)
        } else {
            Err(Errno::EINVAL)
        }
    }

    /// `bpf_scx_init_member()` and `validate_ops()`, as far as a value alone tells.
    fn check_scheduler(
        &self,
        members: &[(String, Member)],
        ty: Composite<'_>,
    ) -> Result<(), Errno> {
        let int = |name: &str| {
            members.iter().find(|(member, _)| member == name).map_or(0, |(_, value)| match value {
                Member::Int(value) => *value,
                _ => 0,
            })
        };
        let named = members.iter().any(|(member, value)| {
            member == "name" && matches!(value, Member::Text(name) if !name.is_empty())
        });
        if !named && ty.members().any(|member| member.name == "name") {
            return Err(Errno::EINVAL);
        }
        if int("dispatch_max_batch") > i32::MAX as u64 {
            return Err(Errno::E2BIG);
        }
        if let Some(known) = self.btf.enum_value("SCX_OPS_ALL_FLAGS") {
            if int("flags") & !known != 0 {
                return Err(Errno::EINVAL);
            }
        }
        // SCX_WATCHDOG_MAX_TIMEOUT, 30 seconds
        if int("timeout_ms") > 30_000 {
            return Err(Errno::E2BIG);
        }
        Ok(())
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
