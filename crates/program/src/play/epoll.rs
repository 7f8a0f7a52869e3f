// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ring buffers that a program watches by epoll. The computer's epoll has no way to watch the files
//! that stand for them.

use super::bpf::{object_of, OfProgram};
use super::{fail, value, Call, Kept, Played};
use crate::bpf::ObjectId;
use crate::threads::Ret;
use std::io;

/// Bytes of a `struct epoll_event` of x86-64, which is packed.
const EVENT: usize = 12;

/// A ring buffer that is watched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    ring: ObjectId,
    fd: i32,
    /// What it is watched for, and what the program wants to be told then.
    event: [u8; EVENT],
}

/// `epoll_ctl()`
pub(super) fn control(kept: &mut Kept, call: &Call) -> io::Result<Played> {
    let [epoll, operation, fd, event, ..] = call.args;
    let (epoll, fd) = (epoll as i32, fd as i32);
    let Ok(Some(ring)) = object_of(kept.pid, fd) else { return Ok(Ret::Pass.into()) };
    if kept.ready(ring).is_none() {
        return Ok(fail(libc::EPERM));
    }
    let all = kept.epolls.entry(epoll).or_default();
    let known = all.iter().position(|watched| watched.fd == fd);
    let operation = operation as i32;
    if operation == libc::EPOLL_CTL_DEL {
        return Ok(known.map_or_else(
            || fail(libc::ENOENT),
            |at| {
                all.remove(at);
                value(0)
            },
        ));
    }
    let mut bytes = [0; EVENT];
    kept.memory.read(event, &mut bytes)?;
    let watched = Watched { ring, fd, event: bytes };
    Ok(match (operation, known) {
        (libc::EPOLL_CTL_ADD, None) => {
            all.push(watched);
            value(0)
        }
        (libc::EPOLL_CTL_ADD, Some(_)) => fail(libc::EEXIST),
        (libc::EPOLL_CTL_MOD, Some(at)) => {
            all[at] = watched;
            value(0)
        }
        (libc::EPOLL_CTL_MOD, None) => fail(libc::ENOENT),
        _ => fail(libc::EINVAL),
    })
}

/// What `epoll_wait()` has to say of ring buffers.
pub(super) fn events(kept: &mut Kept, epoll: i32) -> Vec<[u8; EVENT]> {
    let watched = kept.epolls.get(&epoll).cloned().unwrap_or_default();
    let mut all = Vec::new();
    for Watched { ring, mut event, .. } in watched {
        let Some(ready) = kept.ready(ring) else { continue };
        let is = |yes: bool, flag: i32| if yes { flag as u32 } else { 0 };
        let ready = is(ready.readable, libc::EPOLLIN) | is(ready.writable, libc::EPOLLOUT);
        let [a, b, c, d, ..] = event;
        let told = u32::from_le_bytes([a, b, c, d]) & ready;
        if told != 0 {
            event[..4].copy_from_slice(&told.to_le_bytes());
            all.push(event);
        }
    }
    all
}

/// Answers `epoll_wait()` with what ring buffers have; `None` if that is nothing.
pub(super) fn answer(kept: &mut Kept, call: &Call) -> io::Result<Option<Played>> {
    let [epoll, to, most, ..] = call.args;
    let mut told = events(kept, epoll as i32);
    told.truncate((most as i32).max(0) as usize);
    if told.is_empty() {
        return Ok(None);
    }
    kept.memory.write(to, &told.concat())?;
    Ok(Some(value(told.len() as i64)))
}

impl Kept {
    /// For what a ring buffer is ready; `None` if it is none.
    pub(super) fn ready(&mut self, ring: ObjectId) -> Option<crate::bpf::Ready> {
        let Kept { memory, pid, pages, played, .. } = self;
        played.ready(ring, &OfProgram { memory, pid: *pid, pages })
    }
}
