// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pages that show commands show what they print. `SAMPLES=write cargo test -p rota --test all
//! cli_samples` writes it into the pages; `…` on a line of its own stands for lines left out, and
//! is kept. A command that begins with `sudo` runs as it is written, without it; where a kernel refuses, as
//! to users that are not root, what the page shows is kept.

use crate::support::{root, Scratch};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Stands for any number of lines.
const LEFT_OUT: &str = "…";

/// What commands say that look at a kernel, where they must not or cannot.
const REFUSALS: [&str; 2] = ["needs root", "cannot read the kernel's types"];

/// Runs the page's `console` blocks in order, in a folder that has the files that its other blocks
/// name (```` ```json my.json ````), and compares or writes what they print.
fn check(page: &str) -> usize {
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let scratch = Scratch::new();
    let folder = scratch.path("here");
    std::fs::create_dir(&folder).expect("a folder");
    for shared in ["workloads", "policies"] {
        let target = root().canonicalize().expect("a path").join(shared);
        std::os::unix::fs::symlink(target, Path::new(&folder).join(shared)).expect("a link");
    }
    let (mut written, mut commands) = (String::new(), 0);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        written.push_str(line);
        written.push('\n');
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match info.split_once(' ') {
            Some((_, file)) => {
                std::fs::write(Path::new(&folder).join(file), block.join("\n")).expect("a file");
                written.push_str(&block.iter().map(|line| format!("{line}\n")).collect::<String>());
            }
            None if info == "console" => {
                let samples = samples(&block);
                commands += samples.len();
                samples.iter().for_each(|sample| written.push_str(&sample.filled(&folder)));
            }
            None => written.push_str(&block.iter().map(|l| format!("{l}\n")).collect::<String>()),
        }
        written.push_str("```\n");
    }
    if std::env::var_os("SAMPLES").is_some_and(|what| what == "write") {
        std::fs::write(&path, written).expect("the page is written");
    } else {
        similar(page, &text, &written);
    }
    commands
}

/// A command and what the page shows of it.
struct Sample<'a> {
    command: &'a str,
    shown: Vec<&'a str>,
}

fn samples<'a>(block: &[&'a str]) -> Vec<Sample<'a>> {
    let mut samples: Vec<Sample<'a>> = Vec::new();
    for line in block {
        match line.strip_prefix("$ ") {
            Some(command) => samples.push(Sample { command, shown: Vec::new() }),
            None => samples.last_mut().expect("a command comes first").shown.push(line),
        }
    }
    samples
}

impl Sample<'_> {
    /// The sample with what the command prints; lines that the page leaves out are left out.
    fn filled(&self, folder: &str) -> String {
        let bin = Path::new(env!("CARGO_BIN_EXE_rota")).parent().expect("a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        let privileged = self.command.strip_prefix("sudo ");
        let line = privileged.unwrap_or(self.command);
        command.args(["-c", &format!("exec 2>&1; {line}")]).current_dir(folder);
        command.env("PATH", format!("{}:{path}", bin.display())).stdin(Stdio::null());
        let output = command.output().expect("a shell");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        if privileged.is_some() && !output.status.success() {
            let refused = REFUSALS.iter().any(|words| text.contains(words));
            assert!(refused, "{line}: {text}");
            let _ = writeln!(std::io::stderr(), "{line}: skipped: {}", text.trim());
            return format!("$ {}\n{}\n", self.command, self.shown.join("\n"));
        }
        let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with("progress: ")).collect();
        let mut filled = format!("$ {}\n", self.command);
        for line in shortened(&lines, &self.shown) {
            filled.push_str(line);
            filled.push('\n');
        }
        filled
    }
}

/// `lines` without those for which `shown` has `…`, as far as the lines around them are there.
fn shortened<'a>(lines: &[&'a str], shown: &[&'a str]) -> Vec<&'a str> {
    let mut parts = shown.split(|line| *line == LEFT_OUT);
    let first = parts.next().unwrap_or_default();
    if first.len() == shown.len() {
        return lines.to_vec();
    }
    let mut kept = lines.iter().take(first.len()).copied().collect::<Vec<&str>>();
    let mut at = kept.len();
    for part in parts {
        kept.push(LEFT_OUT);
        let rest = lines.get(at..).unwrap_or_default();
        let found = match part.first() {
            // The page ends with lines left out.
            None => rest.len(),
            Some(first) => {
                let starts_alike = |line: &&str| word(line) == word(first);
                rest.iter().position(starts_alike).unwrap_or(0)
            }
        };
        at += found;
        kept.extend(lines.iter().skip(at).take(part.len()));
        at += part.len();
    }
    kept
}

/// What a line begins with: the name in a table's row stays where numbers change.
fn word(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

#[track_caller]
fn similar(page: &str, text: &str, written: &str) {
    let differs = text.lines().zip(written.lines()).position(|(a, b)| a != b);
    let at = differs.unwrap_or(text.lines().count().min(written.lines().count()));
    let around = |text: &str| {
        text.lines().skip(at.saturating_sub(2)).take(6).collect::<Vec<&str>>().join("\n")
    };
    assert!(
        text == written,
        "{page}:{}: the page shows\n{}\nand the command prints\n{}",
        at + 1,
        around(text),
        around(written)
    );
}

#[test]
fn the_first_hour_prints_what_its_page_shows() {
    let commands = check("docs/first-hour.md");
    assert!(commands >= 12, "{commands}");
}

#[test]
fn the_readme_shows_what_its_commands_print() {
    assert!(check("README.md") >= 2);
}

#[test]
fn the_worked_examples_show_what_their_commands_print() {
    assert_eq!(check("docs/worked-examples.md"), 3);
}

#[test]
fn the_history_of_schedulers_shows_what_its_command_prints() {
    assert_eq!(check("docs/history.md"), 1);
}

#[test]
fn the_tutorials_print_what_their_pages_show() {
    assert_eq!(check("docs/tutorial-recording.md"), 8);
    assert_eq!(check("docs/tutorial-scheduler.md"), 6);
    assert_eq!(check("docs/tutorial-figure.md"), 7);
}

#[test]
fn lines_that_a_page_leaves_out_stay_out() {
    let lines = ["head", "a 1", "b 2", "c 3", "end"];
    assert_eq!(shortened(&lines, &["head", "…", "c 9", "…"]), ["head", "…", "c 3", "…"]);
    assert_eq!(shortened(&lines, &["…", "end"]), ["…", "end"]);
    assert_eq!(shortened(&lines, &["x"]), lines);
}
