// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words of what users read: pages, help, manual pages, `rota list`, and what the policies'
//! files begin with.

use super::{pages, Page};
use crate::support::{root, rota, Scratch};

/// Words with a better one.
const WORDS: &[(&str, &str)] = &[
    ("whom", "the task that"),
    ("who", "the task that, or users that"),
    ("whose", "of which, or with"),
    ("whoever", "the task that"),
    ("somebody", "a task, or a user"),
    ("nobody", "no task"),
    ("anybody", "any task"),
    ("everybody", "every task"),
    ("beside", "compared with, or next to"),
    ("besides", "as well as, or and"),
    ("dearest", "most expensive"),
    ("dearer", "more expensive"),
    ("lots", "a random number, or tie-break"),
];

/// Where such a word is right: in a name or a title, or of people.
const RIGHT: &[(&str, &str)] =
    &[("README.md", "engineers, who"), ("README.md", "researchers, who")];

fn check(name: &str, number: usize, line: &str, found: &mut Vec<String>) {
    // Code is as it is.
    let prose: String = line.split('`').step_by(2).collect::<Vec<&str>>().join(" ");
    let is_right = |word: &str| {
        let own = RIGHT.iter().filter(|(file, _)| *file == name);
        own.into_iter().any(|(_, phrase)| phrase.contains(word) && line.contains(phrase))
    };
    for word in prose.split(|c: char| !c.is_alphanumeric()) {
        let lower = word.to_lowercase();
        let known = WORDS.iter().find(|(bad, _)| *bad == lower);
        if let Some((bad, better)) = known.filter(|_| !is_right(&lower)) {
            found.push(format!("{name}:{number}: \"{bad}\", better: {better}\n    {line}"));
        }
    }
}

#[track_caller]
fn none(found: &[String]) {
    assert!(found.is_empty(), "{} words:\n{}", found.len(), found.join("\n"));
}

/// The part of the changes that is not released.
fn unreleased(page: &Page) -> usize {
    let lines = page.text.lines().enumerate().filter(|(_, line)| line.starts_with("## "));
    lines.map(|(at, _)| at + 1).nth(1).unwrap_or(usize::MAX)
}

#[test]
fn pages_are_in_the_words_of_the_field() {
    let mut found = Vec::new();
    for page in pages().iter().filter(|page| !page.name.starts_with("docs/notes/")) {
        let end = if page.name == "CHANGELOG.md" { unreleased(page) } else { usize::MAX };
        for (number, line) in page.prose().filter(|(number, _)| *number < end) {
            check(&page.name, number, line, &mut found);
        }
    }
    none(&found);
}

#[test]
fn help_and_manual_pages_are_in_the_words_of_the_field() {
    let scratch = Scratch::new();
    let folder = scratch.path("man1");
    rota(&["man", "--dir", &folder]).ok();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("pages") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a page");
        text.lines().enumerate().for_each(|(at, line)| check(&name, at + 1, line, &mut found));
    }
    let list = rota(&["list"]).ok().stdout;
    list.lines().enumerate().for_each(|(at, line)| check("rota list", at + 1, line, &mut found));
    none(&found);
}

#[test]
fn workloads_begin_in_the_words_of_the_field() {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join("workloads")).expect("workloads") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a workload");
        let (header, _) = text.split_once("*/").unwrap_or_default();
        header.lines().enumerate().for_each(|(at, line)| check(&name, at + 1, line, &mut found));
    }
    none(&found);
}

#[test]
fn policies_begin_in_the_words_of_the_field() {
    let mut found = Vec::new();
    for policy in rota_catalog::policies() {
        let name = format!("policies/{}.bpf.c", policy.name);
        let text = std::fs::read_to_string(root().join(&name)).expect("a source");
        let (header, _) = text.split_once("#include").expect("it includes a header");
        for (at, line) in header.lines().enumerate() {
            check(&name, at + 1, line, &mut found);
        }
    }
    none(&found);
}
