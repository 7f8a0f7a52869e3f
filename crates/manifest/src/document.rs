// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file as TOML has it, before anything in it is checked.

use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Value};

/// Names and the values that they get.
pub(crate) type Table = BTreeMap<String, Spanned<Value>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    #[serde(rename = "match")]
    pub(crate) matches: Option<MatchTable>,
    #[serde(default)]
    pub(crate) require: Vec<RequireTable>,
    #[serde(default)]
    pub(crate) set: Table,
    #[serde(default)]
    pub(crate) resize: Table,
    #[serde(default)]
    pub(crate) ops: Table,
    #[serde(default)]
    pub(crate) programs: Table,
    #[serde(default)]
    pub(crate) when: Vec<WhenTable>,
    #[serde(default)]
    pub(crate) maps: BTreeMap<String, MapTable>,
    #[serde(default)]
    pub(crate) run: Vec<RunTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MatchTable {
    pub(crate) ops: String,
    #[serde(default)]
    pub(crate) maps: Vec<String>,
    #[serde(default)]
    pub(crate) globals: Vec<String>,
    pub(crate) from: String,
    pub(crate) about: String,
    pub(crate) lacks: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequireTable {
    pub(crate) that: Spanned<Value>,
    #[serde(rename = "else")]
    pub(crate) otherwise: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhenTable {
    pub(crate) that: Spanned<Value>,
    #[serde(default)]
    pub(crate) set: Table,
    #[serde(default)]
    pub(crate) ops: Table,
    #[serde(default)]
    pub(crate) programs: Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MapTable {
    pub(crate) max_entries: Option<Spanned<Value>>,
    #[serde(default)]
    pub(crate) inner_maps: bool,
    #[serde(default)]
    pub(crate) entries: Vec<EntryTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntryTable {
    pub(crate) each: Option<Each>,
    pub(crate) when: Option<Spanned<Value>>,
    #[serde(default)]
    pub(crate) per_cpu: bool,
    pub(crate) key: Spanned<Value>,
    pub(crate) value: Spanned<Value>,
}

/// A rule of one step, or of several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunTable {
    pub(crate) program: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) ctx: Table,
    pub(crate) steps: Option<Vec<StepTable>>,
    pub(crate) each: Option<Each>,
    pub(crate) when: Option<Spanned<Value>>,
    pub(crate) cpu: Option<Spanned<Value>>,
    pub(crate) at: Option<Spanned<String>>,
    pub(crate) every: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepTable {
    pub(crate) program: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) ctx: Table,
    #[serde(default)]
    pub(crate) keep: BTreeMap<String, String>,
    pub(crate) write: Option<Spanned<String>>,
    #[serde(rename = "type")]
    pub(crate) of_type: Option<String>,
    pub(crate) value: Option<Spanned<Value>>,
}

/// What a rule or an index stands for, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Each {
    Cpu,
    Core,
    Llc,
    Node,
}

impl Each {
    pub(crate) const ALL: [Each; 4] = [Each::Cpu, Each::Core, Each::Llc, Each::Node];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Each::Cpu => "cpu",
            Each::Core => "core",
            Each::Llc => "llc",
            Each::Node => "node",
        }
    }
}
