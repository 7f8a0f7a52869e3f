// SPDX-License-Identifier: MIT OR Apache-2.0
//! The experiments of papers that take seconds even in a release build, with little effort.

use anyhow::{bail, ensure, Context, Result};
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

/// What holds however often the test is repeated: beside a full load X is served sooner under O(1)
/// on average, later at worst. Other orders are reported as they come out, and the exit code says
/// that not all are the paper's.
#[test]
fn latency_of_x_comes_out_as_the_o1cfs_paper_has_it_beside_a_full_load() -> Result<()> {
    let outcome = rota(["reproduce", "o1cfs", "fig2a", "fig2b", "--quick", "--json"])?;
    let found: serde_json::Value = serde_json::from_slice(&outcome.stdout)?;
    let page = std::fs::read_to_string(root().join("docs/reproduce/o1cfs.md"))?;
    let figures = found["figures"].as_array().map(Vec::as_slice).unwrap_or_default();
    ensure!(figures.len() == 2, "{} figures", figures.len());
    let mut differ = 0;
    for figure in figures {
        for number in figure["numbers"].as_array().into_iter().flatten() {
            let agrees = number["verdict"] == "agrees";
            differ += u32::from(!agrees);
            ensure!(agrees || number["key"] == "audio" || number["key"] == "video", "{number}");
        }
        let tables = figure["tables"].as_array().map(Vec::as_slice).unwrap_or_default();
        for row in tables.iter().flat_map(|table| table["rows"].as_array()).flatten() {
            let name = format!("| {} |", row[0].as_str().unwrap_or_default());
            ensure!(page.matches(&name).count() >= 2, "{name} is not on the page of both figures");
        }
        // The paper's orders, the defaults, and 15 other values.
        let rows = tables.last().and_then(|table| table["rows"].as_array());
        ensure!(rows.is_some_and(|rows| rows.len() == 17), "{rows:?}");
    }
    ensure!(outcome.code == Some(i32::from(differ > 0)), "{:?}", outcome.code);
    texts_are_on_the_page(&found, &page)
}

/// What holds with any start times. Numbers of queues that hold no even mix, and of programs that
/// loop, are reported as they come out.
#[test]
fn processes_and_not_threads_are_served_alike_as_the_pfs_paper_has_it() -> Result<()> {
    let outcome = rota(["reproduce", "pfs", "--quick", "--json"])?;
    let found: serde_json::Value = serde_json::from_slice(&outcome.stdout)?;
    let page = std::fs::read_to_string(root().join("docs/reproduce/pfs.md"))?;
    let may_differ = |figure: &str, key: &str| match figure {
        "fig5" | "fig8" => key.ends_with("_all") || key == "all" || key.ends_with("queues"),
        "fig6" => key == "first32",
        "fig7" | "fig9" | "fig10" => key.ends_with("queues"),
        "blocking" => key == "eq7_all",
        _ => false,
    };
    let mut judged = 0;
    for figure in found["figures"].as_array().into_iter().flatten() {
        let id = figure["id"].as_str().unwrap_or_default();
        for number in figure["numbers"].as_array().into_iter().flatten() {
            let (what, key) = (number["what"].as_str(), number["key"].as_str());
            row_of(&page, id, what.unwrap_or_default(), 4)?;
            if !may_differ(id, key.unwrap_or_default()) {
                ensure!(number["verdict"] == "agrees", "{id}: {number}");
                judged += 1;
            }
        }
    }
    ensure!(judged >= 40, "only {judged} numbers were judged");
    texts_are_on_the_page(&found, &page)
}

fn texts_are_on_the_page(found: &serde_json::Value, page: &str) -> Result<()> {
    let text = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for figure in found["figures"].as_array().into_iter().flatten() {
        for part in ["says", "differs"] {
            let part = figure[part].as_str().unwrap_or_default();
            let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
            ensure!(text.contains(&part), "not on its page: {part}");
        }
    }
    Ok(())
}

