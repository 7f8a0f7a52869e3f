// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine file as TOML has it. `docs/machines.md` describes each key.

use serde::Deserialize;
use toml::Spanned;

/// A value that need not be there, and where it is.
pub(crate) type Maybe<T> = Option<Spanned<T>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    pub(crate) schema: Spanned<u32>,
    pub(crate) name: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) topology: Spanned<Arrangement>,
    pub(crate) kernel: Option<KernelTable>,
    pub(crate) cache: Option<CacheTable>,
    pub(crate) cost_ns: Option<CostTable>,
    pub(crate) task: Option<TaskTable>,
    #[serde(default)]
    pub(crate) core_type: Vec<CoreTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KernelTable {
    pub(crate) release: Maybe<String>,
    pub(crate) hz: Maybe<u32>,
    pub(crate) preempt: Maybe<String>,
    pub(crate) base_slice_ns: Maybe<u64>,
}

/// So many CPUs each, or a list of CPUs for each.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Grouped {
    Size(u32),
    Lists(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arrangement {
    pub(crate) cpus: Spanned<u32>,
    pub(crate) smt: Maybe<u32>,
    pub(crate) cluster: Maybe<Vec<String>>,
    pub(crate) llc: Maybe<Grouped>,
    pub(crate) node: Maybe<Grouped>,
    pub(crate) package: Maybe<Grouped>,
    pub(crate) distance: Maybe<Vec<Vec<u32>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CacheTable {
    pub(crate) llc_kib: Maybe<u32>,
    pub(crate) mlp: Maybe<u32>,
    pub(crate) line_bytes: Maybe<u32>,
    pub(crate) refill_ns: Maybe<Distances>,
    pub(crate) c2c_ns: Maybe<Distances>,
    pub(crate) reuse_ns: Maybe<u64>,
    pub(crate) handoff_lines: Maybe<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Distances {
    pub(crate) sibling: Option<u64>,
    pub(crate) llc: Option<u64>,
    pub(crate) other_llc: Option<u64>,
    pub(crate) node: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CostTable {
    pub(crate) switch: Maybe<u64>,
    pub(crate) wakeup: Maybe<u64>,
    pub(crate) tick: Maybe<u64>,
    pub(crate) idle_exit: Maybe<u64>,
    pub(crate) migration: Maybe<u64>,
    pub(crate) llc_migration: Maybe<u64>,
    pub(crate) instruction: Maybe<f64>,
    pub(crate) fork: Maybe<u64>,
    pub(crate) exit: Maybe<u64>,
    pub(crate) ipi: Maybe<IpiTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IpiTable {
    pub(crate) llc: u64,
    pub(crate) other_llc: Option<u64>,
    #[serde(default)]
    pub(crate) send: u64,
    #[serde(default)]
    pub(crate) receive: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskTable {
    pub(crate) working_set_kib: Maybe<u32>,
    pub(crate) class: Maybe<String>,
    pub(crate) dram_share: Maybe<u32>,
    pub(crate) timer_slack_us: Maybe<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CoreTable {
    pub(crate) name: Option<String>,
    pub(crate) cpus: Maybe<String>,
    pub(crate) smt: Maybe<u32>,
    pub(crate) cores: Maybe<Vec<String>>,
    pub(crate) speed: Maybe<u32>,
    pub(crate) capacity: Maybe<u32>,
    pub(crate) rank: Maybe<u32>,
    pub(crate) l2_kib: Maybe<u32>,
    pub(crate) smt_speed: Maybe<SmtTable>,
    pub(crate) mhz: Maybe<ClockTable>,
    pub(crate) governor: Maybe<GovernorTable>,
    pub(crate) power: Maybe<PowerTable>,
    pub(crate) idle: Maybe<Vec<IdleTable>>,
    pub(crate) poll_us: Maybe<u64>,
}

/// With one busy sibling, or with one, two and so on.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum BySiblings {
    One(u32),
    Each(Vec<u32>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SmtTable {
    pub(crate) compute: BySiblings,
    pub(crate) mixed: BySiblings,
    pub(crate) memory: BySiblings,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClockTable {
    pub(crate) idle: Maybe<u32>,
    pub(crate) base: Maybe<u32>,
    pub(crate) max: Spanned<u32>,
    pub(crate) turbo: Maybe<Vec<(u32, u32)>>,
    pub(crate) opps: Maybe<Vec<u32>>,
    pub(crate) domain_cores: Maybe<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GovernorTable {
    pub(crate) name: Spanned<String>,
    pub(crate) ramp_us: Maybe<u64>,
    pub(crate) cool_us: Maybe<u64>,
    pub(crate) transition_us: Maybe<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PowerTable {
    pub(crate) microwatts: Maybe<Vec<u32>>,
    pub(crate) coefficient_uw: Maybe<u32>,
    pub(crate) microvolts: Maybe<Vec<u32>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdleTable {
    pub(crate) name: String,
    pub(crate) exit_us: u64,
    pub(crate) residency_us: u64,
    #[serde(default)]
    pub(crate) flush: bool,
}
