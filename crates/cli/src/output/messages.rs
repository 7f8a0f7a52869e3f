// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines on standard error. Colours go only to terminals, and not where `NO_COLOR` is set.
//! A closed standard error is no reason to stop. What comes from elsewhere is escaped here.

use super::plain::{plain, plain_lines};
use crate::error::Error;
use anstyle::{AnsiColor, Style};
use std::fmt::Display;
use std::io::Write;

const ALARM: Style = AnsiColor::Red.on_default().bold();
const CALM: Style = Style::new().bold();

/// Why a command failed.
pub(crate) fn error(error: &Error) {
    let text = error.to_string();
    let text = if error.has_lines() { plain_lines(&text) } else { plain(&text) };
    let _ = writeln!(anstream::stderr(), "{ALARM}error:{ALARM:#} {text}");
}

/// A condition that failed.
pub(crate) fn failed(what: &str) {
    let _ = writeln!(anstream::stderr(), "{ALARM}failed:{ALARM:#} {}", plain(what));
}

/// What is wrong with a result that is there all the same.
pub(crate) fn warning(what: &str) {
    let _ = writeln!(anstream::stderr(), "{CALM}warning:{CALM:#} {}", plain(what));
}

/// Why the policy left, as loaders of sched_ext schedulers print it.
pub(crate) fn exit(exit: &dyn Display, is_error: bool) {
    let style = if is_error { ALARM } else { CALM };
    let exit = exit.to_string();
    let exit = plain(&exit);
    let _ = writeln!(anstream::stderr(), "{style}EXIT:{style:#} {exit}");
}

/// Why a sub-scheduler was ejected.
pub(crate) fn exit_of_sub(cgroup: &str, exit: &dyn Display) {
    let (cgroup, exit) = (plain(cgroup), exit.to_string());
    let exit = plain(&exit);
    let _ = writeln!(anstream::stderr(), "{cgroup}: {ALARM}EXIT:{ALARM:#} {exit}");
}

/// What of the policy that comes from.
pub(crate) fn exit_details(lines: &[String]) {
    lines.iter().for_each(|line| {
        let _ = writeln!(anstream::stderr(), "  {}", plain(line));
    });
}

/// The same where it is one of several policies and runs.
pub(crate) fn exit_of(policy: &str, runs: &str, exit: &str, is_error: bool) {
    let style = if is_error { ALARM } else { CALM };
    let (policy, runs, exit) = (plain(policy), plain(runs), plain(exit));
    let _ = writeln!(anstream::stderr(), "{policy} ({runs}): {style}EXIT:{style:#} {exit}");
}

/// A line that is neither.
pub(crate) fn line(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", plain(line));
}

/// Text of the policy or the kernel itself, which may have several lines.
pub(crate) fn text(text: &str) {
    if !text.is_empty() {
        let _ = writeln!(anstream::stderr(), "{}", plain_lines(text));
    }
}
