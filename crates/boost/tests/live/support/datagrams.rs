// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts that talk by datagrams, over a cable between two network namespaces.

use super::actors::{burn, SHORT};
use std::net::UdpSocket;
use std::time::Instant;

/// This end of the cable.
pub const NEAR_END: &str = "198.51.100.1";
/// The other one.
pub const FAR_END: &str = "198.51.100.2";
const PORT: u16 = 4001;

/// Sends from a socket that is not connected.
pub fn far(end: Instant) {
    let socket = UdpSocket::bind((FAR_END, PORT)).expect("bound");
    while Instant::now() < end {
        let _ = socket.send_to(b"x", (NEAR_END, PORT));
        std::thread::sleep(SHORT);
    }
}

/// Sends this often, and then receives now and then and burns the CPU. With `replies` it sends for
/// each that it receives, from the twentieth on.
pub fn near(asks: u32, replies: bool, end: Instant) {
    let socket = UdpSocket::bind((NEAR_END, PORT)).expect("bound");
    socket.connect((FAR_END, PORT)).expect("connected");
    socket.set_nonblocking(true).expect("settable");
    let mut buffer = [0; 100];
    for _ in 0..asks {
        let _ = socket.send(b"?");
    }
    let mut received = 0;
    while Instant::now() < end {
        received += u32::from(socket.recv(&mut buffer).is_ok());
        burn(SHORT);
        if replies && received > 20 {
            let _ = socket.send(b"a");
        }
    }
    assert!(received > 0, "no datagram arrived");
}
