// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects by number, and by path: `bpf_obj_get_next_id()`, `bpf_map_get_fd_by_id()`,
//! `bpf_obj_pin_user()` and those like them.

use super::attr::{text, Attr};
use super::objects::{Kind, ObjectId};
use super::played::{Ctx, Played};
use super::uapi::cmd;
use super::Reply;
use crate::Errno;

/// `PATH_MAX`.
const PATH_MAX: usize = 4096;
/// `BPF_F_RDONLY`, `BPF_F_WRONLY`: how a descriptor may be used.
const MODES: u32 = 0x18;
/// `BPF_F_PATH_FD`.
const PATH_FD: u32 = 1 << 14;

fn kind_of(command: u32) -> Kind {
    match command {
        cmd::MAP_GET_NEXT_ID | cmd::MAP_GET_FD_BY_ID => Kind::Map,
        cmd::PROG_GET_NEXT_ID | cmd::PROG_GET_FD_BY_ID => Kind::Program,
        cmd::LINK_GET_NEXT_ID | cmd::LINK_GET_FD_BY_ID => Kind::Link,
        _ => Kind::Types,
    }
}

impl Played {
    pub(super) fn next_id(
        &mut self,
        command: u32,
        attr: &Attr,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Reply, Errno> {
        attr.ends_at(8)?;
        let after = ObjectId(attr.u32(0));
        let next = self.objects.of(kind_of(command)).map(|(id, _)| id).find(|id| *id > after);
        attr.answer(c.caller, 4, &next.ok_or(Errno::ENOENT)?.0.to_le_bytes())?;
        Ok(Reply::Value(0))
    }

    pub(super) fn object_by_id(&mut self, command: u32, attr: &Attr) -> Result<Reply, Errno> {
        attr.ends_at(if command == cmd::LINK_GET_FD_BY_ID { 4 } else { 16 })?;
        if attr.u32(8) & !MODES != 0 {
            return Err(Errno::EINVAL);
        }
        let id = ObjectId(attr.u32(0));
        let found = self.objects.get(id).filter(|object| object.kind() == kind_of(command));
        found.ok_or(Errno::ENOENT)?;
        Ok(self.descriptor(id))
    }

    pub(super) fn pin(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        attr.ends_at(20)?;
        if attr.u32(12) & !PATH_FD != 0 {
            return Err(Errno::EINVAL);
        }
        let path = text(c.caller, attr.u64(0), PATH_MAX, Errno::ENAMETOOLONG)?;
        let id = c.caller.object_of(attr.fd(8))?;
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        // bpf_obj_do_pin(): types are no object of its file system
        if self.objects.types(id).is_ok() {
            return Err(Errno::EINVAL);
        }
        if self.pinned.contains_key(&path) {
            return Err(Errno::EEXIST);
        }
        self.pinned.insert(path, id);
        Ok(Reply::Value(0))
    }

    pub(super) fn pinned_object(
        &mut self,
        attr: &Attr,
        c: &mut Ctx<'_, '_>,
    ) -> Result<Reply, Errno> {
        attr.ends_at(20)?;
        if attr.u32(8) != 0 || attr.u32(12) & !(MODES | PATH_FD) != 0 {
            return Err(Errno::EINVAL);
        }
        let path = text(c.caller, attr.u64(0), PATH_MAX, Errno::ENAMETOOLONG)?;
        let id = *self.pinned.get(&path).ok_or(Errno::ENOENT)?;
        Ok(self.descriptor(id))
    }

    /// `unlink()` of a path at which an object was pinned: false if none was.
    pub fn unpin(&mut self, path: &str) -> bool {
        self.pinned.remove(path).is_some()
    }

    /// Whether an object is pinned at a path.
    pub fn is_pinned(&self, path: &str) -> bool {
        self.pinned.contains_key(path)
    }
}
