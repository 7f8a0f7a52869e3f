// SPDX-License-Identifier: MIT OR Apache-2.0
//! Local sockets, by which the program's threads talk to each other: whatever the path, the socket is
//! in a folder that the program cannot write to, so that no link there leads elsewhere. It reaches no
//! other process, and has no network.

use super::{fail, value, Call, Kept, Played};
use crate::threads::Ret;
use rustix::fs::{fcntl_getfl, fcntl_setfl, OFlags};
use rustix::net::{bind as bind_to, connect as connect_to, SocketAddrUnix};
use rustix::process::{pidfd_getfd, PidfdGetfdFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Longest `struct sockaddr_un`.
const MAX_ADDRESS: u64 = 110;

/// `socket()`: of this computer only.
pub(super) fn socket(call: &Call) -> Played {
    match call.args[0] as i32 {
        libc::AF_UNIX => Ret::Pass.into(),
        _ => fail(libc::EACCES),
    }
}

/// The path of an address; `None` if it is of another kind.
fn path_of(kept: &Kept, address: u64, len: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; len.min(MAX_ADDRESS) as usize];
    kept.memory.read(address, &mut bytes)?;
    let path = bytes.strip_prefix(&(libc::AF_UNIX as u16).to_le_bytes());
    let path = path.and_then(|path| path.split(|byte| *byte == 0).next());
    // an abstract address begins with a NUL
    Ok(path.filter(|path| !path.is_empty()).map(<[u8]>::to_vec))
}

fn own(kept: &Kept, fd: u64) -> Result<OwnedFd, Played> {
    pidfd_getfd(&kept.pidfd, fd as i32, PidfdGetfdFlags::empty()).map_err(|_| fail(libc::EBADF))
}

/// `bind()`
pub(super) fn bind(kept: &mut Kept, call: &Call) -> io::Result<Played> {
    let [fd, address, len, ..] = call.args;
    let Some(path) = path_of(kept, address, len)? else { return Ok(fail(libc::EACCES)) };
    if kept.sockets.contains_key(&path) {
        return Ok(fail(libc::EADDRINUSE));
    }
    let socket = match own(kept, fd) {
        Ok(socket) => socket,
        Err(played) => return Ok(played),
    };
    kept.bound += 1;
    let place = kept.socket_folder.join(kept.bound.to_string());
    let bound = SocketAddrUnix::new(&place).and_then(|place| bind_to(socket, &place));
    Ok(match bound {
        Ok(()) => {
            kept.sockets.insert(path, place);
            value(0)
        }
        Err(error) => fail(error.raw_os_error()),
    })
}

/// `connect()`: to a socket that the program itself has bound.
pub(super) fn connect(kept: &mut Kept, call: &Call) -> io::Result<Played> {
    let [fd, address, len, ..] = call.args;
    let Some(path) = path_of(kept, address, len)? else { return Ok(fail(libc::EACCES)) };
    let Some(place) = kept.sockets.get(&path).cloned() else { return Ok(fail(libc::ENOENT)) };
    Ok(match own(kept, fd) {
        Ok(socket) => match connected(&socket, &place) {
            Ok(()) => value(0),
            Err(error) => fail(error.raw_os_error()),
        },
        Err(played) => played,
    })
}

/// Connects at once or not at all: where too many wait to be accepted it would block (`EAGAIN`).
fn connected(socket: &OwnedFd, place: &Path) -> rustix::io::Result<()> {
    let place = SocketAddrUnix::new(place)?;
    let flags = fcntl_getfl(socket)?;
    fcntl_setfl(socket, flags | OFlags::NONBLOCK)?;
    let connected = connect_to(socket, &place);
    fcntl_setfl(socket, flags)?;
    connected
}

/// `unlink()` of a socket's path: another may be bound to it; false if none is.
pub(super) fn unlink(kept: &mut Kept, path: &[u8]) -> bool {
    kept.sockets.remove(path).is_some()
}

/// `setsockopt()`: how long calls wait for a socket is simulated time, in ticks of the machine
/// (`sock_set_timeout()`).
pub(super) fn set_option(kept: &mut Kept, call: &Call) -> io::Result<Played> {
    const SO_RCVTIMEO_NEW: i32 = 66;
    let [fd, level, option, value, ..] = call.args;
    let is_patience = [libc::SO_RCVTIMEO, SO_RCVTIMEO_NEW].contains(&(option as i32));
    if level as i32 == libc::SOL_SOCKET && is_patience {
        let (seconds, us) = (kept.memory.u64(value)?, kept.memory.u64(value + 8)?);
        let hz = u64::from(kept.kernel.hz());
        let ticks = seconds.saturating_mul(hz).saturating_add(us.div_ceil(1_000_000 / hz));
        if let Ok(socket) = name_of(kept, fd as i32) {
            kept.patience.insert(socket, ticks.saturating_mul(1_000_000_000 / hz));
        }
    }
    Ok(Ret::Pass.into())
}

/// For how long a call waits for a socket, in nanoseconds; `None` for ever, or if it is none.
pub(super) fn patience_ns(kept: &Kept, fd: i32) -> Option<u64> {
    let socket = name_of(kept, fd).ok()?;
    kept.patience.get(&socket).copied().filter(|ns| *ns > 0)
}

/// `socket:[NUMBER]`, the same of all descriptors of a socket.
fn name_of(kept: &Kept, fd: i32) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/{}/fd/{fd}", kept.pid))
}
