// SPDX-License-Identifier: MIT OR Apache-2.0
//! From TOML to a checked manifest.

use crate::document::{Document, MapTable, RunTable, StepTable, Table, WhenTable};
use crate::error::{line_of, ManifestError};
use crate::expr::Expr;
use crate::model::*;
use std::collections::BTreeSet;
use toml::{Spanned, Value};

impl Manifest {
    /// Reads a manifest; `file` is only for messages.
    pub fn parse(file: &str, text: &str) -> Result<Self, ManifestError> {
        let document: Document = toml::from_str(text).map_err(|e| ManifestError {
            file: file.to_string(),
            line: e.span().map(|span| line_of(text, span.start)),
            what: e.message().to_string(),
        })?;
        let read = Reader { file, text };
        let changes = WhenTable {
            that: Spanned::new(0..0, Value::Boolean(true)),
            set: document.set,
            ops: document.ops,
            programs: document.programs,
        };
        let mut manifest = Self {
            file: file.to_string(),
            matches: document.matches.map(|table| Match {
                ops: table.ops,
                maps: table.maps,
                globals: table.globals,
                from: table.from,
                about: table.about,
                lacks: table.lacks,
            }),
            require: Vec::new(),
            changes: vec![Changes { when: None, ..read.changes(changes)? }],
            resize: read.table(document.resize)?,
            max_entries: Vec::new(),
            inner_maps: Vec::new(),
            entries: Vec::new(),
            runs: Vec::new(),
        };
        for rule in document.require {
            let that = read.one("that", rule.that)?;
            manifest.require.push(Require { that, otherwise: rule.otherwise });
        }
        for rule in document.when {
            manifest.changes.push(read.changes(rule)?);
        }
        for (name, map) in document.maps {
            read.map(name, map, &mut manifest)?;
        }
        let mut kept = BTreeSet::new();
        for run in document.run {
            manifest.runs.push(read.run(run, &mut kept)?);
        }
        Ok(manifest)
    }
}

