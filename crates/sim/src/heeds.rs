// SPDX-License-Identifier: MIT OR Apache-2.0
//! What of a workload and a machine a policy heeds, by what its object says of itself, and what it
//! ignores. Nothing that makes no difference is ignored silently.

use rota_machine::config::Config;
use rota_object::image::{Image, OpsField, StructOps};
use rota_workload::Workload;
use std::fmt;

/// Something that a policy can heed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// Nice values and weights.
    Nice,
    /// Shares (`rota_shares`).
    Share,
    /// Slices that tasks ask for.
    Slice,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
    /// `cpu.weight` of cgroups.
    CpuWeight,
    /// `cpu.max` of cgroups.
    CpuMax,
    /// `cpu.idle` of cgroups.
    CpuIdle,
    /// Autogroups: sessions share as cgroups do.
    Autogroup,
    /// Clamps of utilization, where CPUs differ in capacity.
    Uclamp,
    /// CPUs that share a core.
    Smt,
    /// Last-level caches.
    Llc,
    /// NUMA nodes.
    Numa,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 13] = [
        Feature::Nice,
        Feature::Share,
        Feature::Slice,
        Feature::Batch,
        Feature::Idle,
        Feature::CpuWeight,
        Feature::CpuMax,
        Feature::CpuIdle,
        Feature::Autogroup,
        Feature::Uclamp,
        Feature::Smt,
        Feature::Llc,
        Feature::Numa,
    ];

    /// Its name, as in tags and messages.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Nice => "nice",
            Feature::Share => "share",
            Feature::Slice => "slice",
            Feature::Batch => "SCHED_BATCH",
            Feature::Idle => "SCHED_IDLE",
            Feature::CpuWeight => "cpu.weight",
            Feature::CpuMax => "cpu.max",
            Feature::CpuIdle => "cpu.idle",
            Feature::Autogroup => "autogroup",
            Feature::Uclamp => "uclamp",
            Feature::Smt => "SMT",
            Feature::Llc => "LLC",
            Feature::Numa => "NUMA",
        }
    }

    /// The callback without which a scheduler cannot heed it.
    fn callback(self) -> Option<&'static str> {
        match self {
            Feature::CpuWeight => Some("cgroup_set_weight"),
            Feature::CpuMax => Some("cgroup_set_bandwidth"),
            Feature::CpuIdle => Some("cgroup_set_idle"),
            _ => None,
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a run has that its policy ignores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// In the order of [`Feature::ALL`].
    pub features: Vec<Feature>,
    /// By its object's word; else by the callbacks that it lacks.
    pub is_declared: bool,
}

pub(crate) fn scheduler(image: &Image) -> Option<&StructOps> {
    image.struct_ops.iter().find(|ops| ops.type_name.starts_with("sched_ext_ops"))
}

/// Whether a tunable is set; one that is not there is not.
fn is_set(image: &Image, tunable: &str) -> bool {
    let value = image.variable_text(tunable).unwrap_or_default();
    !matches!(value.as_str(), "" | "0" | "false")
}

/// `NAME`, or `NAME if TUNABLE`, or `NAME if TUNABLE and TUNABLE`, or `NAME unless TUNABLE`, or
/// `NAME unless TUNABLE or TUNABLE`: the name, and whether it holds.
fn entry<'a>(image: &Image, text: &'a str) -> (&'a str, bool) {
    if let Some((name, tunable)) = text.split_once(" if ") {
        return (name.trim(), tunable.split(" and ").all(|name| is_set(image, name.trim())));
    }
    if let Some((name, tunable)) = text.split_once(" unless ") {
        return (name.trim(), !tunable.split(" or ").any(|name| is_set(image, name.trim())));
    }
    (text, true)
}

/// What the object says that its policy heeds, as its tunables are; `None`: it says nothing. Names
/// that are none of [`Feature::ALL`] are left out.
pub fn heeded(image: &Image) -> Option<Vec<Feature>> {
    let mut tags = scheduler(image)?.tags.iter().filter_map(|tag| tag.strip_prefix("heeds:"));
    let first = tags.next()?;
    let mut heeded: Vec<Feature> = std::iter::once(first)
        .chain(tags)
        .flat_map(|tag| tag.split(','))
        .map(|text| entry(image, text.trim()))
        .filter(|(_, holds)| *holds)
        .filter_map(|(name, _)| Feature::ALL.into_iter().find(|f| f.name() == name))
        .collect();
    heeded.sort_unstable();
    heeded.dedup();
    Some(heeded)
}

/// What a workload and a machine have that makes a difference to a policy that heeds it.
pub fn used(workload: &Workload, config: &Config) -> Vec<Feature> {
    let (uses, topology) = (workload.uses(), &config.topology);
    let is_used = |feature: &Feature| match feature {
        Feature::Nice => uses.nice,
        Feature::Share => uses.share,
        Feature::Slice => uses.slice,
        Feature::Batch => uses.batch,
        Feature::Idle => uses.idle,
        Feature::CpuWeight => uses.groups,
        Feature::CpuMax => uses.bandwidth,
        Feature::CpuIdle => uses.idle_groups,
        Feature::Autogroup => uses.sessions,
        Feature::Uclamp => uses.clamps && capacities_differ(config),
        Feature::Smt => topology.has_smt(),
        Feature::Llc => topology.llcs() > 1,
        Feature::Numa => topology.nodes() > 1,
    };
    Feature::ALL.into_iter().filter(is_used).collect()
}

fn capacities_differ(config: &Config) -> bool {
    let Some(hardware) = config.hardware.as_deref() else { return false };
    let capacities = (0..config.topology.cpus()).map(|cpu| hardware.core_type(cpu).capacity);
    capacities.clone().min() != capacities.max()
}

/// What a run of the object has that it ignores.
pub fn ignored(image: &Image, workload: &Workload, config: &Config) -> Ignored {
    ignored_of(image, used(workload, config))
}

/// What of these features it ignores.
pub fn ignored_of(image: &Image, used: Vec<Feature>) -> Ignored {
    if let Some(heeded) = heeded(image) {
        let features = used.into_iter().filter(|feature| !heeded.contains(feature)).collect();
        return Ignored { features, is_declared: true };
    }
    let has = |callback: &str| {
        let field = scheduler(image).and_then(|ops| ops.fields.get(callback));
        matches!(field, Some(OpsField::Func(_)))
    };
    let lacks = |f: &Feature| f.callback().is_some_and(|callback| !has(callback));
    Ignored { features: used.into_iter().filter(lacks).collect(), is_declared: false }
}

impl Ignored {
    /// `wfq ignores: cpu.weight, cpu.max`; of an object that says nothing of itself, in the words of
    /// Linux 6.12 (`scx_cgroup_warn_missing_weight()`). `None`: there is nothing to say.
    pub fn message(&self, policy: &str) -> Option<String> {
        if self.features.is_empty() {
            return None;
        }
        let names: Vec<&str> = self.features.iter().map(|feature| feature.name()).collect();
        Some(match self.is_declared {
            true => format!("{policy} ignores: {}", names.join(", ")),
            false => format!("{policy} does not implement cgroup {}", names.join(", ")),
        })
    }
}
