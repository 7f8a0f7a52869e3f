// SPDX-License-Identifier: MIT OR Apache-2.0
//! A computer that was measured, as a table and as JSON.

use crate::error::Error;
use crate::output::{table, units};
use rota_calibrate::{Calibrated, Facts, Number, Others};
use serde::Serialize;
use std::io::Write;

#[derive(Debug, Serialize)]
pub(crate) struct Json<'a> {
    schema: &'static str,
    source: &'a str,
    facts: &'a Facts,
    others: Option<Others>,
    notes: &'a [String],
    numbers: &'a [Number],
    /// The text of the machine file.
    file: String,
}

/// For programs.
pub(crate) fn json(found: &Calibrated) -> Json<'_> {
    Json {
        schema: "rota.calibrate/1",
        source: &found.machine.source,
        facts: &found.facts,
        others: found.others,
        notes: &found.notes,
        numbers: &found.numbers,
        file: found.file(),
    }
}

/// For people.
pub(crate) fn print(out: &mut dyn Write, found: &Calibrated) -> Result<(), Error> {
    writeln!(out, "{} ({})", found.machine.name, found.machine.source)?;
    for note in &found.notes {
        writeln!(out, "note: {note}")?;
    }
    writeln!(out)?;
    let header = ["number", "value", "spread", "samples", ""];
    let rows = found.numbers.iter().filter(|number| number.estimate.is_some()).map(row);
    for line in table::lines(&header, 1, rows.collect()) {
        writeln!(out, "{line}")?;
    }
    let mut kept = found.numbers.iter().filter(|number| number.estimate.is_none()).peekable();
    if kept.peek().is_some() {
        writeln!(out, "\nnot measured")?;
    }
    for Number { key, value, how, .. } in kept {
        writeln!(out, "  {key} stays {value}: {how}")?;
    }
    Ok(())
}

fn row(number: &Number) -> Vec<String> {
    let (spread, samples) =
        number.estimate.map_or((0.0, 0), |estimate| (estimate.spread(), estimate.samples));
    let doubt = if number.doubtful { "in doubt" } else { "" };
    vec![
        number.key.clone(),
        number.value.clone(),
        units::percent(spread),
        samples.to_string(),
        doubt.into(),
    ]
}
