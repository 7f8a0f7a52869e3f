// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policies as users name them: `wfq:quantum_ns=2ms`, `old=./main.bpf.o:@main.toml`, or a scheduler's
//! own program with its arguments, `lavd=scx_lavd --performance`.

use crate::error::Error;
use crate::label::{self, Names};
use crate::object;
use crate::prepare::NO_MANIFEST;
use crate::program;
use std::path::{Component, Path, PathBuf};

/// A policy as the user asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What the user calls it.
    pub label: Option<String>,
    /// Shipped policy or file; or a program with its arguments.
    pub policy: String,
    /// It is a program.
    pub is_program: bool,
    /// Variables to set.
    pub set: Vec<(String, String)>,
    /// What its own loader would set.
    pub manifest: Option<PathBuf>,
}

impl Wanted {
    /// Reads a word; files are seen from the current folder.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_in(None, text).map_err(|why| Error::input(format!("policy \"{text}\": {why}")))
    }

    /// Reads a word of a file; paths are seen from its folder. Those among the arguments of a program
    /// are not known, and stay.
    ///
    /// # Errors
    ///
    /// What was expected.
    pub fn parse_in(file: Option<&Path>, text: &str) -> Result<Self, String> {
        let beside = |path: &str| match file {
            Some(file) if path.contains('/') || object::is_file_name(path) => beside(file, path),
            _ => path.to_owned(),
        };
        let (label, policy) = label::split(text);
        let label = label.map(str::to_owned);
        if let Some(program) = of_program(policy.trim(), beside) {
            return Ok(Self { label, is_program: true, ..Self::plain(&program) });
        }
        let mut parts = policy.split(':');
        let policy = parts.next().unwrap_or_default().trim();
        let mut wanted = Self { label, ..Self::plain(&beside(policy)) };
        if wanted.policy.is_empty() {
            return Err("expected a name or a file".into());
        }
        for part in parts.map(str::trim) {
            match (part.strip_prefix('@'), part.split_once('=')) {
                (Some(NO_MANIFEST), _) if wanted.manifest.is_none() => {
                    wanted.manifest = Some(NO_MANIFEST.into());
                }
                (Some(path), _) if wanted.manifest.is_none() && !path.is_empty() => {
                    let path =
                        file.map_or_else(|| path.to_owned(), |file| self::beside(file, path));
                    wanted.manifest = Some(path.into());
                }
                (None, Some((name, value))) if !name.trim().is_empty() => {
                    wanted.set.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                _ => {
                    return Err(format!(
                        "\"{part}\": expected NAME=VALUE, or one @FILE.toml, for example \
                         wfq:quantum_ns=2ms"
                    ))
                }
            }
        }
        Ok(wanted)
    }

    /// A policy as it is.
    pub fn plain(policy: &str) -> Self {
        let policy = policy.into();
        Self { label: None, policy, is_program: false, set: Vec::new(), manifest: None }
    }

    /// The manifest that is a file.
    pub fn manifest_file(&self) -> Option<&Path> {
        self.manifest.as_deref().filter(|file| *file != Path::new(NO_MANIFEST))
    }

    /// What tells it from the same policy with other settings: `:quantum_ns=2ms`.
    pub fn settings(&self) -> String {
        let set = self.set.iter().map(|(name, value)| format!(":{name}={value}"));
        let manifest = self.manifest.iter().map(|file| format!(":@{}", file.display()));
        set.chain(manifest).collect()
    }

    /// What it can be called: as the user does, else as the policy, program or file is.
    pub fn names(&self) -> Names {
        if let Some(label) = &self.label {
            return Names::of_name(label.clone(), None);
        }
        if self.is_program {
            let words = program::words(&self.policy).unwrap_or_default();
            return Names::of_name(program::called(&words), Some(self.policy.clone()));
        }
        match object::is_shipped(&self.policy) {
            true => Names::of_name(self.policy.clone(), None).and(&self.settings()),
            false => Names::of_file(&self.policy).and(&self.settings()),
        }
    }
}

