// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which packages a few packages need.

use anyhow::{bail, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A package of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Path below the mirror's base.
    pub path: String,
    /// Of the package's file, in hexadecimal.
    pub sha256: String,
}

/// A `Packages` index, by name.
struct Index<'a> {
    stanzas: HashMap<&'a str, &'a str>,
    /// Virtual packages, and who provides them.
    provided: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

/// The packages named and all that they depend on, by name. Of alternatives the one that is
/// wanted anyway is taken, else the first that exists. Versions are not compared: in one suite
/// packages fit each other.
pub fn closure(index: &str, wanted: &[&str]) -> Result<Vec<Package>> {
    let index = Index::parse(index);
    let mut chosen: BTreeMap<&str, Package> = BTreeMap::new();
    let mut open: Vec<&str> = wanted.iter().rev().copied().collect();
    while let Some(name) = open.pop() {
        if chosen.contains_key(name) {
            continue;
        }
        let Some((name, stanza)) = index.stanzas.get_key_value(name) else {
            bail!("there is no package '{name}'");
        };
        chosen.insert(name, package(name, stanza)?);
        let mut more = Vec::new();
        for alternatives in depends(stanza) {
            let is_there = |name: &&str| chosen.contains_key(*name) || wanted.contains(name);
            if !alternatives.iter().any(is_there) {
                match alternatives.iter().find_map(|name| index.find(name)) {
                    Some(name) => more.push(name),
                    None => bail!("{name} needs {}: there is none", alternatives.join(" or ")),
                }
            }
        }
        open.extend(more.into_iter().rev());
    }
    Ok(chosen.into_values().collect())
}

impl<'a> Index<'a> {
    fn parse(text: &'a str) -> Index<'a> {
        let mut stanzas = HashMap::new();
        let mut provided: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for stanza in text.split("\n\n") {
            let Some(name) = field(stanza, "Package") else { continue };
            stanzas.insert(name, stanza);
            for what in list(field(stanza, "Provides").unwrap_or("")) {
                provided.entry(what).or_default().insert(name);
            }
        }
        Index { stanzas, provided }
    }

    /// The package of this name, or one that provides it.
    fn find(&self, name: &str) -> Option<&'a str> {
        let real = self.stanzas.get_key_value(name).map(|(name, _)| *name);
        real.or_else(|| self.provided.get(name)?.first().copied())
    }
}

fn package(name: &str, stanza: &str) -> Result<Package> {
    let get = |key| match field(stanza, key) {
        Some(value) => Ok(value.to_owned()),
        None => bail!("package {name} has no field '{key}' in the index"),
    };
    Ok(Package {
        name: name.to_owned(),
        version: get("Version")?,
        path: get("Filename")?,
        sha256: get("SHA256")?,
    })
}

/// Alternatives of each dependency.
fn depends(stanza: &str) -> Vec<Vec<&str>> {
    ["Pre-Depends", "Depends"]
        .into_iter()
        .filter_map(|key| field(stanza, key))
        .flat_map(|value| value.split(','))
        .map(|alternatives| alternatives.split('|').map(bare).collect())
        .collect()
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(bare).filter(|name| !name.is_empty())
}

/// `libc6:any (>= 2.34)` is `libc6`.
fn bare(text: &str) -> &str {
    text.trim().split([' ', '(', ':', '[']).next().unwrap_or("")
}

fn field<'a>(stanza: &'a str, name: &str) -> Option<&'a str> {
    stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stanza(name: &str, more: &str) -> String {
        format!("Package: {name}\nVersion: 1-1\n{more}Filename: pool/{name}.deb\nSHA256: 00\n\n")
    }

    fn names(index: &str, wanted: &[&str]) -> Vec<String> {
        closure(index, wanted).unwrap().into_iter().map(|package| package.name).collect()
    }

    #[test]
    fn what_packages_need_comes_along_each_once() {
        let index = [
            stanza("init", "Pre-Depends: libc (>= 2)\nDepends: lib-a:any (= 1), lib-b\n"),
            stanza("lib-a", "Depends: libc\n"),
            stanza("lib-b", "Depends: lib-a, init\n"),
            stanza("libc", ""),
            stanza("other", ""),
        ]
        .concat();
        assert_eq!(names(&index, &["init"]), ["init", "lib-a", "lib-b", "libc"]);
    }

    #[test]
    fn of_alternatives_the_wanted_one_is_taken_else_the_first() {
        let index =
            [stanza("a", "Depends: big | small (>= 2)\n"), stanza("big", ""), stanza("small", "")]
                .concat();
        assert_eq!(names(&index, &["a"]), ["a", "big"]);
        assert_eq!(names(&index, &["a", "small"]), ["a", "small"]);
    }

    #[test]
    fn a_virtual_package_is_one_that_provides_it() {
        let index =
            [stanza("a", "Depends: mail\n"), stanza("postman", "Provides: post, mail (= 3)\n")]
                .concat();
        assert_eq!(names(&index, &["a"]), ["a", "postman"]);
    }

    #[test]
    fn a_package_that_is_not_there_is_an_error_that_names_it() {
        let index = stanza("a", "Depends: gone | away\n");
        let error = |wanted| closure(&index, wanted).unwrap_err().to_string();
        assert_eq!(error(&["a"]), "a needs gone or away: there is none");
        assert_eq!(error(&["b"]), "there is no package 'b'");
    }

    proptest! {
        #[test]
        fn everything_needed_is_there(edges in prop::collection::vec((0..9usize, 0..9usize), 0..30)) {
            let needs = |i| edges.iter().filter(move |(from, _)| *from == i).map(|(_, to)| *to);
            let index: String = (0..9)
                .map(|i| {
                    let names: Vec<String> = needs(i).map(|to| format!("p{to} (>= 1)")).collect();
                    stanza(&format!("p{i}"), &format!("Depends: {}\n", names.join(", ")))
                })
                .map(|stanza| stanza.replace("Depends: \n", ""))
                .collect();
            let found = names(&index, &["p0"]);
            for (from, to) in &edges {
                let (from, to) = (format!("p{from}"), format!("p{to}"));
                prop_assert!(!found.contains(&from) || found.contains(&to));
            }
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "[A-Za-z0-9:,|(). \n+~-]{0,200}") {
            let _ = closure(&format!("Package: a\nDepends: {text}\n\n{text}"), &["a"]);
        }
    }
}
