// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets: the program may listen on local ones, where nobody is yet to connect; it has no network.

use super::{fail, value, Call, Kept, Played};
use crate::threads::Ret;
use rustix::net::{bind as bind_to, SocketAddrUnix};
use rustix::process::{pidfd_getfd, PidfdGetfdFlags};
use std::io;

/// Longest `struct sockaddr_un`.
const MAX_ADDRESS: u64 = 110;

/// `socket()`: of this computer only.
pub(super) fn socket(call: &Call) -> Played {
    match call.args[0] as i32 {
        libc::AF_UNIX => Ret::Pass.into(),
        _ => fail(libc::EACCES),
    }
}

/// `bind()`: whatever the path, the socket is in the program's own folder.
pub(super) fn bind(kept: &mut Kept, call: &Call) -> io::Result<Played> {
    let [fd, address, len, ..] = call.args;
    let mut bytes = vec![0; len.min(MAX_ADDRESS) as usize];
    kept.memory.read(address, &mut bytes)?;
    // an abstract address begins with a NUL
    let is_path = bytes.get(2).is_some_and(|first| *first != 0);
    if bytes.get(..2) != Some(&(libc::AF_UNIX as u16).to_le_bytes()) || !is_path {
        return Ok(fail(libc::EACCES));
    }
    let Ok(socket) = pidfd_getfd(&kept.pidfd, fd as i32, PidfdGetfdFlags::empty()) else {
        return Ok(fail(libc::EBADF));
    };
    kept.sockets += 1;
    let place = kept.home.join(format!(".socket-{}", kept.sockets));
    let bound = SocketAddrUnix::new(&place).and_then(|place| bind_to(socket, &place));
    Ok(match bound {
        Ok(()) => value(0),
        Err(error) => fail(error.raw_os_error()),
    })
}
