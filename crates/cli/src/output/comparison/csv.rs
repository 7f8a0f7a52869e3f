// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CSV of `rota compare`: a row for every number, of every seed and in the mean.

use crate::comparison::{Column, Comparison, Stage};
use rota_measure::baseline::Relative;
use rota_measure::catalogue::{self, Measure, Unit};
use rota_measure::statistics::Estimate;
use std::collections::BTreeMap;
use std::io::{self, Write};

const HEADER: [&str; 9] =
    ["workload", "cpus", "policy", "task", "measure", "unit", "statistic", "seed", "value"];

/// Writes all rows under a header. `task` is empty for a number of the whole run; `seed` is, where
/// the row is about all of them.
pub(crate) fn write(out: &mut dyn Write, comparison: &Comparison<'_>) -> io::Result<()> {
    let mut rows = Rows { csv: csv::Writer::from_writer(out) };
    rows.csv.write_record(HEADER)?;
    for stage in &comparison.stages {
        for column in &stage.columns {
            rows.column(comparison, stage, column)?;
        }
    }
    rows.csv.flush()
}

struct Rows<W: Write> {
    csv: csv::Writer<W>,
}

/// What a number is of.
struct Of<'a> {
    workload: &'a str,
    cpus: String,
    policy: &'a str,
    task: &'a str,
}

impl<W: Write> Rows<W> {
    fn column(
        &mut self,
        comparison: &Comparison<'_>,
        stage: &Stage<'_>,
        column: &Column<'_>,
    ) -> io::Result<()> {
        let of = |task| Of {
            workload: &stage.load.file,
            cpus: stage.config.topology.cpus().to_string(),
            policy: &column.policy.label,
            task,
        };
        for (measure, cell) in comparison.measures.iter().zip(&column.cells) {
            if let Some(cell) = cell {
                self.estimate(&of(""), measure.key, measure.unit, &cell.estimate)?;
                let best = f64::from(u8::from(cell.best));
                self.row(&of(""), measure.key, measure.unit, "best", None, best)?;
                if let Some(relative) = &cell.relative {
                    self.relative(&of(""), measure, relative)?;
                }
            }
        }
        for (task, means) in &column.tasks {
            for (key, estimate) in means {
                self.estimate(&of(task), key, unit_of_tasks(key), estimate)?;
            }
        }
        for run in &column.runs {
            let unit = |key: &str| catalogue::find(key).map_or(Unit::Number, |m| m.unit);
            self.values(&of(""), &run.measures, unit, run.seed)?;
            for tasks in &run.tasks {
                self.values(&of(&tasks.name), &tasks.measures, unit_of_tasks, run.seed)?;
            }
        }
        Ok(())
    }

    fn values(
        &mut self,
        of: &Of<'_>,
        values: &BTreeMap<String, f64>,
        unit: impl Fn(&str) -> Unit,
        seed: u64,
    ) -> io::Result<()> {
        let mut values = values.iter();
        values
            .try_for_each(|(key, value)| self.row(of, key, unit(key), "value", Some(seed), *value))
    }

    fn estimate(
        &mut self,
        of: &Of<'_>,
        key: &str,
        unit: Unit,
        estimate: &Estimate,
    ) -> io::Result<()> {
        self.row(of, key, unit, "mean", None, estimate.mean)?;
        match estimate.half_width {
            Some(half_width) => self.row(of, key, unit, "half_width", None, half_width),
            None => Ok(()),
        }
    }

    fn relative(&mut self, of: &Of<'_>, measure: &Measure, relative: &Relative) -> io::Result<()> {
        let (difference, significant) = (&relative.difference, relative.is_significant());
        let rows = [
            ("ratio", Unit::Number, relative.ratio),
            ("difference", measure.unit, Some(difference.mean)),
            ("difference_half_width", measure.unit, difference.half_width),
            ("significant", Unit::Number, significant.map(|is| f64::from(u8::from(is)))),
        ];
        let mut rows = rows.into_iter().filter_map(|(name, unit, of)| Some((name, unit, of?)));
        rows.try_for_each(|(name, unit, value)| self.row(of, measure.key, unit, name, None, value))
    }

    fn row(
        &mut self,
        of: &Of<'_>,
        key: &str,
        unit: Unit,
        statistic: &str,
        seed: Option<u64>,
        value: f64,
    ) -> io::Result<()> {
        let seed = seed.map(|seed| seed.to_string()).unwrap_or_default();
        let (unit, value) = (unit.name(), value.to_string());
        let row = [of.workload, &of.cpus, of.policy, of.task, key, unit, statistic, &seed, &value];
        Ok(self.csv.write_record(row)?)
    }
}

fn unit_of_tasks(key: &str) -> Unit {
    catalogue::find_of_tasks(key).map_or(Unit::Number, |measure| measure.unit)
}
