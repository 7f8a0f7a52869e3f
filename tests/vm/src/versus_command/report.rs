// SPDX-License-Identifier: MIT OR Apache-2.0
//! What came of the comparison: on the terminal, as JSON, and in the pages with the tables.

use super::{repository, VersusArgs};
use anyhow::{Context, Result};
use rota_vm_tests::versus::case::{Case, Scheduler};
use rota_vm_tests::versus::compare::Compared;
use rota_vm_tests::versus::table;
use std::fs;

/// Whether all is within its tolerance, and in the pages what should be there.
pub(super) fn report(
    cases: &[Case],
    all: &[Case],
    compared: &[Compared],
    args: &VersusArgs,
) -> Result<bool> {
    let cases: Vec<&Case> = cases.iter().collect();
    println!("{}", table::markdown(&cases, compared, ""));
    fs::create_dir_all(&args.dir).with_context(|| args.dir.display().to_string())?;
    let json = args.dir.join("versus.json");
    fs::write(&json, serde_json::to_vec_pretty(compared)?)
        .with_context(|| json.display().to_string())?;
    let pages_are_current = pages(all, compared, args)?;
    let mut bad = 0;
    for case in compared.iter().filter(|case| !case.problems.is_empty()) {
        bad += 1;
        case.problems.iter().for_each(|problem| eprintln!("{}: {problem}", case.case));
    }
    let nearest = compared.iter().filter_map(|case| Some((case, case.nearest()?)));
    if let Some((case, (measure, used))) = nearest.max_by(|(_, a), (_, b)| a.1.total_cmp(&b.1)) {
        println!("{} uses {:.0} % of its tolerance of {measure:?}", case.case, used * 100.0);
    }
    let known = compared.iter().filter(|case| !case.known.is_empty()).count();
    println!(
        "{} of {} cases are within their tolerance, {known} but for what is known to be outside",
        compared.len() - bad,
        compared.len()
    );
    Ok(bad == 0 && pages_are_current)
}

/// The page that has the row of a case.
fn page_of(case: &Case) -> &'static str {
    match case.kernel {
        Scheduler::Fair => "eevdf-vs-kernel.md",
        Scheduler::Policy | Scheduler::Partial => "simulator-vs-kernel.md",
        Scheduler::Program => "programs-vs-kernel.md",
    }
}

/// Writes the tables into their pages, if they are to be written. Whether they are what they are to
/// be: what comes of recordings that are kept, where it is these that are judged, and all of them.
fn pages(all: &[Case], compared: &[Compared], args: &VersusArgs) -> Result<bool> {
    let chosen = args.quick || !args.cases.is_empty();
    let mut are_current = true;
    for page in ["eevdf-vs-kernel.md", "simulator-vs-kernel.md", "programs-vs-kernel.md"] {
        let cases: Vec<&Case> = all.iter().filter(|case| page_of(case) == page).collect();
        let path = repository().join("docs").join(page);
        if args.write {
            table::write(&path, &cases, compared)?;
        } else if args.kept && !chosen && !table::is_current(&path, &cases, compared)? {
            are_current = false;
            eprintln!(
                "docs/{page}: its table is not what comes of the kept recordings; \
                 `rota-vm versus --kept --write` makes it anew"
            );
        }
    }
    Ok(are_current)
}
