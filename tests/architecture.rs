// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts fit together as docs/architecture.md says, and without circles.

use anyhow::{ensure, Context, Result};
use rota_e2e::command::root;
use rota_e2e::modules::{root_of, Modules};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Which crates of ours a crate uses, by their names without `rota-`.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// What the manifests say.
#[derive(Default)]
struct Declared {
    /// What the crates in `crates/` use.
    uses: Graph,
    /// What only their tests do.
    tests_use: Graph,
    /// What crates elsewhere use, which tests do.
    elsewhere: Graph,
}

fn declared() -> Result<Declared> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()?;
    ensure!(output.status.success(), "cargo: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let crates = root().join("crates").canonicalize()?;
    let mut declared = Declared::default();
    for package in metadata["packages"].as_array().context("packages")? {
        let manifest = package["manifest_path"].as_str().context("manifest_path")?;
        let (mut uses, mut tests_use) = (BTreeSet::new(), BTreeSet::new());
        for dependency in package["dependencies"].as_array().context("dependencies")? {
            let name = dependency["name"].as_str().context("name")?;
            let kind = if dependency["kind"] == "dev" { &mut tests_use } else { &mut uses };
            kind.extend(name.strip_prefix("rota-").map(str::to_owned));
        }
        let name = short(package["name"].as_str().context("name")?).to_owned();
        if std::path::Path::new(manifest).starts_with(&crates) {
            declared.uses.insert(name.clone(), uses);
            declared.tests_use.insert(name, tests_use);
        } else {
            declared.elsewhere.insert(name, uses);
        }
    }
    Ok(declared)
}

/// `rota-trace` is `trace`, and `rota` is its command line.
fn short(package: &str) -> &str {
    package.strip_prefix("rota-").unwrap_or("cli")
}

/// The rows of the table of crates in docs/architecture.md, in their order.
fn documented() -> Result<Vec<(String, BTreeSet<String>)>> {
    let page = std::fs::read_to_string(root().join("docs/architecture.md"))?;
    let table = page.split("| crate | what it is for | uses |").nth(1).context("no table")?;
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        ensure!(cells.len() == 3, "{line}: expected three cells");
        let name: Vec<String> = quoted(cells[0]);
        Ok((name.concat(), quoted(cells[2]).into_iter().collect()))
    };
    rows.map(row).collect()
}

#[test]
fn crates_use_those_that_the_architecture_page_says() -> Result<()> {
    let documented: Graph = documented()?.into_iter().collect();
    let declared = declared()?.uses;
    assert!(declared.len() > 10, "{declared:?}");
    for (name, uses) in &declared {
        let row = documented.get(name).with_context(|| format!("{name}: no row in the table"))?;
        assert_eq!(row, uses, "crate {name}: the table (left) and its manifest differ");
    }
    let gone: Vec<&String> = documented.keys().filter(|row| !declared.contains_key(*row)).collect();
    assert!(gone.is_empty(), "rows of crates that are not there: {gone:?}");
    Ok(())
}

#[test]
fn crates_use_only_those_above_them_in_the_table() -> Result<()> {
    let mut above = BTreeSet::new();
    for (name, uses) in documented()? {
        let below: Vec<&String> = uses.difference(&above).collect();
        assert!(below.is_empty(), "{name} uses {below:?}, which are not above it");
        above.insert(name);
    }
    assert!(!above.is_empty());
    Ok(())
}

#[test]
fn no_crate_is_tested_with_one_that_uses_it() -> Result<()> {
    let Declared { uses, tests_use, elsewhere } = declared()?;
    for (name, helpers) in &tests_use {
        let mut reached: BTreeSet<&String> = helpers.iter().collect();
        let mut next: Vec<&String> = helpers.iter().collect();
        while let Some(helper) = next.pop() {
            let used = uses
                .get(helper)
                .or(elsewhere.get(helper))
                .with_context(|| format!("no crate {helper}"))?;
            next.extend(used.iter().filter(|one| reached.insert(one)));
        }
        assert!(!reached.contains(name), "the tests of {name} use {helpers:?}, which use {name}");
    }
    Ok(())
}

#[test]
fn modules_of_the_command_line_do_not_go_in_circles() -> Result<()> {
    no_circle("cli", 60)
}

#[test]
fn modules_of_the_loader_do_not_go_in_circles() -> Result<()> {
    no_circle("object", 20)
}

#[test]
fn modules_of_the_interpreter_do_not_go_in_circles() -> Result<()> {
    no_circle("vm", 40)
}

/// Checks a crate that has at least so many modules.
fn no_circle(name: &str, modules: usize) -> Result<()> {
    let found = Modules::read(&root_of(&root().join("crates").join(name))?)?;
    ensure!(found.count() >= modules, "crate {name}: only {} modules were read", found.count());
    if let Some(circle) = found.circle() {
        panic!("crate {name}: modules go in a circle: {circle}");
    }
    Ok(())
}

/// What a run must not reach: it would be another one elsewhere, or no build for a browser.
const OUTSIDE: [&str; 8] = [
    "std::fs",
    "std::env",
    "std::thread",
    "std::net",
    "std::process",
    "std::time",
    "println!",
    "std::io::std",
];

#[test]
fn a_run_and_what_is_below_it_touch_no_file_clock_thread_or_environment() -> Result<()> {
    let graph = declared()?.uses;
    let mut below = BTreeSet::new();
    let mut open = vec!["sim".to_owned()];
    while let Some(name) = open.pop() {
        if below.insert(name.clone()) {
            open.extend(graph.get(&name).with_context(|| name.clone())?.iter().cloned());
        }
    }
    assert!(below.len() > 5, "{below:?}");
    for name in &below {
        let mut folders = vec![root().join("crates").join(name).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let path = entry?.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false if is_test(&path) => {}
                    false => no_outside(&path)?,
                }
            }
        }
    }
    Ok(())
}

/// Files of tests, which may read what they compare with.
fn is_test(path: &std::path::Path) -> bool {
    path.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("tests"))
}

fn no_outside(path: &std::path::Path) -> Result<()> {
    let text = std::fs::read_to_string(path)?;
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    for (number, line) in (1..).zip(code.lines()) {
        let line = line.trim_start();
        let used = OUTSIDE.iter().find(|what| !line.starts_with("//") && line.contains(*what));
        if let Some(what) = used {
            panic!("{}:{number}: {what} in a crate below sim", path.display());
        }
    }
    Ok(())
}
