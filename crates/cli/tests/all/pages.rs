// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pages: links lead somewhere, the index has each page, each begins with its purpose, and the
//! words are the field's.

mod links;
mod words;

use crate::support::root;
use std::path::{Path, PathBuf};

/// A Markdown file.
struct Page {
    /// From the top of the source tree.
    name: String,
    text: String,
}

impl Page {
    /// Its lines with their numbers, without code blocks; a fenced or an indented one is code.
    fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut is_fenced = false;
        let prose = self.text.lines().enumerate().filter(move |(_, line)| {
            let is_fence = line.trim_start().starts_with("```");
            is_fenced ^= is_fence;
            !is_fenced && !is_fence && !line.starts_with("    ")
        });
        prose.map(|(at, line)| (at + 1, line))
    }
}

/// Every page for users, and what contributors read.
fn pages() -> Vec<Page> {
    let top = root().canonicalize().expect("a path");
    let mut files = Vec::new();
    for name in ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"] {
        files.push(top.join(name));
    }
    collect(&top.join("docs"), &mut files);
    let read = |file: PathBuf| Page {
        name: file.strip_prefix(&top).expect("below").to_string_lossy().into_owned(),
        text: std::fs::read_to_string(&file).expect("a page"),
    };
    files.into_iter().map(read).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            files.push(path);
        }
    }
}

#[test]
fn the_index_has_each_page_once_under_one_of_four_kinds() {
    let pages = pages();
    let index = pages.iter().find(|page| page.name == "docs/index.md").expect("an index");
    let kinds: Vec<&str> = index.text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(kinds, ["Tutorial", "How-to", "Reference", "Explanation"]);
    let of_users = pages.iter().filter_map(|page| page.name.strip_prefix("docs/"));
    for page in of_users.filter(|page| !page.contains('/') && *page != "index.md") {
        assert_eq!(index.text.matches(&format!("]({page})")).count(), 1, "{page}");
    }
}

#[test]
fn each_page_begins_with_its_purpose() {
    for page in pages() {
        let mut lines = page.text.lines().filter(|line| !line.starts_with("<!--"));
        let title = lines.find(|line| !line.is_empty()).expect("a title");
        assert!(title.starts_with("# "), "{}: {title}", page.name);
        let first = lines.find(|line| !line.is_empty()).expect("text");
        let is_prose = first.starts_with(|c: char| c.is_alphabetic() || "[`*".contains(c));
        assert!(is_prose, "{}: expected a sentence after the title: {first}", page.name);
    }
}
