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

    fn mapped_at(&self, map: ObjectId) -> Option<u64> {
        let name = format!("/memfd:{NAME}{}", map.0);
        let all = fs::read_to_string(format!("/proc/{}/maps", self.pid)).ok()?;
        let line = all.lines().find(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.get(5) == Some(&name.as_str()) && fields[2].bytes().all(|digit| digit == b'0')
        });
        u64::from_str_radix(line?.split('-').next()?, 16).ok()
    }

    fn touched(&self, address: u64, pages: u32) -> Vec<bool> {
        let all = || vec![true; pages as usize];
        self.memory.present(address, pages).unwrap_or_else(|_| all())
    }

    fn untouch(&mut self, map: ObjectId, offset: u64, bytes: &[u8]) {
        self.drop_pages(map, offset..offset + bytes.len() as u64);
        self.write_pages(map, offset, bytes);
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

#[cfg(test)]
mod tests {
    use super::*;
    use memmap2::MmapMut;

    const PAGE: usize = 4096;

    #[test]
    fn a_map_is_where_the_program_has_mapped_it_and_what_it_writes_there_is_told() {
        let pid = std::process::id();
        let file = File::from(memfd_create(format!("{NAME}7"), MemfdFlags::CLOEXEC).unwrap());
        file.set_len(4 * PAGE as u64).unwrap();
        let mut pages = BTreeMap::from([(ObjectId(7), file.try_clone().unwrap())]);
        let memory = Remote::open(pid).unwrap();
        let mut caller = OfProgram { memory: &memory, pid, pages: &mut pages };
        assert_eq!(caller.mapped_at(ObjectId(7)), None);

        // SAFETY: nobody else has the file.
        #[allow(unsafe_code)]
        let mut mapped = unsafe { MmapMut::map_mut(&file) }.unwrap();
        let address = caller.mapped_at(ObjectId(7)).unwrap();
        assert_eq!(address, mapped.as_ptr() as u64);
        assert_eq!(caller.mapped_at(ObjectId(77)), None, "another map");
        // what Rota itself writes is not the program's
        caller.write_pages(ObjectId(7), 0, &[1]);
        assert_eq!(caller.touched(address, 4), [false; 4]);
        mapped[2 * PAGE] = 1;
        assert_eq!(caller.touched(address, 4), [false, false, true, false]);
        assert_eq!(caller.touched(address + PAGE as u64, 2), [false, true]);
        // until it is known: then it is there, and counts when it is touched again
        let mut page = vec![0; PAGE];
        caller.read_pages(ObjectId(7), 2 * PAGE as u64, &mut page);
        caller.untouch(ObjectId(7), 2 * PAGE as u64, &page);
        assert_eq!(caller.touched(address, 4), [false; 4]);
        assert_eq!(mapped[2 * PAGE], 1);
        assert_eq!(caller.touched(address + 2 * PAGE as u64, 1), [true]);
    }
}
