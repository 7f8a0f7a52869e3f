// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets as the kernel has them: what a scheduler sees that watches `sk_data_ready`,
//! `sock_recv_length` and `sock_send_length`.
//!
//! A request travels on a connection of its own, of which this machine has both ends, or one
//! if the sender is at the other end of a network. As in the kernel, `sk_data_ready` comes
//! before the wakeup, in the sender or in an interrupt, and `sock_send_length` when the sender
//! is done with both.

use crate::ops::Ops;
use crate::system::System;
use crate::tracing::Place;
use rota_vm::memory::Perm;
use rota_workload::SocketKind;
use rustc_hash::FxHashMap;

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
/// 127.0.0.1, 192.0.2.1 and 192.0.2.2 (documentation, RFC 5737), as the network has them.
const LOOPBACK: [u8; 4] = [127, 0, 0, 1];
const THIS_MACHINE: [u8; 4] = [192, 0, 2, 1];
const A_CUSTOMER: [u8; 4] = [192, 0, 2, 2];
/// Port of the workload's first socket.
const FIRST_PORT: u16 = 8000;
/// Linux's `ip_local_port_range`.
const EPHEMERAL: std::ops::Range<u64> = 32768..61000;
/// Bytes of a message: no policy can know how large they would be.
const LENGTH: u64 = 64;

/// The two ends of a connection, as guest addresses.
#[derive(Clone, Copy, Debug)]
struct Ends {
    server: u64,
    /// `None`: not on this machine.
    client: Option<u64>,
}

/// Connections of the requests that are not over.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    /// By number of the request. The first one takes the answer, the last one was sent last.
    open: FxHashMap<u64, Vec<Ends>>,
    /// Connections so far.
    connected: u64,
    /// Addresses that servers of `AF_UNIX` are bound to, by socket.
    bound: FxHashMap<u32, u64>,
    /// Ends of which the sender has not heard yet that the message is sent.
    sending: Vec<u64>,
    /// Connections that are closed when it has.
    closing: Vec<Ends>,
}

impl Sockets {
    /// A request arrives: `by_task` of a task that sends it, else of a customer.
    pub(crate) fn arrived(
        &mut self,
        system: &mut System,
        o: &mut dyn Ops,
        (request, socket, kind): (u64, u32, SocketKind),
        by_task: bool,
    ) {
        let watched = [Place::SkDataReady, Place::SockRecvLength, Place::SockSendLength];
        if !watched.into_iter().any(|at| system.watches(at)) {
            return;
        }
        let ends = self.connect(system, socket, kind, by_task);
        self.open.entry(request).or_default().push(ends);
        // somebody at this machine who is no task of the workload
        if !by_task && kind == SocketKind::Unix {
            system.as_outsider(|system| {
                system.pass(o, Place::SkDataReady, &[ends.server]);
                sent(system, o, ends.client);
            });
        } else {
            system.pass(o, Place::SkDataReady, &[ends.server]);
        }
        if by_task {
            self.sending.extend(ends.client);
        }
    }

    /// The current task took a request.
    pub(crate) fn taken(&self, system: &mut System, o: &mut dyn Ops, request: u64) {
        if let Some(ends) = self.open.get(&request).and_then(|all| all.last()) {
            system.pass(o, Place::SockRecvLength, &[ends.server, LENGTH, 0]);
        }
    }

    /// The current task answers a request; if that came from a task, it will say when it has
    /// received the answer.
    pub(crate) fn answered(
        &mut self,
        system: &mut System,
        o: &mut dyn Ops,
        request: u64,
        to_task: bool,
    ) {
        let Some(ends) = self.open.get(&request).and_then(|all| all.first()).copied() else {
            return;
        };
        if let Some(client) = ends.client {
            system.pass(o, Place::SkDataReady, &[client]);
        }
        self.sending.push(ends.server);
        if !to_task {
            self.over(request);
        }
    }

    /// The current task, which sent a request, takes its answer.
    pub(crate) fn received(&mut self, system: &mut System, o: &mut dyn Ops, request: u64) {
        let ends = self.open.get(&request).and_then(|all| all.first());
        if let Some(client) = ends.and_then(|ends| ends.client) {
            system.pass(o, Place::SockRecvLength, &[client, LENGTH, 0]);
        }
        self.over(request);
    }

    /// A request is over.
    pub(crate) fn over(&mut self, request: u64) {
        self.closing.extend(self.open.remove(&request).into_iter().flatten());
    }

    /// The current task is back from sending.
    pub(crate) fn sent(&mut self, system: &mut System, o: &mut dyn Ops, cpu: u32) {
        system.running.this_cpu = cpu;
        for end in std::mem::take(&mut self.sending) {
            sent(system, o, Some(end));
        }
        for ends in self.closing.drain(..) {
            system.guest.mem.free(ends.server);
            ends.client.into_iter().for_each(|client| system.guest.mem.free(client));
        }
    }

    fn connect(
        &mut self,
        system: &mut System,
        socket: u32,
        kind: SocketKind,
        by_task: bool,
    ) -> Ends {
        let nth = self.connected;
        self.connected += 1;
        match kind {
            SocketKind::Unix => {
                let (server, client) = (unix_end(system), unix_end(system));
                let bound = *self
                    .bound
                    .entry(socket)
                    .or_insert_with(|| system.guest.mem.alloc("unix_address", 128, Perm::ReadOnly));
                let layout = system.guest.layouts.unix_sock.clone();
                system.guest.put_u64(server, layout.addr, bound);
                system.guest.put_u64(server, layout.peer, client);
                system.guest.put_u64(client, layout.peer, server);
                Ends { server, client: Some(client) }
            }
            SocketKind::Tcp => {
                let span = EPHEMERAL.end - EPHEMERAL.start;
                let port = (EPHEMERAL.start + nth % span) as u16;
                let listens = FIRST_PORT.wrapping_add(socket as u16);
                let (here, there) =
                    if by_task { (LOOPBACK, LOOPBACK) } else { (THIS_MACHINE, A_CUSTOMER) };
                let server = inet_end(system, (here, listens), (there, port));
                let client = by_task.then(|| inet_end(system, (there, port), (here, listens)));
                Ends { server, client }
            }
        }
    }
}

fn sent(system: &mut System, o: &mut dyn Ops, end: Option<u64>) {
    if let Some(end) = end {
        system.pass(o, Place::SockSendLength, &[end, LENGTH, 0]);
    }
}

fn unix_end(system: &mut System) -> u64 {
    let end = system.guest.mem.alloc_kernel(system.guest.layouts.unix_sock_shape);
    system.guest.put_u16(end, system.guest.layouts.sock.family, AF_UNIX);
    end
}

fn inet_end(system: &mut System, local: ([u8; 4], u16), remote: ([u8; 4], u16)) -> u64 {
    let end = system.guest.mem.alloc_kernel(system.guest.layouts.sock_shape);
    let layout = system.guest.layouts.sock.clone();
    system.guest.put_u16(end, layout.family, AF_INET);
    system.guest.put_u32(end, layout.local_address, u32::from_le_bytes(local.0));
    system.guest.put_u32(end, layout.remote_address, u32::from_le_bytes(remote.0));
    system.guest.put_u16(end, layout.local_port, local.1);
    system.guest.put_u16(end, layout.remote_port, remote.1.to_be());
    end
}
