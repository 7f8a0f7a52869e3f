// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links between pages lead to files and headings that are there.

use super::{pages, Page};
use crate::support::root;
use std::collections::HashMap;
use std::path::Path;

/// Targets of a page's links, with their lines.
fn links(page: &Page) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in page.prose() {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once("](") {
            let (target, after) = after.split_once(')').unwrap_or((after, ""));
            found.push((number, target));
            rest = after;
        }
    }
    found
}

/// What GitHub makes of a heading: small letters, digits, hyphens and underscores.
fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    };
    heading.to_lowercase().chars().filter_map(kept).collect()
}

fn anchors(page: &Page) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = page.prose().filter(|(_, line)| line.starts_with('#'));
    let named = headings.map(|(_, line)| {
        let anchor = anchor(line.trim_start_matches('#').trim());
        let count = seen.entry(anchor.clone()).or_default();
        *count += 1;
        if *count == 1 {
            anchor
        } else {
            format!("{anchor}-{}", *count - 1)
        }
    });
    named.collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let top = root().canonicalize().expect("a path");
    let pages = pages();
    let anchors: HashMap<&str, Vec<String>> =
        pages.iter().map(|page| (page.name.as_str(), anchors(page))).collect();
    let mut broken = Vec::new();
    for page in &pages {
        for (number, target) in links(page) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let folder = Path::new(&page.name).parent().expect("a folder");
            let path = if file.is_empty() { page.name.as_str().into() } else { folder.join(file) };
            let Ok(found) = top.join(&path).canonicalize() else {
                broken.push(format!("{}:{number}: {target}: no such file", page.name));
                continue;
            };
            let name = found.strip_prefix(&top).expect("below").to_string_lossy().into_owned();
            let is_there = heading.is_empty()
                || anchors.get(name.as_str()).is_some_and(|all| all.iter().any(|a| a == heading));
            if !is_there {
                broken.push(format!("{}:{number}: {target}: no such heading", page.name));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn anchors_are_those_of_github() {
    assert_eq!(anchor("`rota sim POLICY|FILE`: what, why?"), "rota-sim-policyfile-what-why");
    assert_eq!(anchor("Jain's index"), "jains-index");
}
