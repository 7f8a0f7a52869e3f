// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands on the entries of a map: `map_lookup_elem()` and those after it in
//! `kernel/bpf/syscall.c`. They act on what the machine has, on pages that the program maps, or on
//! the table that is kept for a map that no machine has (yet).

mod batch;

use super::attr::{bytes, word, Attr};
use super::objects::{Map, ObjectId};
use super::played::{Ctx, Played};
use super::table::{index, Table};
use super::uapi::{elem, map_flag};
use super::Reply;
use crate::Errno;
use rota_object::image::{map_type, MapId};
use rota_object::set_up::SetUpStep;

/// Arguments that these commands share.
struct Element {
    map: ObjectId,
    key: Option<Vec<u8>>,
    value_at: u64,
    flags: u64,
}

/// What a command does to a map.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Map {
    /// `map_get_sys_perms()`.
    fn permits(&self, access: Access) -> Result<(), Errno> {
        let refused = match access {
            Access::Read => self.flags & map_flag::WRONLY != 0,
            Access::Write => self.flags & map_flag::RDONLY != 0 || self.frozen,
        };
        if refused {
            Err(Errno::EPERM)
        } else {
            Ok(())
        }
    }
}

impl Played {
    /// The map of a call and its key.
    fn element(&self, attr: &Attr, c: &Ctx<'_, '_>, access: &[Access]) -> Result<Element, Errno> {
        attr.ends_at(32)?;
        let id = c.caller.object_of(attr.fd(0))?;
        let map = self.map_of_now(id)?;
        access.iter().try_for_each(|access| map.permits(*access))?;
        let (key_at, size) = (attr.u64(8), map.key_size as usize);
        let key = match (size, key_at) {
            (0, 0) => Some(Vec::new()),
            (0, _) => return Err(Errno::EINVAL),
            (_, 0) => None,
            _ => Some(bytes(c.caller, key_at, size)?),
        };
        Ok(Element { map: id, key, value_at: attr.u64(16), flags: attr.u64(24) })
    }

    /// A map, unless what it held went with the object that the machine had before.
    fn map_of_now(&self, id: ObjectId) -> Result<&Map, Errno> {
        let map = self.objects.map(id)?;
        match self.former.contains(&id) && !map.is_mapped() {
            true => Err(Errno::ENODEV),
            false => Ok(map),
        }
    }

    /// Where the machine has a map.
    fn in_machine(&self, id: ObjectId, c: &Ctx<'_, '_>) -> Option<MapId> {
        let machine = self.in_machine.as_ref().filter(|machine| machine.filled)?;
        c.live.as_ref()?;
        machine.maps.get(&id).copied()
    }

    pub(super) fn map_lookup(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        let e = self.element(attr, c, &[Access::Read])?;
        let value = self.lookup(e.map, e.key.as_deref().ok_or(Errno::EFAULT)?, e.flags, c)?;
        c.caller.write(e.value_at, &value)?;
        Ok(Reply::Value(0))
    }

    pub(super) fn map_update(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        let e = self.element(attr, c, &[Access::Write])?;
        let key = e.key.as_deref().ok_or(Errno::EFAULT)?;
        let value = self.value_of_caller(e.map, e.value_at, e.flags, c)?;
        if self.objects.map(e.map)?.kind == map_type::STRUCT_OPS {
            return self.table_update(e.map, index(key), &value, e.flags, c);
        }
        self.update(e.map, key, &value, e.flags, c)?;
        Ok(Reply::Value(0))
    }

    pub(super) fn map_delete(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        let e = self.element(attr, c, &[Access::Write])?;
        let key = e.key.as_deref().ok_or(Errno::EFAULT)?;
        if self.objects.map(e.map)?.kind == map_type::STRUCT_OPS {
            return self.table_delete(e.map, c);
        }
        self.delete(e.map, key, c)?;
        Ok(Reply::Value(0))
    }

