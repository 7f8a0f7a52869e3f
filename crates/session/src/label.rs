// SPDX-License-Identifier: MIT OR Apache-2.0
//! What policies are called: by the user, as `old=main.bpf.o`, or by the shortest path that tells
//! their files apart.

use std::path::Path;

/// The label that a policy is given, and the policy: of `old=main.bpf.o:q=2ms` the label `old`. A
/// name before the first `=` is one; settings come after a `:`, and arguments of programs after a
/// blank, so those are none, and neither is part of a path.
pub fn split(text: &str) -> (Option<&str>, &str) {
    let Some((before, after)) = text.split_once('=') else { return (None, text) };
    let name = before.trim();
    let is_part = |c: char| c.is_alphanumeric() || "._-+".contains(c);
    let is_name = name.starts_with(char::is_alphanumeric) && name.chars().all(is_part);
    // A file may be called so.
    let file = text.split(':').next().unwrap_or(text).trim();
    match is_name && !Path::new(file).exists() {
        true => (Some(name), after.trim()),
        false => (None, text),
    }
}

/// What a policy can be called, in two series, each with the shortest name first.
#[derive(Clone, Debug)]
pub struct Names {
    short: Vec<String>,
    /// With the file's ending.
    long: Vec<String>,
}

impl Names {
    /// Of one that has a name.
    pub fn of_name(name: String, long: Option<String>) -> Self {
        Self { short: vec![name], long: long.into_iter().collect() }
    }

    /// Of a file: with folders above it.
    pub fn of_file(file: &str) -> Self {
        let path = Path::new(file);
        let whole = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let mut long = below_folders(whole, path);
        long.push(file.to_owned());
        Self { short: below_folders(short_name(path), path), long }
    }

    /// With this at the end of each.
    pub fn and(mut self, settings: &str) -> Self {
        self.short.iter_mut().chain(&mut self.long).for_each(|name| name.push_str(settings));
        self
    }

    /// The name at a place of a series, or its last one.
    fn nth(&self, is_long: bool, at: usize) -> String {
        let series = if is_long && !self.long.is_empty() { &self.long } else { &self.short };
        series.get(at).or(series.last()).cloned().unwrap_or_default()
    }
}

/// A name alone, then with one folder of its path more each time.
fn below_folders(name: String, path: &Path) -> Vec<String> {
    let mut names = vec![name];
    for folder in path.parent().map(Path::components).into_iter().flatten().rev() {
        let folder = folder.as_os_str().to_string_lossy();
        let slash = if folder == "/" { "" } else { "/" };
        let below = names.last().map_or("", String::as_str);
        names.push(format!("{folder}{slash}{below}"));
    }
    names
}

/// The shortest of each one's names by which no two of them are called alike; the longest of them
/// where there is no such name.
pub fn told_apart(names: &[Names]) -> Vec<String> {
    let first: Vec<String> = names.iter().map(|names| names.nth(false, 0)).collect();
    let mut labels = first.clone();
    for (at, name) in first.iter().enumerate() {
        let alike: Vec<usize> = (at..first.len()).filter(|other| first[*other] == *name).collect();
        if alike.len() == 1 || first[..at].contains(name) {
            continue;
        }
        let of = |is_long: bool, level: usize| -> Vec<String> {
            alike.iter().map(|at| names[*at].nth(is_long, level)).collect()
        };
        let most = alike.iter().map(|at| names[*at].short.len().max(names[*at].long.len()));
        let most = most.max().unwrap_or(1);
        let levels = [false, true].into_iter().flat_map(|long| (0..most).map(move |at| (long, at)));
        let is_told = |of: &Vec<String>| (1..of.len()).all(|at| !of[..at].contains(&of[at]));
        let told = levels.map(|(long, at)| of(long, at)).find(is_told);
        let told = told.unwrap_or_else(|| of(true, most));
        alike.iter().zip(told).for_each(|(at, label)| labels[*at] = label);
    }
    labels
}

/// `scx_simple` of `build/scx_simple.bpf.o`.
pub fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let endings = [".bpf.o", ".bpf.c", ".o", ".c", ".rota"];
    let short = endings.iter().find_map(|end| name.strip_suffix(end));
    short.unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_before_the_first_equals_sign_is_a_label() {
        assert_eq!(split("old=main.bpf.o"), (Some("old"), "main.bpf.o"));
        assert_eq!(split("old=./x.bpf.o:q=1"), (Some("old"), "./x.bpf.o:q=1"));
        assert_eq!(split(" v1.2 = wfq "), (Some("v1.2"), "wfq"));
        assert_eq!(split("new=scx_lavd --slice=1"), (Some("new"), "scx_lavd --slice=1"));
        for none in ["wfq:queue=list", "scx_lavd --slice=1", "a/b=c.bpf.o", "./b=c.o", "wfq", "=x"]
        {
            assert_eq!(split(none), (None, none), "{none}");
        }
    }

    #[test]
    fn a_file_that_is_called_like_a_label_is_that_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().join("a=b.bpf.o");
        let name = name.to_str().expect("a name");
        std::fs::write(name, "").expect("written");
        assert_eq!(split(name), (None, name));
    }

    #[test]
    fn files_are_named_without_their_endings() {
        let name = |path| short_name(Path::new(path));
        assert_eq!(name("a/b/scx_simple.bpf.o"), "scx_simple");
        assert_eq!(name("mine.bpf.c"), "mine");
        assert_eq!(name("plain.o"), "plain");
        assert_eq!(name("object"), "object");
    }

    fn told(files: &[&str]) -> Vec<String> {
        told_apart(&files.iter().map(|file| Names::of_file(file)).collect::<Vec<_>>())
    }

    #[test]
    fn the_shortest_path_that_tells_files_apart_is_their_label() {
        assert_eq!(told(&["a/x.bpf.o", "a/y.bpf.o"]), ["x", "y"]);
        assert_eq!(told(&["a/x.bpf.o", "b/x.bpf.o"]), ["a/x", "b/x"]);
        assert_eq!(told(&["p/a/c/x.bpf.o", "p/b/c/x.bpf.o", "z.o"]), ["a/c/x", "b/c/x", "z"]);
        assert_eq!(told(&["x.bpf.o", "b/x.bpf.o"]), ["x", "b/x"]);
        assert_eq!(told(&["a/x.bpf.c", "a/x.bpf.o"]), ["x.bpf.c", "x.bpf.o"]);
        assert_eq!(told(&["/x.bpf.o", "/a/x.bpf.o"]), ["/x", "a/x"]);
        assert_eq!(told(&["./x.bpf.o", "x.bpf.o"]), ["./x", "x"]);
    }

    proptest! {
        #[test]
        fn a_label_and_its_policy_are_the_text(text in "[a-c.:/=\\- ]{0,12}|\\PC{0,20}") {
            match split(&text) {
                (None, rest) => prop_assert_eq!(rest, &text),
                (Some(label), policy) => {
                    prop_assert!(!label.contains(['/', ':', '=', ' ']), "{label}");
                    let again = format!("{label}={policy}");
                    prop_assert_eq!(split(&again), (Some(label), policy));
                }
            }
        }

        #[test]
        fn different_files_get_different_labels(
            files in proptest::collection::btree_set("(/|\\./)?([ab]/){0,3}[xy](\\.bpf)?\\.[oc]", 1..6)
        ) {
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            let labels = told(&files);
            for (at, label) in labels.iter().enumerate() {
                prop_assert!(!labels[..at].contains(label), "{labels:?} of {files:?}");
            }
        }
    }
}
