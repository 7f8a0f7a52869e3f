// SPDX-License-Identifier: MIT OR Apache-2.0
//! The experiments of papers that take seconds even in a release build, with little effort.

use anyhow::{ensure, Result};
use rota_e2e::command::rota;

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
    Ok(())
}
