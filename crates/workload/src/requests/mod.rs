// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests: sockets, the customers that send to them, and the tasks that serve them.
//!
//! A socket is one queue of requests. Customers are outside of the machine; tasks send too.
//! Any number of tasks may take requests from a socket, each request goes to one of them, and
//! the one that came first goes first.

pub(crate) mod customers;
mod event;
pub(crate) mod model;
pub(crate) mod traffic;

pub use event::{RequestEvent, RequestStep};
pub(crate) use model::Plan;
pub use model::{RequestClass, Socket, SocketKind};
