// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file as written: TOML to a checked structure, computed values still unworked.

use crate::error::{line_of, ManifestError};
use crate::expr::Expr;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Value};

/// A manifest as read. [`Manifest::expand`] works out its values for one machine.
#[derive(Debug, Clone)]
pub struct Manifest {
    pub(crate) file: String,
    pub(crate) require: Vec<Require>,
    pub(crate) set: Vec<Assign>,
    pub(crate) resize: Vec<Assign>,
    pub(crate) ops: Vec<Assign>,
    pub(crate) max_entries: Vec<Assign>,
    pub(crate) inner_maps: Vec<String>,
    pub(crate) entries: Vec<MapEntry>,
    pub(crate) runs: Vec<RunRule>,
}

/// A value as written: text for BTF to interpret, or an expression over the machine.
#[derive(Debug, Clone)]
pub(crate) enum Given {
    Text(String),
    Computed(Expr),
}

/// One value for one path (`slice_ns`, `table[3]`, `pair_cpu[cpu]`, `cfg.limit`).
#[derive(Debug, Clone)]
pub(crate) struct Assign {
    pub(crate) path: String,
    pub(crate) value: Given,
    pub(crate) line: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Require {
    pub(crate) that: Assign,
    pub(crate) otherwise: String,
}

#[derive(Debug, Clone)]
pub(crate) struct MapEntry {
    pub(crate) map: String,
    pub(crate) key: Vec<Assign>,
    pub(crate) value: Vec<Assign>,
}

#[derive(Debug, Clone)]
pub(crate) struct RunRule {
    pub(crate) program: String,
    pub(crate) each_cpu: bool,
    pub(crate) when: Option<Assign>,
    pub(crate) ctx: Vec<Assign>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    require: Vec<RequireTable>,
    #[serde(default)]
    set: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    resize: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    ops: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    maps: BTreeMap<String, MapTable>,
    #[serde(default)]
    run: Vec<RunTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequireTable {
    that: Spanned<Value>,
    #[serde(rename = "else")]
    otherwise: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapTable {
    max_entries: Option<Spanned<Value>>,
    #[serde(default)]
    inner_maps: bool,
    #[serde(default)]
    entries: Vec<EntryTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryTable {
    key: Spanned<Value>,
    value: Spanned<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunTable {
    program: String,
    each: Option<Each>,
    when: Option<Spanned<Value>>,
    #[serde(default)]
    ctx: BTreeMap<String, Spanned<Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Each {
    Cpu,
}

impl Manifest {
    /// Reads a manifest; `file` is only for messages.
    pub fn parse(file: &str, text: &str) -> Result<Self, ManifestError> {
        let document: Document = toml::from_str(text).map_err(|e| ManifestError {
            file: file.to_string(),
            line: e.span().map(|span| line_of(text, span.start)),
            what: e.message().to_string(),
        })?;
        let read = Reader { file, text };
        let mut manifest = Self {
            file: file.to_string(),
            require: Vec::new(),
            set: read.table(document.set)?,
            resize: read.table(document.resize)?,
            ops: read.table(document.ops)?,
            max_entries: Vec::new(),
            inner_maps: Vec::new(),
            entries: Vec::new(),
            runs: Vec::new(),
        };
        for rule in document.require {
            let that = read.one("that", rule.that)?;
            manifest.require.push(Require { that, otherwise: rule.otherwise });
        }
        for (name, map) in document.maps {
            if let Some(value) = map.max_entries {
                manifest.max_entries.push(read.one(&name, value)?);
            }
            for entry in map.entries {
                let (key, value) = (read.paths("", entry.key)?, read.paths("", entry.value)?);
                manifest.entries.push(MapEntry { map: name.clone(), key, value });
            }
            if map.inner_maps {
                manifest.inner_maps.push(name);
            }
        }
        for run in document.run {
            manifest.runs.push(RunRule {
                program: run.program,
                each_cpu: run.each.is_some(),
                when: run.when.map(|value| read.one("when", value)).transpose()?,
                ctx: read.table(run.ctx)?,
            });
        }
        Ok(manifest)
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn table(&self, table: BTreeMap<String, Spanned<Value>>) -> Result<Vec<Assign>, ManifestError> {
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
        let mut out = Vec::new();
        self.flatten(path.to_string(), value.into_inner(), line, &mut out)?;
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
        out.push(Assign { path, value, line });
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
