// SPDX-License-Identifier: MIT OR Apache-2.0
//! The experiments of papers that take seconds even in a release build, with little effort.

use anyhow::{ensure, Result};
use rota_e2e::command::{root, rota};

/// Every number of the VTRR paper that has a tolerance: WRR within 2 %, VTRR and WFQ within 0.2
/// time units of the paper's extremes, and what else `papers/vtrr/expected.toml` has.
#[test]
fn the_vtrr_paper_comes_out_with_little_effort() -> Result<()> {
    let outcome = rota(["reproduce", "vtrr", "--quick", "--json"])?;
    let found: serde_json::Value = serde_json::from_slice(&outcome.stdout)?;
    let mut judged = 0;
    for figure in found["figures"].as_array().into_iter().flatten() {
        for number in figure["numbers"].as_array().into_iter().flatten() {
            let verdict = number["verdict"].as_str().unwrap_or_default();
            ensure!(verdict == "agrees" || verdict == "not_judged", "{}: {number}", figure["id"]);
            judged += u32::from(verdict == "agrees");
        }
    }
    ensure!(judged >= 20, "only {judged} numbers were judged");
    is_on_its_page(&found)
}

/// The page has the same texts; and of the figures that take long, the numbers that do not depend
/// on the effort. (All of the others are compared in the tests of the command.)
fn is_on_its_page(found: &serde_json::Value) -> Result<()> {
    let page = std::fs::read_to_string(root().join("docs/reproduce/vtrr.md"))?;
    let words: Vec<&str> = page.split_whitespace().collect();
    let text = words.join(" ");
    let mut compared = 0;
    for figure in found["figures"].as_array().into_iter().flatten() {
        for part in ["says", "differs"] {
            let part = figure[part].as_str().unwrap_or_default();
            let part: Vec<&str> = part.split_whitespace().collect();
            ensure!(text.contains(&part.join(" ")), "not on its page: {}", part.join(" "));
        }
        for number in figure["numbers"].as_array().into_iter().flatten() {
            let what = number["what"].as_str().unwrap_or_default();
            ensure!(page.contains(&format!("| {what} |")), "{what} is not on its page");
            if what.ends_with("200 clients") || what.ends_with("200 clients over 10") {
                let ours = number["ours"].as_f64().unwrap_or(f64::NAN);
                let row = page.lines().find(|line| line.starts_with(&format!("| {what} |")));
                let row = row.unwrap_or_default();
                let digits = format!("{ours:.2}");
                let digits = digits.trim_end_matches('0').trim_end_matches('.');
                ensure!(row.contains(&format!("| {digits} |")), "{ours} is not in: {row}");
                compared += 1;
            }
        }
    }
    ensure!(compared >= 5, "only {compared} numbers were compared");
    Ok(())
}
