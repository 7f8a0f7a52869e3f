// SPDX-License-Identifier: MIT OR Apache-2.0
//! The session of a command: what it tells goes to standard error.

use crate::output::messages;
use rota_session::Session;
use std::sync::LazyLock;

static SESSION: LazyLock<Session> = LazyLock::new(|| Session::new(Box::new(messages::line)));

/// The one of this process, which is one command.
pub(crate) fn session() -> &'static Session {
    &SESSION
}
