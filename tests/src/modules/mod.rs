// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modules of a crate, what they use of each other, and circles among them.
//!
//! Read from the sources as tokens: `use` declarations, and paths that begin with `crate`, `self`
//! or `super`, in macros too. A name that a module only hands on (`pub use`) counts as that of the
//! module that defines it. What is compiled for tests only does not count.

mod source;

use anyhow::{Context, Result};
use source::Module;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// A module's place in its crate: `["output", "json"]`; empty: the crate's root.
type Place = Vec<String>;

/// All modules of a crate.
pub struct Modules {
    all: BTreeMap<Place, Module>,
}

/// That one module uses another, with the path it names.
#[derive(Clone, Debug)]
struct Use {
    from: Place,
    to: Place,
    path: String,
}

impl Modules {
    /// Reads a crate from its `main.rs` or `lib.rs`.
    pub fn read(root: &Path) -> Result<Self> {
        let mut all = BTreeMap::new();
        source::read(root, Vec::new(), &mut all)?;
        Ok(Self { all })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// A circle: modules with the same parent that, with all that is in them, use each other. A
    /// module and its parent are no circle: the parent's file has what its children share, and
    /// puts them together.
    pub fn circle(&self) -> Option<String> {
        // Of each parent: which child uses which, and one example.
        let mut graphs: BTreeMap<Place, BTreeMap<String, BTreeMap<String, Use>>> = BTreeMap::new();
        for found in self.uses() {
            let common = found.from.iter().zip(&found.to).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(to)) = (found.from.get(common), found.to.get(common)) else {
                continue;
            };
            let graph = graphs.entry(found.from[..common].to_vec()).or_default();
            let edges = graph.entry(from.clone()).or_default();
            edges.entry(to.clone()).or_insert_with(|| found.clone());
        }
        graphs.values().find_map(|graph| {
            let names = cycle(graph)?;
            let mut text = format!("{} → {}", names.join(" → "), names[0]);
            for (at, from) in names.iter().enumerate() {
                let Use { from, path, .. } = &graph[from][&names[(at + 1) % names.len()]];
                let file = self.all[from].file.display();
                write!(text, "\n  {file} uses {path}").ok()?;
            }
            Some(text)
        })
    }

    /// Every use of one module by another.
    fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for (from, module) in &self.all {
            for path in &module.paths {
                if let Some(to) = self.owner(from, path, &mut BTreeSet::new()) {
                    uses.push(Use { from: from.clone(), to, path: path.join("::") });
                }
            }
        }
        uses
    }

    /// The module that defines what a path means in the module at `place`; `None`: another crate's.
    /// `seen` has the names that are being looked for, as imports may lead back to themselves.
    fn owner(
        &self,
        place: &[String],
        path: &[String],
        seen: &mut BTreeSet<(Place, String)>,
    ) -> Option<Place> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.below(Vec::new(), rest, seen),
            "self" => self.below(place.to_vec(), rest, seen),
            "super" => {
                let mut parent = place.to_vec();
                parent.pop()?;
                let mut rest = rest;
                while let Some(("super", after)) = rest.split_first().map(|(f, r)| (f.as_str(), r))
                {
                    parent.pop()?;
                    rest = after;
                }
                self.below(parent, rest, seen)
            }
            _ => {
                let module = self.all.get(place)?;
                let own = self.child(place, first).is_some() || module.imports.contains_key(first);
                own.then(|| self.below(place.to_vec(), path, seen)).flatten()
            }
        }
    }

    /// The module that defines `path`, which is looked for in the module at `place`.
    fn below(
        &self,
        place: Place,
        path: &[String],
        seen: &mut BTreeSet<(Place, String)>,
    ) -> Option<Place> {
        let Some((first, rest)) = path.split_first() else { return Some(place) };
        if let Some(child) = self.child(&place, first) {
            return self.below(child, rest, seen);
        }
        let module = self.all.get(&place)?;
        if module.defines.contains(first) || !seen.insert((place.clone(), first.clone())) {
            return Some(place);
        }
        if let Some(target) = module.imports.get(first) {
            let target: Vec<String> = target.iter().chain(rest).cloned().collect();
            return self.owner(&place, &target, seen);
        }
        for glob in &module.globs {
            let Some(other) = self.owner(&place, glob, seen) else { continue };
            let defined = self.below(other.clone(), path, seen);
            if defined.is_some_and(|owner| owner != other) || self.has(&other, first) {
                return self.below(other, path, &mut BTreeSet::new());
            }
        }
        Some(place)
    }

    fn child(&self, place: &[String], name: &str) -> Option<Place> {
        let child: Place = place.iter().cloned().chain([name.to_owned()]).collect();
        self.all.contains_key(&child).then_some(child)
    }

    fn has(&self, place: &[String], name: &str) -> bool {
        let module = self.all.get(place);
        module.is_some_and(|of| of.defines.contains(name) || of.imports.contains_key(name))
    }
}