/// No loader comes back sooner.
const SHORTEST_NS: u64 = 100_000;

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn changes(&self, table: WhenTable) -> Result<Changes, ManifestError> {
        Ok(Changes {
            when: Some(self.one("that", table.that)?),
            set: self.table(table.set)?,
            ops: self.table(table.ops)?,
            programs: self.table(table.programs)?,
        })
    }

    fn map(
        &self,
        name: String,
        map: MapTable,
        manifest: &mut Manifest,
    ) -> Result<(), ManifestError> {
        if let Some(value) = map.max_entries {
            manifest.max_entries.push(self.one(&name, value)?);
        }
        for entry in map.entries {
            manifest.entries.push(MapEntry {
                map: name.clone(),
                each: entry.each,
                when: entry.when.map(|value| self.one("when", value)).transpose()?,
                per_cpu: entry.per_cpu,
                key: self.paths("", entry.key)?,
                value: self.paths("", entry.value)?,
            });
        }
        if map.inner_maps {
            manifest.inner_maps.push(name);
        }
        Ok(())
    }

    fn run(&self, run: RunTable, kept: &mut BTreeSet<String>) -> Result<RunRule, ManifestError> {
        let timing = match (&run.at, &run.every) {
            (None, None) => None,
            (at, every) => Some(Timing {
                at_ns: at.as_ref().map_or(Ok(0), |at| self.time("at", at))?,
                every_ns: every.as_ref().map(|every| self.period(every)).transpose()?,
            }),
        };
        let steps = match (run.program, run.steps) {
            (Some(program), None) => vec![StepRule::Program {
                program: program.into_inner(),
                ctx: self.table(run.ctx)?,
                keep: Vec::new(),
            }],
            (None, Some(steps)) if run.ctx.is_empty() => {
                steps.into_iter().map(|step| self.step(step, kept)).collect::<Result<_, _>>()?
            }
            _ => {
                let what = "[[run]]: expected either a program, with its ctx, or steps";
                let (file, what) = (self.file.to_owned(), what.to_owned());
                return Err(ManifestError { file, line: None, what });
            }
        };
        Ok(RunRule {
            each: run.each,
            when: run.when.map(|value| self.one("when", value)).transpose()?,
            cpu: run.cpu.map(|value| self.one("cpu", value)).transpose()?,
            timing,
            steps,
        })
    }

    fn step(
        &self,
        step: StepTable,
        kept: &mut BTreeSet<String>,
    ) -> Result<StepRule, ManifestError> {
        match (step.program, step.write, step.of_type, step.value) {
            (Some(program), None, None, None) => {
                kept.extend(step.keep.keys().cloned());
                Ok(StepRule::Program {
                    program: program.into_inner(),
                    ctx: self.table(step.ctx)?,
                    keep: step.keep.into_iter().collect(),
                })
            }
            (None, Some(at), Some(of_type), Some(value)) if step.ctx.is_empty() => {
                let line = line_of(self.text, at.span().start);
                let name = at.into_inner();
                if !kept.contains(&name) {
                    let what = "expected the name of a value that a step before it keeps";
                    return Err(self.error(line, "write", &format!("{name}: {what}")));
                }
                Ok(StepRule::Write { at: name, of_type, value: self.paths("", value)? })
            }
            _ => {
                let what =
                    "a step of [[run]]: expected program (ctx, keep), or write, type and value";
                let (file, what) = (self.file.to_owned(), what.to_owned());
                Err(ManifestError { file, line: None, what })
            }
        }
    }

    fn period(&self, text: &Spanned<String>) -> Result<u64, ManifestError> {
        let time = self.time("every", text)?;
        if time < SHORTEST_NS {
            let line = line_of(self.text, text.span().start);
            let what = format!("'{}': expected 100us or more", text.get_ref());
            return Err(self.error(line, "every", &what));
        }
        Ok(time)
    }

    /// `10ms`, in nanoseconds.
    fn time(&self, key: &str, text: &Spanned<String>) -> Result<u64, ManifestError> {
        let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
        let written = text.get_ref().trim();
        let number = |(unit, ns): (&str, u64)| {
            written.strip_suffix(unit)?.trim_end().parse::<u64>().ok()?.checked_mul(ns)
        };
        units.into_iter().find_map(number).ok_or_else(|| {
            let line = line_of(self.text, text.span().start);
            let what = format!("'{written}' is not a time: expected a number with ns, us, ms or s");
            self.error(line, key, &what)
        })
    }

    fn table(&self, table: Table) -> Result<Vec<Assign>, ManifestError> {
        let mut out = Vec::new();
        for (path, value) in table {
            out.extend(self.paths(&path, value)?);
        }
        Ok(out)
    }

    /// A single value: lists and tables do not fit here.
    fn one(&self, path: &str, value: Spanned<Value>) -> Result<Assign, ManifestError> {
        let line = line_of(self.text, value.span().start);
        let mut found = self.paths(path, value)?;
        match (found.pop(), found.is_empty()) {
            (Some(assign), true) if assign.path == path => Ok(assign),
            _ => Err(self.error(line, path, "expected a single value, found a list or table")),
        }
    }

    /// Flattens lists and tables to one assignment per scalar: `a[1]`, `a.b`.
    fn paths(&self, path: &str, value: Spanned<Value>) -> Result<Vec<Assign>, ManifestError> {
        let line = line_of(self.text, value.span().start);
        let (path, optional) = match path.strip_suffix('?') {
            Some(path) => (path, true),
            None => (path, false),
        };
        let mut out = Vec::new();
        self.flatten(path.to_string(), value.into_inner(), line, &mut out)?;
        out.iter_mut().for_each(|assign| assign.optional = optional);
        Ok(out)
    }

    fn flatten(
        &self,
        path: String,
        value: Value,
        line: usize,
        out: &mut Vec<Assign>,
    ) -> Result<(), ManifestError> {
        let value = match value {
            Value::Array(items) => {
                for (i, item) in items.into_iter().enumerate() {
                    self.flatten(format!("{path}[{i}]"), item, line, out)?;
                }
                return Ok(());
            }
            Value::Table(fields) => {
                for (name, field) in fields {
                    let dot = if path.is_empty() { "" } else { "." };
                    self.flatten(format!("{path}{dot}{name}"), field, line, out)?;
                }
                return Ok(());
            }
            Value::String(text) => match text.strip_prefix('=') {
                Some(expression) => Given::Computed(
                    Expr::parse(expression).map_err(|what| self.error(line, &path, &what))?,
                ),
                None => Given::Text(text),
            },
            Value::Integer(number) => Given::Text(number.to_string()),
            Value::Float(number) => Given::Text(number.to_string()),
            Value::Boolean(truth) => Given::Text(truth.to_string()),
            Value::Datetime(_) => {
                return Err(self.error(line, &path, "a date is not a value for a variable"))
            }
        };
        out.push(Assign { path, optional: false, value, line });
        Ok(())
    }

    fn error(&self, line: usize, path: &str, what: &str) -> ManifestError {
        let colon = if path.is_empty() { "" } else { ": " };
        ManifestError {
            file: self.file.to_string(),
            line: Some(line),
            what: format!("{path}{colon}{what}"),
        }
    }
}
