// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota man`.

use crate::support::{rota, Scratch};
use std::collections::BTreeSet;

/// The commands that `rota --help` lists.
fn commands() -> BTreeSet<String> {
    commands_of(&rota(&["--help"]).ok().stdout)
}

fn commands_of(help: &str) -> BTreeSet<String> {
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    // What does not fit into a line goes on below, further to the right.
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The titles of a page's sections, in their order.
fn sections(page: &str) -> Vec<&str> {
    page.lines()
        .filter_map(|line| line.strip_prefix(".SH "))
        .map(|title| title.trim_matches('"'))
        .collect()
}

#[test]
fn the_page_of_rota_tells_of_exit_codes_files_and_other_pages() {
    let page = rota(&["man"]).ok().stdout;
    assert!(page.contains(".TH ROTA 1"), "{page}");
    assert_eq!(
        sections(&page),
        [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "SUBCOMMANDS",
            "EXAMPLES",
            "EXIT STATUS",
            "FILES",
            "ENVIRONMENT",
            "SEE ALSO"
        ]
    );
    for path in ["/etc/rota/POLICY.conf", "/run/rota/control.sock"] {
        assert!(page.contains(path), "{path}: {page}");
    }
    for command in commands() {
        assert!(page.contains(&format!("\\fBrota\\-{command}\\fR(1)")), "{command}: {page}");
    }
}

#[test]
fn every_command_gets_a_page_from_the_definitions_of_its_options() {
    let scratch = Scratch::new();
    let dir = scratch.path("man1");
    rota(&["man", "--dir", &dir]).ok();
    let below = ["bench", "fluid"].into_iter().flat_map(|above| {
        let commands = commands_of(&rota(&[above, "--help"]).ok().stdout);
        commands.into_iter().map(move |command| format!("{above}-{command}"))
    });
    let expected: BTreeSet<String> = commands()
        .into_iter()
        .chain(below)
        .map(|command| format!("rota-{command}.1"))
        .chain(["rota.1".to_owned()])
        .collect();
    let written: BTreeSet<String> = std::fs::read_dir(&dir)
        .expect("directory of pages")
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(written, expected);

    let page = std::fs::read_to_string(format!("{dir}/rota-sim.1")).expect("page of sim");
    assert!(page.contains("\\-\\-ideal"), "{page}");
    assert!(page.contains("\n.TP\n\\fB3\\fR\nA policy was ejected"), "{page}");
    assert!(!page.contains("Exit codes:"), "said once only: {page}");
    assert!(page.contains(".SH EXAMPLES"), "{page}");
    assert!(page.contains("\n\\fBrota sim vtrr workloads/web.json \\-\\-cpus 8\\fR\n"), "{page}");
    assert!(!page.contains(".SH NOTES"), "examples are no notes: {page}");
}