/// The page has the same texts. Of the figures that take long it has the numbers that do not depend
/// on the effort; of Figures 1 and 2 what the paper says, numbers that are no further from those of
/// little effort than they may be from the paper's, and the verdict that they deserve. (All of the
/// others are compared in the tests of the command.)
fn is_on_its_page(found: &serde_json::Value) -> Result<()> {
    let page = std::fs::read_to_string(root().join("docs/reproduce/vtrr.md"))?;
    texts_are_on_the_page(found, &page)?;
    let (mut compared, mut judged) = (0, 0);
    for figure in found["figures"].as_array().into_iter().flatten() {
        let id = figure["id"].as_str().unwrap_or_default();
        for number in figure["numbers"].as_array().into_iter().flatten() {
            let what = number["what"].as_str().unwrap_or_default();
            let row = row_of(&page, id, what, 4)?;
            let ours = number["ours"].as_f64().unwrap_or(f64::NAN);
            if what.ends_with("200 clients") || what.ends_with("200 clients over 10") {
                let digits = format!("{ours:.2}");
                let digits = digits.trim_end_matches('0').trim_end_matches('.');
                ensure!(row[2] == digits, "{ours} is not in: {row:?}");
                compared += 1;
            }
            if id == "fig1" || id == "fig2" {
                on_page(&row, number).with_context(|| format!("{id}: {what}: {row:?}"))?;
                judged += 1;
            }
        }
        if id == "fig1" || id == "fig2" {
            for table in figure["tables"].as_array().into_iter().flatten() {
                for row in table["rows"].as_array().into_iter().flatten() {
                    within_theory(&page, id, row[0].as_str().unwrap_or_default())?;
                }
            }
        }
    }
    ensure!(compared >= 5, "only {compared} numbers were compared");
    ensure!(judged >= 10, "only {judged} numbers of figures 1 and 2 were judged");
    Ok(())
}

/// The cells, so many of them, of the row of a figure's section that begins with this.
fn row_of<'a>(page: &'a str, id: &str, what: &str, cells: usize) -> Result<Vec<&'a str>> {
    let section = page.split("\n## ").find(|section| {
        section.lines().next().is_some_and(|title| title.ends_with(&format!("({id})")))
    });
    let section = section.with_context(|| format!("the page has no section of {id}"))?;
    let rows = section.lines().filter(|line| line.starts_with(&format!("| {what} |")));
    let mut rows = rows.map(|row| row.trim_matches(['|', ' ']).split(" | ").collect::<Vec<_>>());
    let row = rows.find(|row| row.len() == cells);
    row.with_context(|| format!("'{what}' is not in the section of {id}"))
}

/// The first number of a cell such as `≥ -1.59 tu`.
fn number_in(cell: &str) -> Result<f64> {
    let number = cell.split([' ', '≥', '≤']).find(|word| !word.is_empty());
    Ok(number.with_context(|| format!("no number in '{cell}'"))?.parse()?)
}

/// Pages have four digits of a number.
const ROUNDING: f64 = 1e-3;

fn on_page(row: &[&str], number: &serde_json::Value) -> Result<()> {
    let [_, paper, here, verdict] = row else { bail!("there are not four cells") };
    let (quick, here) = (number["ours"].as_f64().unwrap_or(f64::NAN), number_in(here)?);
    let expected = &number["expected"];
    let (agrees, papers, within) = if let Some(value) = expected["value"]["value"].as_f64() {
        let within = expected["value"]["within"].as_f64().unwrap_or_default();
        ((here - value).abs() <= within * (1.0 + ROUNDING), value, within)
    } else {
        let bound = expected["at_least"].as_f64().context("it is no bound from below")?;
        (here >= bound - bound.abs() * ROUNDING, bound, 0.2)
    };
    ensure!(number_in(paper)? == papers, "the paper has {papers}");
    ensure!((here - quick).abs() <= within, "with little effort it is {quick}");
    ensure!(*verdict == if agrees { "agrees" } else { "differs" }, "that is no {verdict}");
    Ok(())
}

/// A row of a table beside theory: what is a bound there holds. Long tables are not on the page.
fn within_theory(page: &str, id: &str, what: &str) -> Result<()> {
    let Ok(row) = row_of(page, id, what, 3) else { return Ok(()) };
    let [_, here, theory] = row[..] else { bail!("{id}: {what}: there are not three cells") };
    let here = number_in(here)?;
    let holds = match (theory.starts_with('≤'), theory.starts_with('≥')) {
        (true, _) => here <= number_in(theory)? + 0.005,
        (_, true) => here >= number_in(theory)? - 0.005,
        _ => true,
    };
    ensure!(holds, "{id}: {what}: {row:?}");
    Ok(())
}
