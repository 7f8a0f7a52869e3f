// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many entries at once: `bpf_map_do_batch()`.

use super::{Access, Attr, Ctx, Errno, ObjectId, Played, Reply};
use crate::bpf::attr::bytes;
use crate::bpf::uapi::elem;
use rota_object::image::map_type;

/// Where the arguments are.
const IN_BATCH: usize = 0;
const OUT_BATCH: usize = 8;
const KEYS: usize = 16;
const VALUES: usize = 24;
const COUNT: usize = 32;
const MAP: usize = 36;
const ELEM_FLAGS: usize = 40;
const FLAGS: usize = 48;
const END: usize = 56;

/// One argument struct, read.
struct Batch {
    map: ObjectId,
    keys: u64,
    values: u64,
    count: u32,
    key_size: usize,
    value_size: usize,
    flags: u64,
}

impl Batch {
    fn key_at(&self, at: u64) -> u64 {
        self.keys.wrapping_add(at * self.key_size as u64)
    }

    fn value_at(&self, at: u64) -> u64 {
        self.values.wrapping_add(at * self.value_size as u64)
    }
}

impl Played {
    fn batch(&self, attr: &Attr, c: &Ctx<'_, '_>, access: Access) -> Result<Batch, Errno> {
        attr.ends_at(END)?;
        let id = c.caller.object_of(attr.fd(MAP))?;
        let map = self.map_of_now(id)?;
        map.permits(access)?;
        let batched = matches!(
            map.kind,
            map_type::ARRAY
                | map_type::PERCPU_ARRAY
                | map_type::HASH
                | map_type::PERCPU_HASH
                | map_type::LRU_HASH
                | map_type::LRU_PERCPU_HASH
                | map_type::LPM_TRIE
        );
        if !batched {
            return Err(Errno::ENOTSUPP);
        }
        let flags = attr.u64(ELEM_FLAGS);
        if attr.u64(FLAGS) != 0 || flags & !elem::LOCK != 0 {
            return Err(Errno::EINVAL);
        }
        Ok(Batch {
            map: id,
            keys: attr.u64(KEYS),
            values: attr.u64(VALUES),
            count: attr.u32(COUNT),
            key_size: map.key_size as usize,
            value_size: map.command_size(self.cpus),
            flags,
        })
    }

    /// `generic_map_lookup_batch()`. The place to go on from is the last key that was read, in as
    /// many bytes as the key has, of hash maps 4: there it is a number, of keys from the first.
    pub(in crate::bpf) fn map_lookup_batch(
        &mut self,
        attr: &Attr,
        c: &mut Ctx<'_, '_>,
        and_delete: bool,
    ) -> Result<Reply, Errno> {
        let batch = self.batch(attr, c, Access::Read)?;
        if and_delete {
            self.objects.map(batch.map)?.permits(Access::Write)?;
        }
        if batch.count == 0 {
            return Ok(Reply::Value(0));
        }
        attr.answer(c.caller, COUNT, &0_u32.to_le_bytes())?;
        let from = match attr.u64(IN_BATCH) {
            0 => 0,
            at => crate::bpf::attr::word(&bytes(c.caller, at, 4)?, 0),
        };
        let mut key = None;
        let mut passed = 0;
        let (mut read, mut is_over) = (Vec::new(), false);
        while read.len() < batch.count as usize {
            let next = match self.next(batch.map, key.as_deref(), c) {
                Err(Errno::ENOENT) => {
                    is_over = true;
                    break;
                }
                other => other?,
            };
            if passed >= from {
                read.push((next.clone(), self.value(batch.map, &next, c)?));
            }
            passed += 1;
            key = Some(next);
        }
        for (at, (key, value)) in (0_u64..).zip(&read) {
            c.caller.write(batch.key_at(at), key)?;
            c.caller.write(batch.value_at(at), value)?;
        }
        let left = if and_delete { from } else { passed };
        c.caller.write(attr.u64(OUT_BATCH), &left.to_le_bytes())?;
        if and_delete {
            read.iter().try_for_each(|(key, _)| self.delete(batch.map, key, c))?;
        }
        attr.answer(c.caller, COUNT, &(read.len() as u32).to_le_bytes())?;
        if is_over {
            return Err(Errno::ENOENT);
        }
        Ok(Reply::Value(0))
    }

    /// `generic_map_update_batch()`.
    pub(in crate::bpf) fn map_update_batch(
        &mut self,
        attr: &Attr,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Reply, Errno> {
        let batch = self.batch(attr, c, Access::Write)?;
        self.each(attr, c, &batch, |played, at, key, c| {
            let value = bytes(c.caller, batch.value_at(at), batch.value_size)?;
            played.update(batch.map, key, &value, batch.flags, c)
        })
    }

    /// `generic_map_delete_batch()`.
    pub(in crate::bpf) fn map_delete_batch(
        &mut self,
        attr: &Attr,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Reply, Errno> {
        let batch = self.batch(attr, c, Access::Write)?;
        self.each(attr, c, &batch, |played, _, key, c| played.delete(batch.map, key, c))
    }

    /// Acts on each key, and says how many it got through.
    fn each(
        &mut self,
        attr: &Attr,
        c: &mut Ctx<'_, '_>,
        batch: &Batch,
        mut act: impl FnMut(&mut Self, u64, &[u8], &mut Ctx<'_, '_>) -> Result<(), Errno>,
    ) -> Result<Reply, Errno> {
        if batch.count == 0 {
            return Ok(Reply::Value(0));
        }
        let mut done: u32 = 0;
        let mut result = Ok(());
        while done < batch.count {
            let at = u64::from(done);
            let key = bytes(c.caller, batch.key_at(at), batch.key_size);
            result = key.and_then(|key| act(self, at, &key, c));
            if result.is_err() {
                break;
            }
            done += 1;
        }
        attr.answer(c.caller, COUNT, &done.to_le_bytes())?;
        result.map(|()| Reply::Value(0))
    }
}
