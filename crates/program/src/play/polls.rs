// SPDX-License-Identifier: MIT OR Apache-2.0
//! `poll()` of ring buffers. To the computer, the files that stand for them are always ready.

use super::bpf::object_of;
use super::{Call, Kept};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{pidfd_getfd, PidfdGetfdFlags};
use std::io;

/// Bytes of a `struct pollfd`: descriptor, what is asked for, what there is.
const ENTRY: u64 = 8;
/// Where the last of these is.
const FOUND: u64 = 6;

/// For what the files of a `poll()` are ready, entry by entry; `None` if none of them is a ring
/// buffer.
pub(super) fn found(
    kept: &mut Kept,
    asked: &[(i32, PollFlags)],
) -> io::Result<Option<Vec<PollFlags>>> {
    let rings: Vec<_> = asked
        .iter()
        .map(|(fd, _)| {
            let object = object_of(kept.pid, *fd).ok().flatten();
            object.and_then(|object| kept.ready(object))
        })
        .collect();
    if rings.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut all = Vec::new();
    for ((fd, events), ring) in asked.iter().zip(rings) {
        let Some(ready) = ring else {
            all.push(found_by_kernel(kept, *fd, *events));
            continue;
        };
        let mut found = PollFlags::empty();
        found.set(PollFlags::IN | PollFlags::RDNORM, ready.readable);
        found.set(PollFlags::OUT | PollFlags::WRNORM, ready.writable);
        all.push(found & *events);
    }
    Ok(Some(all))
}

fn found_by_kernel(kept: &Kept, fd: i32, events: PollFlags) -> PollFlags {
    let Ok(file) = pidfd_getfd(&kept.pidfd, fd, PidfdGetfdFlags::empty()) else {
        return PollFlags::NVAL;
    };
    let mut fds = [PollFd::new(&file, events)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut fds, Some(&now)) {
        Ok(_) => fds[0].revents(),
        Err(_) => PollFlags::empty(),
    }
}

/// Tells the program what was found; how many files are ready. Entries without a descriptor are
/// passed, and find nothing.
pub(super) fn tell(kept: &Kept, call: &Call, found: &[PollFlags]) -> io::Result<i64> {
    let mut found = found.iter();
    let mut count = 0;
    for at in 0..call.args[1] {
        let entry = call.args[0] + ENTRY * at;
        let mut fd = [0; 4];
        kept.memory.read(entry, &mut fd)?;
        let flags = match i32::from_le_bytes(fd) {
            0.. => found.next().copied(),
            _ => Some(PollFlags::empty()),
        };
        let Some(flags) = flags else { break };
        kept.memory.write(entry + FOUND, &flags.bits().to_le_bytes())?;
        count += i64::from(!flags.is_empty());
    }
    Ok(count)
}
