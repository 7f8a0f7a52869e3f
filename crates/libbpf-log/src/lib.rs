// SPDX-License-Identifier: MIT OR Apache-2.0
//! What libbpf says, kept until somebody asks: it prints through one function of the process.

use libbpf_rs::{set_print, PrintLevel};
use std::sync::{Mutex, MutexGuard, PoisonError};

static LINES: Mutex<String> = Mutex::new(String::new());
/// Lines of a log that an error shows.
const SHOWN: usize = 12;

fn lines() -> MutexGuard<'static, String> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep(_: PrintLevel, text: String) {
    lines().push_str(&text);
}

/// Starts a new log; with `all`, of debug messages too.
pub fn start(all: bool) {
    lines().clear();
    set_print(Some((if all { PrintLevel::Debug } else { PrintLevel::Warn }, keep)));
}

/// Ends the log and returns it.
pub fn take() -> String {
    std::mem::take(&mut lines())
}

/// The last lines of a log, which say what was wrong, each indented below a message.
pub fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(SHOWN)..];
    last.iter().flat_map(|line| ["\n  ", line]).collect()
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn the_last_twelve_lines_that_say_something_are_shown() {
        let log: String = (1..=14).map(|n| format!("line {n}\n \n")).collect();
        let shown = tail(&log);
        assert!(shown.starts_with("\n  line 3\n  line 4\n"), "{shown}");
        assert!(shown.ends_with("\n  line 14"), "{shown}");
        assert_eq!(tail("\n"), "");
    }
}