/// The command of an entry that means a program, whose own path is seen through `beside`.
fn of_program(entry: &str, beside: impl Fn(&str) -> String) -> Option<String> {
    let whole = beside(entry);
    if whole != entry && Path::new(&whole).exists() {
        return program::is_meant(&whole).then_some(whole);
    }
    if !program::is_meant(entry) {
        return None;
    }
    let end = entry.find(char::is_whitespace).unwrap_or(entry.len());
    let (program, arguments) = entry.split_at(end);
    Some(format!("{}{arguments}", beside(program)))
}

/// A path as seen from the folder of the file.
pub fn beside(file: &Path, path: &str) -> String {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let Some(folder) = folder.filter(|_| !Path::new(path).is_absolute()) else {
        return path.to_owned();
    };
    let path = folder.join(path);
    let plain = path.components().filter(|part| *part != Component::CurDir);
    shortest(plain.collect()).to_string_lossy().into_owned()
}

/// Without `..`, where that leads to the same file.
fn shortest(path: PathBuf) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if short.file_name().is_some() => drop(short.pop()),
            part => short.push(part),
        }
    }
    let is_same = |real: PathBuf| std::fs::canonicalize(&short).is_ok_and(|of| of == real);
    match std::fs::canonicalize(&path).is_ok_and(is_same) {
        true => short,
        false => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Wanted {
        Wanted::parse(text).expect(text)
    }

    #[test]
    fn settings_follow_the_name() {
        let wanted = parse("./m.bpf.o:table[3]=1:@m.toml:x=a=b");
        assert_eq!(wanted.policy, "./m.bpf.o");
        assert_eq!(wanted.set, [("table[3]".into(), "1".into()), ("x".into(), "a=b".into())]);
        assert_eq!(wanted.manifest, Some("m.toml".into()));
    }

    #[test]
    fn spaces_around_a_part_mean_nothing() {
        assert_eq!(parse(" wfq : x = 1 : @m.toml "), parse("wfq:x=1:@m.toml"));
    }

    #[test]
    fn a_program_is_a_name_in_the_path_or_has_arguments() {
        assert!(parse("true").is_program);
        assert!(!parse("wfq").is_program);
        let program = parse("lavd=scx_lavd --a b:c=d");
        assert_eq!((program.label.as_deref(), program.is_program), (Some("lavd"), true));
        assert_eq!(program.policy, "scx_lavd --a b:c=d");
    }

    #[test]
    fn paths_of_a_file_are_seen_from_its_folder() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let (file, program) = (folder.path().join("s.toml"), folder.path().join("mine"));
        std::fs::write(&program, "#!/bin/sh").expect("written");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("changed");
        let parse = |text: &str| Wanted::parse_in(Some(&file), text).expect(text);
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let object = parse("old=../a.bpf.o:q=1:@a.toml");
        assert_eq!(
            (object.policy, object.manifest),
            (path("../a.bpf.o"), Some(path("a.toml").into()))
        );
        assert_eq!(parse("wfq:@none").manifest, Some("none".into()));
        for (text, expected) in [
            ("./mine", path("mine")),
            ("mine=./mine --file ./x", format!("{} --file ./x", path("mine"))),
            ("true -f ./x", "true -f ./x".to_owned()),
        ] {
            let program = parse(text);
            assert!(program.is_program, "{text}");
            assert_eq!(program.policy, expected);
        }
        let here = Wanted::parse_in(Some(Path::new("s.toml")), "./a.bpf.o");
        assert_eq!(here, Ok(super::Wanted::plain("./a.bpf.o")));
    }

    proptest! {
        #[test]
        fn what_is_read_says_the_same_again(text in "[a-z./@:= \\[\\]0-9]{0,30}|\\PC{0,30}") {
            if let Ok(wanted) = Wanted::parse(&text) {
                let label = wanted.label.as_ref().map_or(String::new(), |label| format!("{label}="));
                let again = format!("{label}{}{}", wanted.policy, wanted.settings());
                prop_assert_eq!(parse(&again), wanted);
            }
        }
    }
}
