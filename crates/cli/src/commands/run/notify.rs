// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells systemd what the service is doing: `sd_notify(3)`. Without `NOTIFY_SOCKET`, or if
//! nobody listens there, nothing happens.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The policy schedules.
pub(crate) fn ready(policy: &str) {
    tell(&format!("READY=1\nSTATUS=running {policy}"));
}

/// It is loaded again, because a CPU came or went.
pub(crate) fn restarting() {
    tell("STATUS=loading the policy again");
}

/// Another one takes its place.
pub(crate) fn switching(to: &str) {
    tell(&format!("STATUS=loading {to}"));
}

/// It is on its way out.
pub(crate) fn stopping() {
    tell("STOPPING=1");
}

fn tell(message: &str) {
    if let Some(socket) = std::env::var_os("NOTIFY_SOCKET") {
        let _ = send(&socket, message);
    }
}

fn send(socket: &OsStr, message: &str) -> io::Result<()> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(message.as_bytes(), &address).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(by: &UnixDatagram) -> String {
        let mut message = [0; 100];
        let len = by.recv(&mut message).expect("a message");
        String::from_utf8_lossy(&message[..len]).into_owned()
    }

    #[test]
    fn a_socket_has_a_path_or_an_abstract_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("notify");
        let service = UnixDatagram::bind(&path).expect("bound");
        send(path.as_os_str(), "READY=1").expect("sent");
        assert_eq!(received(&service), "READY=1");

        let name = format!("rota-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let service = UnixDatagram::bind_addr(&address).expect("bound");
        send(OsStr::new(&format!("@{name}")), "STOPPING=1").expect("sent");
        assert_eq!(received(&service), "STOPPING=1");
    }

    #[test]
    fn nobody_who_listens_is_no_disaster() {
        assert!(send(OsStr::new("/nonexistent/socket"), "READY=1").is_err());
    }
}