    pub(super) fn map_next_key(
        &mut self,
        attr: &Attr,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Reply, Errno> {
        attr.ends_at(24)?;
        let e = self.element(attr, c, &[Access::Read])?;
        let next = self.next(e.map, e.key.as_deref(), c)?;
        c.caller.write(e.value_at, &next)?;
        Ok(Reply::Value(0))
    }

    pub(super) fn map_lookup_and_delete(
        &mut self,
        attr: &Attr,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Reply, Errno> {
        let e = self.element(attr, c, &[Access::Read, Access::Write])?;
        let key = e.key.as_deref().ok_or(Errno::EFAULT)?;
        if e.flags & !elem::LOCK != 0 {
            return Err(Errno::EINVAL);
        }
        let value = match self.objects.map(e.map)?.kind {
            map_type::QUEUE | map_type::STACK if e.flags != 0 => return Err(Errno::EINVAL),
            map_type::QUEUE | map_type::STACK => self.pop(e.map, c)?,
            map_type::HASH
            | map_type::PERCPU_HASH
            | map_type::LRU_HASH
            | map_type::LRU_PERCPU_HASH => {
                let value = self.lookup(e.map, key, e.flags, c)?;
                self.delete(e.map, key, c)?;
                value
            }
            _ => return Err(Errno::ENOTSUPP),
        };
        c.caller.write(e.value_at, &value)?;
        Ok(Reply::Value(0))
    }

    /// `map_freeze()`: commands may not write it any more.
    pub(super) fn map_freeze(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        attr.ends_at(4)?;
        let id = c.caller.object_of(attr.fd(0))?;
        let map = self.objects.map_mut(id)?;
        if map.kind == map_type::STRUCT_OPS {
            return Err(Errno::ENOTSUPP);
        }
        if map.frozen {
            return Err(Errno::EBUSY);
        }
        map.permits(Access::Write)?;
        map.frozen = true;
        Ok(Reply::Value(0))
    }

    /// A value as the caller has it, for all CPUs.
    fn value_of_caller(
        &self,
        id: ObjectId,
        at: u64,
        flags: u64,
        c: &Ctx<'_, '_>,
    ) -> Result<Vec<u8>, Errno> {
        let map = self.objects.map(id)?;
        let size = map.command_size(self.cpus);
        match self.cpu_of(map, flags)? {
            Cpus::Each => bytes(c.caller, at, size),
            Cpus::Same => {
                let one = padded(bytes(c.caller, at, map.value_size as usize)?);
                Ok(one.repeat(self.cpus as usize))
            }
            Cpus::One(_) => bytes(c.caller, at, map.value_size as usize),
        }
    }

    /// `bpf_map_check_op_flags()`: of a per-CPU map a command may mean one CPU.
    fn cpu_of(&self, map: &Map, flags: u64) -> Result<Cpus, Errno> {
        let cpu = (flags >> 32) as u32;
        match flags & (elem::CPU | elem::ALL_CPUS) {
            0 if cpu == 0 => Ok(Cpus::Each),
            elem::ALL_CPUS if map.is_per_cpu() && cpu == 0 => Ok(Cpus::Same),
            elem::CPU if map.is_per_cpu() && cpu < self.cpus => Ok(Cpus::One(cpu as usize)),
            elem::CPU if map.is_per_cpu() => Err(Errno::ERANGE),
            _ => Err(Errno::EINVAL),
        }
    }

    fn lookup(
        &self,
        id: ObjectId,
        key: &[u8],
        flags: u64,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Vec<u8>, Errno> {
        let map = self.objects.map(id)?;
        let cpus = self.cpu_of(map, flags)?;
        if flags as u32 as u64 & !(elem::LOCK | elem::CPU) != 0 {
            return Err(Errno::EINVAL);
        }
        let value = self.value(id, key, c)?;
        Ok(match cpus {
            Cpus::One(cpu) => {
                let size = map.value_size as usize;
                value[cpu * size.next_multiple_of(8)..][..size].to_vec()
            }
            _ => value,
        })
    }

    /// The value at a key, as commands have it.
    fn value(&self, id: ObjectId, key: &[u8], c: &mut Ctx<'_, '_>) -> Result<Vec<u8>, Errno> {
        let map = self.objects.map(id)?;
        if map.is_mapped() {
            let at = u64::from(index(key));
            if at >= map.max_entries.into() {
                return Err(Errno::ENOENT);
            }
            let mut value = vec![0; map.value_size as usize];
            c.caller.read_pages(id, at * map.stride(), &mut value);
            return Ok(value);
        }
        let Some((number, live)) = self.in_machine(id, c).zip(c.live.as_deref_mut()) else {
            return map.table.get(key);
        };
        let value = live.rt.element(live.system, number, key).map_err(Errno::of)?;
        let Some(machine) = &self.in_machine else { return Ok(value) };
        let object = match map.kind {
            map_type::ARRAY_OF_MAPS | map_type::HASH_OF_MAPS => {
                machine.object_of_map(word(&value, 0))
            }
            map_type::PROG_ARRAY => machine.object_of_function(word(&value, 0)),
            _ => return Ok(value),
        };
        object.map(|object| object.0.to_le_bytes().to_vec()).ok_or(Errno::ENOENT)
    }

    fn update(
        &mut self,
        id: ObjectId,
        key: &[u8],
        value: &[u8],
        flags: u64,
        c: &mut Ctx<'_, '_>,
    ) -> Result<(), Errno> {
        let map = self.objects.map(id)?;
        let cpus = self.cpu_of(map, flags)?;
        let flags = u64::from(flags as u32) & !(elem::CPU | elem::ALL_CPUS);
        if flags & !elem::LOCK > elem::EXIST {
            return Err(Errno::EINVAL);
        }
        if map.is_mapped() {
            let at = u64::from(index(key));
            if at >= map.max_entries.into() {
                return Err(Errno::E2BIG);
            }
            if flags & elem::NOEXIST != 0 {
                return Err(Errno::EEXIST);
            }
            c.caller.write_pages(id, at * map.stride(), value);
            return Ok(());
        }
        let value = match cpus {
            Cpus::One(cpu) => {
                let all = self.value(id, key, c);
                let mut all = match all {
                    Err(Errno::ENOENT) => vec![0; map.command_size(self.cpus)],
                    other => other?,
                };
                let stride = value.len().next_multiple_of(8);
                all[cpu * stride..][..value.len()].copy_from_slice(value);
                all
            }
            _ => value.to_vec(),
        };
        let object = self.object_in_value(map, &value, c)?;
        let Some((number, live)) = self.in_machine(id, c).zip(c.live.as_deref_mut()) else {
            let value = object.map_or(value, |object| object.0.to_le_bytes().to_vec());
            return self.objects.map_mut(id)?.table.put(key, &value, flags);
        };
        let value = match object {
            Some(object) => {
                // a map or program that came later than the machine is not in its image
                let machine = self.in_machine.as_ref().ok_or(Errno::EOPNOTSUPP)?;
                let number = match map.kind {
                    map_type::PROG_ARRAY => machine.programs.get(&object).map(|func| func.0),
                    _ => machine.maps.get(&object).map(|map| map.0),
                };
                number.ok_or(Errno::EOPNOTSUPP)?.to_le_bytes().to_vec()
            }
            None => value,
        };
        live.rt.set_element(live.system, number, key, &value, flags).map_err(Errno::of)?;
        let (map, key) = (number, key.to_vec());
        self.record_step(|| SetUpStep::Set { map, key, value, flags });
        Ok(())
    }

    /// The map or program that a value means by its descriptor.
    fn object_in_value(
        &self,
        map: &Map,
        value: &[u8],
        c: &Ctx<'_, '_>,
    ) -> Result<Option<ObjectId>, Errno> {
        if !map.holds_maps() && map.kind != map_type::PROG_ARRAY {
            return Ok(None);
        }
        let object = c.caller.object_of(word(value, 0) as i32)?;
        if let Some(prototype) = &map.inner {
            // bpf_map_meta_equal()
            let inner = self.objects.map(object)?;
            let alike = inner.kind == prototype.kind
                && inner.key_size == prototype.key_size
                && inner.value_size == prototype.value_size
                && inner.flags == prototype.flags;
            if !alike {
                return Err(Errno::EINVAL);
            }
        } else {
            self.objects.program(object)?;
        }
        Ok(Some(object))
    }

    fn delete(&mut self, id: ObjectId, key: &[u8], c: &mut Ctx<'_, '_>) -> Result<(), Errno> {
        let place = self.in_machine(id, c);
        match place.zip(c.live.as_deref_mut()) {
            Some((number, live)) => {
                live.rt.delete_element(live.system, number, key).map_err(Errno::of)?;
                let (map, key) = (number, key.to_vec());
                self.record_step(|| SetUpStep::Delete { map, key });
                Ok(())
            }
            None => self.objects.map_mut(id)?.table.remove(key),
        }
    }

    fn next(
        &self,
        id: ObjectId,
        key: Option<&[u8]>,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Vec<u8>, Errno> {
        let map = self.objects.map(id)?;
        match self.in_machine(id, c).zip(c.live.as_deref_mut()) {
            Some((number, live)) if !matches!(map.table, Table::StructOps(_)) => {
                live.rt.next_key(number, key).map_err(Errno::of)
            }
            _ => map.table.next(key, map.max_entries),
        }
    }

    fn pop(&mut self, id: ObjectId, c: &mut Ctx<'_, '_>) -> Result<Vec<u8>, Errno> {
        let place = self.in_machine(id, c);
        match place.zip(c.live.as_deref_mut()) {
            Some((number, live)) => {
                let value = live.rt.queue_pop(number).map_err(Errno::of)?;
                self.record_step(|| SetUpStep::Pop { map: number });
                Ok(value)
            }
            None => self.objects.map_mut(id)?.table.pop(),
        }
    }
}

/// Values that a command on a per-CPU map has.
#[derive(Clone, Copy)]
enum Cpus {
    /// One for each CPU.
    Each,
    /// One for all of them.
    Same,
    /// That of this CPU.
    One(usize),
}

/// A value and what follows it up to the next one.
fn padded(mut value: Vec<u8>) -> Vec<u8> {
    value.resize(value.len().next_multiple_of(8), 0);
    value
}