/// Names along a circle of the graph, if it has one.
fn cycle(graph: &BTreeMap<String, BTreeMap<String, Use>>) -> Option<Vec<String>> {
    /// Walks on from the last name of the way; names that are done lead to no circle.
    fn walk(
        graph: &BTreeMap<String, BTreeMap<String, Use>>,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        let here = way.last()?.clone();
        for next in graph.get(&here).into_iter().flat_map(BTreeMap::keys) {
            if let Some(at) = way.iter().position(|name| name == next) {
                return Some(way[at..].to_vec());
            }
            if !done.contains(next) {
                way.push(next.clone());
                if let Some(circle) = walk(graph, way, done) {
                    return Some(circle);
                }
                way.pop();
            }
        }
        done.insert(here);
        None
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|start| walk(graph, &mut vec![start.clone()], &mut done))
}

/// A crate's `main.rs`, else its `lib.rs`.
pub fn root_of(crate_directory: &Path) -> Result<std::path::PathBuf> {
    let roots = ["src/main.rs", "src/lib.rs"].map(|root| crate_directory.join(root));
    let found = roots.into_iter().find(|root| root.is_file());
    found.with_context(|| format!("{}: no src/main.rs or src/lib.rs", crate_directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// The circle of a crate with these files.
    fn circle(files: &[(&str, &str)]) -> Option<String> {
        let crate_directory = TempDir::new().expect("a directory");
        for (name, text) in files {
            let path = crate_directory.path().join("src").join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }
        let root = root_of(crate_directory.path()).expect("a root");
        Modules::read(&root).expect("sources").circle()
    }

    /// Whether modules `a` and `b` of a crate are a circle, `b` using `a`.
    fn is_circle(a: &str) -> bool {
        let b = "use crate::a::A;\npub struct B;\npub mod c { pub struct C; }";
        circle(&[("lib.rs", "mod a;\nmod b;\npub use b::B;"), ("a.rs", a), ("b.rs", b)]).is_some()
    }

    #[test]
    fn two_modules_that_use_each_other_are_a_circle() {
        assert!(is_circle("use crate::b::B; pub struct A;"), "an import");
        assert!(is_circle("use crate::{b::{self as other}}; pub struct A;"), "a group");
        assert!(is_circle("use super::b::*; pub struct A;"), "a glob");
        assert!(is_circle("pub struct A(crate::b::B);"), "a path");
        assert!(is_circle("pub struct A; fn f() { println!(\"{}\", super::b::x()) }"), "a macro");
        assert!(is_circle("pub struct A; mod d { use super::super::b::c::C; }"), "from within");
        assert!(is_circle("pub struct A(crate::B);"), "a name that the root hands on");
        assert!(is_circle("use crate as own; pub struct A; use own::b::B;"), "another name");
    }

    #[test]
    fn what_tests_use_or_only_text_says_is_no_circle() {
        assert!(!is_circle("pub struct A;"));
        assert!(!is_circle("pub struct A; // use crate::b::B;\n/// crate::b::B\nfn f() {}"));
        assert!(!is_circle("pub struct A; const T: &str = \"crate::b::B\";"));
        assert!(!is_circle("pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"));
        assert!(!is_circle("pub struct A; #[cfg(test)] use crate::b::{B}; fn f() {}"));
        assert!(!is_circle("use b::B; pub struct A;"), "a crate of that name");
    }

    #[test]
    fn code_after_that_of_tests_counts() {
        assert!(is_circle("#[cfg(test)] mod tests; pub struct A(crate::b::B);"));
        assert!(is_circle("#[cfg(test)] fn f() {} pub struct A(crate::b::B);"));
    }

    #[test]
    fn a_circle_is_named_with_its_files_and_paths() {
        let root = "mod a;\nmod b;\nmod c;";
        let found = circle(&[
            ("lib.rs", root),
            ("a/mod.rs", "mod inner;"),
            ("a/inner.rs", "use crate::b;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "pub struct C(crate::a::A);"),
        ]);
        let found = found.expect("a circle");
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines[0], "a → b → c → a");
        for (line, end) in lines[1..].iter().zip([
            "src/a/inner.rs uses crate::b",
            "src/b.rs uses crate::c::C",
            "src/c.rs uses crate::a::A",
        ]) {
            assert!(line.ends_with(end), "{line}");
        }
    }

    #[test]
    fn a_parent_and_its_children_are_no_circle() {
        let parent = "mod x;\nmod y;\npub struct P;\npub fn f() { x::f() }";
        let (x, y) = ("use super::P;\nuse super::y;\npub fn f() {}", "use crate::p::P;");
        let files = [("main.rs", "mod p;"), ("p.rs", parent), ("p/x.rs", x), ("p/y.rs", y)];
        assert_eq!(circle(&files), None);
        let y = ("p/y.rs", "use super::x::f;");
        let found = circle(&[files[0], files[1], files[2], y]).expect("a circle of siblings");
        assert!(found.starts_with("x → y → x\n"), "{found}");
    }

    #[test]
    fn a_missing_file_of_a_module_is_an_error() {
        let crate_directory = TempDir::new().expect("a directory");
        let root = crate_directory.path().join("lib.rs");
        std::fs::write(&root, "mod gone;").expect("a file");
        let error = Modules::read(&root).err().expect("an error");
        assert!(format!("{error:#}").contains("gone"), "{error:#}");
    }
}
