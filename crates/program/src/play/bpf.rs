// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bpf(2)`, and the descriptors of its objects.

use super::{fail, Call, Kept, Played};
use crate::bpf::{Caller, ObjectId, Reply};
use crate::errno::Errno;
use crate::remote::Remote;
use crate::shared::Pages;
use crate::threads::Ret;
use rota_machine::user_half::Live;
use rota_vm::memory::SharedBytes;
use rustix::fs::{fallocate, memfd_create, seek, FallocateFlags, MemfdFlags, SeekFrom};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// What a descriptor's file is called, before the object's number.
const NAME: &str = "rota-bpf-";

/// The program as `bpf(2)` sees it.
pub(crate) struct OfProgram<'a> {
    pub(crate) memory: &'a Remote,
    pub(crate) pid: u32,
    /// The file behind each object's descriptors. An mmapable map's bytes are in it.
    pub(crate) pages: &'a mut BTreeMap<ObjectId, File>,
}

impl Caller for OfProgram<'_> {
    fn read(&self, addr: u64, to: &mut [u8]) -> Result<(), Errno> {
        self.memory.read(addr, to).map_err(|_| Errno(libc::EFAULT))
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.memory.write(addr, bytes).map_err(|_| Errno(libc::EFAULT))
    }

    fn object_of(&self, fd: i32) -> Result<ObjectId, Errno> {
        match object_of(self.pid, fd) {
            Ok(Some(id)) => Ok(id),
            Ok(None) => Err(Errno(libc::EINVAL)),
            Err(_) => Err(Errno(libc::EBADF)),
        }
    }

    fn read_pages(&self, map: ObjectId, offset: u64, to: &mut [u8]) {
        // Beyond its end a file reads as zeros, as new memory does.
        let read = self.pages.get(&map).map(|file| file.read_exact_at(to, offset));
        if !matches!(read, Some(Ok(()))) {
            to.fill(0);
        }
    }

    fn write_pages(&mut self, map: ObjectId, offset: u64, bytes: &[u8]) {
        if let Some(file) = self.pages.get(&map) {
            // A file in memory, as long as the map.
            let _ = file.write_all_at(bytes, offset);
        }
    }

    fn probe_of(&self, fd: i32) -> Result<String, Errno> {
        // No performance event is given out, see `crate::filter`.
        match fs::read_link(format!("/proc/{}/fd/{fd}", self.pid)) {
            Ok(_) => Err(Errno(libc::EINVAL)),
            Err(_) => Err(Errno(libc::EBADF)),
        }
    }

    fn data_in_pages(&self, map: ObjectId) -> Vec<Range<u64>> {
        let Some(file) = self.pages.get(&map) else { return Vec::new() };
        let mut all = Vec::new();
        let mut at = 0;
        while let Ok(start) = seek(file, SeekFrom::Data(at)) {
            let Ok(end) = seek(file, SeekFrom::Hole(start)) else { break };
            all.push(start..end);
            at = end;
        }
        all
    }

    fn share_pages(&self, map: ObjectId, len: u32) -> Option<Box<dyn SharedBytes>> {
        let pages = Pages::of(self.pages.get(&map)?, len as usize).ok()?;
        Some(Box::new(pages))
    }

    fn drop_pages(&mut self, map: ObjectId, range: Range<u64>) {
        if let Some(file) = self.pages.get(&map) {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // A file in memory can have holes.
            let _ = fallocate(file, hole, range.start, range.end.saturating_sub(range.start));
        }
    }
}

/// The object behind a descriptor; `None` if it is of something else.
pub(super) fn object_of(pid: u32, fd: i32) -> io::Result<Option<ObjectId>> {
    let link = fs::read_link(format!("/proc/{pid}/fd/{fd}"))?;
    let name = link.to_string_lossy();
    let number = name.strip_prefix("/memfd:").and_then(|name| name.strip_prefix(NAME));
    let number = number.and_then(|name| name.split(' ').next());
    Ok(number.and_then(|number| number.parse().ok()).map(ObjectId))
}

pub(super) fn bpf(kept: &mut Kept, call: &Call, live: Option<&mut Live<'_>>) -> Played {
    let [command, attr, size, ..] = call.args;
    let Kept { memory, pid, pages, played, .. } = kept;
    let mut caller = OfProgram { memory, pid: *pid, pages };
    let reply = played.call(command as u32, attr, size as u32, &mut caller, live);
    match reply {
        Ok(Reply::Value(value)) => Ret::Value(value).into(),
        Ok(Reply::Descriptor { id, pages }) => match kept.file(id, pages) {
            Ok(file) => Played::File(file),
            Err(error) => fail(error.raw_os_error().unwrap_or(libc::ENOMEM)),
        },
        Ok(Reply::NeedsMachine) => Played::NeedsMachine,
        Ok(Reply::Attached { id, table }) => match id.map(|id| kept.file(id, 0)).transpose() {
            Ok(file) => {
                kept.link = id;
                Played::Attached(file, Box::new(table))
            }
            Err(error) => fail(error.raw_os_error().unwrap_or(libc::ENOMEM)),
        },
        Ok(Reply::Detached) => Played::Detached,
        Err(Errno(errno)) => fail(errno),
    }
}

impl Kept {
    /// A descriptor for an object; `size` bytes of it can be mapped.
    fn file(&mut self, id: ObjectId, size: u64) -> io::Result<File> {
        if let Some(file) = self.pages.get(&id) {
            return file.try_clone();
        }
        let file = File::from(memfd_create(format!("{NAME}{}", id.0), MemfdFlags::CLOEXEC)?);
        file.set_len(size)?;
        let given = file.try_clone()?;
        self.pages.insert(id, file);
        Ok(given)
    }
}

/// `close()`: the scheduler is detached with the last descriptor of its link.
pub(super) fn close(kept: &mut Kept, call: &Call) -> Played {
    let fd = call.args[0] as i32;
    kept.epolls.remove(&fd);
    let is_link = |fd: i32| {
        kept.link.is_some_and(|link| object_of(kept.pid, fd).is_ok_and(|id| id == Some(link)))
    };
    if !is_link(fd) {
        return Ret::Pass.into();
    }
    let open = fs::read_dir(format!("/proc/{}/fd", kept.pid));
    let names = open.into_iter().flatten().flatten().map(|entry| entry.file_name());
    let others = names.filter_map(|name| name.to_str()?.parse().ok()).filter(|other| *other != fd);
    if others.filter(|other| is_link(*other)).count() > 0 {
        return Ret::Pass.into();
    }
    match kept.link.is_some_and(|link| kept.played.closed(link)) {
        true => Played::Detached,
        false => Ret::Pass.into(),
    }
}
