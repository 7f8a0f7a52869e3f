// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells systemd what the service is doing: `sd_notify(3)`. Without `NOTIFY_SOCKET`, or if
//! nobody listens there, nothing happens.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The policy schedules.
pub(crate) fn ready(policy: &str) {
    send(&format!("READY=1\nSTATUS=running {policy}"));
}

/// It is on its way out.
pub(crate) fn stopping() {
    send("STOPPING=1");
}

fn send(message: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&socket),
    };
    if let (Ok(address), Ok(sender)) = (address, UnixDatagram::unbound()) {
        let _ = sender.send_to_addr(message.as_bytes(), &address);
    }
}
