// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the pages and the README say of the papers is what `rota reproduce all` prints, at the
//! default effort; and nothing differs from the papers but what is known to.

use anyhow::{ensure, Context, Result};
use rota_e2e::command::{root, rota};
use std::fs::read_to_string;

const PAPERS: [&str; 5] = ["vtrr", "o1cfs", "pbs", "pfs", "cas"];

/// Every experiment of every paper: minutes, so all that is to be known of it is in one test.
#[test]
fn pages_are_what_the_command_prints_and_nothing_differs_that_is_not_known_to() -> Result<()> {
    let outcome = rota(["reproduce", "all", "--markdown"])?;
    let printed = String::from_utf8(outcome.stdout)?;
    let mut parts = printed.split("\n# ");
    let scores = parts.next().context("nothing is printed")?;
    is_written("README.md", scores)?;
    for paper in PAPERS {
        let page = parts.next().with_context(|| format!("no page of {paper} is printed"))?;
        let (title, page) = page.split_once('\n').context("a page has a title")?;
        let path = format!("docs/reproduce/{paper}.md");
        let heading = format!("# {title}\n");
        ensure!(read_to_string(root().join(&path))?.contains(&heading), "{path}: no {heading}");
        is_written(&path, page)?;
        // All of it is measured at this effort.
        ensure!(!page.contains("| not measured |"), "{paper} has numbers that are not measured");
    }
    ensure!(parts.next().is_none(), "there is a page too many");
    ensure!(outcome.code == Some(0), "{:?}: {}", outcome.code, outcome.stderr);
    Ok(())
}

/// The file has this text between the markers.
fn is_written(path: &str, text: &str) -> Result<()> {
    let file = read_to_string(root().join(path))?;
    let begin = "<!-- begin: written by `scripts/reproduce-pages` -->";
    let (_, rest) = file.split_once(begin).with_context(|| format!("{path}: no {begin}"))?;
    let (there, _) = rest.split_once("<!-- end -->").with_context(|| format!("{path}: no end"))?;
    let mut lines = there.trim().lines().zip(text.trim().lines());
    let differs = lines.find(|(there, printed)| there != printed);
    ensure!(
        there.trim() == text.trim(),
        "{path} is not what `rota reproduce all --markdown` prints; first difference (there, \
         printed): {differs:?}; scripts/reproduce-pages writes it anew"
    );
    Ok(())
}
