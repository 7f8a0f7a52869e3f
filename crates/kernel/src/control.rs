// SPDX-License-Identifier: MIT OR Apache-2.0
//! The control socket of a running policy: a Unix socket that takes one JSON object per
//! line and answers each with one, `docs/control.md`.

mod client;
mod connection;
mod operator;
mod protocol;
mod server;
#[cfg(test)]
mod tests;

pub use client::{Client, ClientError};
pub use operator::{Loader, Operated, Operator, MAX_SHARE};
pub use protocol::{
    Changed, Changes, Description, Refusal, RefusalKind, Request, Response, Share, Switch,
    Switching, Tunable, MAX_LINE, VERSION,
};
pub use server::{BindError, Controlled, Server};

use std::path::Path;

/// Where the socket is, unless told otherwise.
pub const SOCKET: &str = "/run/rota/control.sock";

/// The `rota` that answers at a socket, if one does.
pub fn running(socket: &Path) -> Option<Description> {
    Client::connect(socket).ok()?.describe().ok()
}
