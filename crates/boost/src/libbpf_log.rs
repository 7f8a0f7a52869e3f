// SPDX-License-Identifier: MIT OR Apache-2.0
//! What libbpf says when something is refused: it prints through one global function.

use libbpf_rs::{set_print, PrintLevel};
use std::sync::{Mutex, MutexGuard, PoisonError};

static LINES: Mutex<String> = Mutex::new(String::new());

fn lines() -> MutexGuard<'static, String> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep(_: PrintLevel, text: String) {
    lines().push_str(&text);
}

/// Starts a new log.
pub(crate) fn start() {
    lines().clear();
    set_print(Some((PrintLevel::Warn, keep)));
}

/// Ends the log and returns it.
pub(crate) fn take() -> String {
    std::mem::take(&mut lines())
}
