// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sections of a manual page that the arguments do not know of.

use super::name;
use crate::examples;
use clap::Command;
use clap_mangen::roff::{bold, italic, roman, Inline, Roff};
use std::io::{self, Write};

const EXIT_STATUS: [(&str, &str); 4] = [
    ("0", "Success. A policy that ran was stopped, or unregistered itself."),
    ("1", "Failure for a reason other than the input: the kernel refused, a disk is full."),
    ("2", "Wrong usage, or input that cannot be used."),
    (
        "3",
        "A policy was ejected: it left a task waiting too long, broke a rule or reported an \
         error. The line EXIT: on standard error reports which.",
    ),
];

const FILES: [(&str, &str); 7] = [
    (
        "/etc/rota/POLICY.conf",
        "Options of the policy when it runs as a service, see rota@.service(8).",
    ),
    (
        "/run/rota/control.sock",
        "Where the running policy listens for rota set. It is there while a policy runs.",
    ),
    ("/run/rota/boost.sock", "Where rota boost listens for rota boost --explain."),
    ("/run/rota/boost.saved", "What rota boost is to take back if it was killed."),
    (
        "/sys/kernel/sched_ext/",
        "The kernel's state of its schedulers: state is enabled while one is loaded, \
         root/ops has its name.",
    ),
    ("/sys/kernel/btf/vmlinux", "The types of the running kernel; policies are fitted to them."),
    (
        "PREFIX/share/rota/",
        "The sources of the policies with the headers to write others, and workloads to start \
         from. PREFIX is /usr, or /usr/local if you installed it yourself.",
    ),
];

const ENVIRONMENT: [(&str, &str); 2] = [
    ("CLANG", "The clang (16 or later) that compiles a FILE.bpf.c, instead of the newest found."),
    ("NO_COLOR", "If set, nothing is coloured."),
];

/// Writes what comes after the options.
pub(super) fn render(command: &Command, root: &Command, page: &mut dyn Write) -> io::Result<()> {
    let mut roff = Roff::new();
    examples(&mut roff, command, root);
    notes(&mut roff, command);
    list(&mut roff, "EXIT STATUS", &EXIT_STATUS, |term| bold(term));
    if command.has_subcommands() {
        list(&mut roff, "FILES", &FILES, |term| italic(term));
        list(&mut roff, "ENVIRONMENT", &ENVIRONMENT, |term| bold(term));
    }
    see_also(&mut roff, command, root);
    roff.to_writer(page)
}

/// Command lines with what they do.
fn examples(roff: &mut Roff, command: &Command, root: &Command) {
    let path = name(command).strip_prefix(name(root)).unwrap_or_default();
    let path = path.trim_start_matches('-').replace('-', " ");
    let all = examples::of(&path);
    if all.is_empty() {
        return;
    }
    roff.control("SH", ["EXAMPLES"]);
    for (line, what) in all {
        roff.control("TP", []).text([bold(*line)]).text([roman(*what)]);
    }
}

/// What `--help` ends with, but examples and exit codes, which are sections of their own here.
fn notes(roff: &mut Roff, command: &Command) {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let text = match text.split_once("\n\n") {
        Some((examples, rest)) if examples.starts_with("Examples:") => rest.to_owned(),
        _ if text.starts_with("Examples:") => String::new(),
        _ => text,
    };
    let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("Exit codes:")).collect();
    let text = kept.join("\n");
    if !text.trim().is_empty() {
        roff.control("SH", ["NOTES"]).control("nf", []);
        roff.text([roman(text.trim())]).control("fi", []);
    }
}

fn list(roff: &mut Roff, title: &str, rows: &[(&str, &str)], term: fn(&str) -> Inline) {
    roff.control("SH", [title]);
    for (name, meaning) in rows {
        roff.control("TP", []).text([term(name)]).text([roman(*meaning)]);
    }
}

fn see_also(roff: &mut Roff, command: &Command, root: &Command) {
    let below = root.get_subcommands().filter(|c| !c.is_hide_set()).map(|c| (name(c), "1"));
    let pages: Vec<(&str, &str)> = std::iter::once((name(root), "1"))
        .chain(below)
        .chain([("rota@.service", "8")])
        .filter(|(page, _)| *page != name(command))
        .collect();
    roff.control("SH", ["SEE ALSO"]);
    let mut line = Vec::new();
    for (i, (page, section)) in pages.iter().enumerate() {
        let comma = if i + 1 < pages.len() { ", " } else { "" };
        line.extend([bold(*page), roman(format!("({section}){comma}"))]);
    }
    roff.text(line);
    roff.control("PP", []).text([roman(
        "The documentation is in PREFIX/share/doc/rota/, its index in docs/index.md.",
    )]);
}
