// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON of every command. `docs/cli.md` describes it; a change of meaning gets a new
//! schema number, additions come at the end of their object.

use super::blocked::{self, Blocked, Link};
use super::exit::{ExitAt, ExitJson, SubExitJson};
use super::program::ProgramJson;
use super::unfilled::{self, UnfilledRead};
use super::{doubts, dump, tunables, Run};
use crate::error::Error;
use rota_machine::config::{Config, Costs};
use rota_machine::outside::Happened;
use rota_machine::tracing::{never_called, never_called_in_sub, NeverCalled};
use rota_machine_file::models;
use rota_measure::{CpuNumbers, LockNumbers, RequestsNumbers, TaskNumbers, Totals};
use rota_object::image::Image;
use rota_object::settings::Tunable;
use rota_sim::{Feature, Origin};
use rota_workload::Workload;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::Write;
use std::sync::Arc;

/// Prints an object on a line of its own.
pub(crate) fn print(out: &mut dyn Write, value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string(value).map_err(|e| Error::Failure(e.to_string()))?;
    // As bytes, which nothing escapes again.
    Ok(out.write_all((text + "\n").as_bytes())?)
}

/// `rota list --json`.
#[derive(Debug, Serialize)]
pub(crate) struct List<'a> {
    schema: &'static str,
    policies: Vec<Listed<'a>>,
}

/// One shipped policy.
#[derive(Debug, Serialize)]
pub(crate) struct Listed<'a> {
    name: &'a str,
    help: Option<&'a str>,
    paper: Option<&'a str>,
    tunables: Vec<TunableJson>,
    heeds: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stands_for: Option<&'a str>,
}

/// `rota list --third-party --json`.
#[derive(Debug, Serialize)]
pub(crate) struct ThirdParties<'a> {
    schema: &'static str,
    schedulers: Vec<ThirdParty<'a>>,
}

impl<'a> ThirdParties<'a> {
    pub(crate) fn new(schedulers: Vec<ThirdParty<'a>>) -> Self {
        Self { schema: "rota.list-third-party/1", schedulers }
    }
}

/// A scheduler with a known loader.
#[derive(Debug, Serialize)]
pub(crate) struct ThirdParty<'a> {
    name: &'a str,
    ops: &'a str,
    from: &'a str,
    help: &'a str,
    lacks: Option<&'a str>,
}

impl<'a> ThirdParty<'a> {
    pub(crate) fn new(name: &'a str, of: &'a rota_manifest::Match) -> Self {
        let lacks = of.lacks.as_deref();
        Self { name, ops: &of.ops, from: &of.from, help: &of.about, lacks }
    }
}

#[derive(Debug, Serialize)]
struct TunableJson {
    name: String,
    r#type: String,
    default: Value,
    min: Option<Value>,
    max: Option<Value>,
    unit: Option<String>,
    values: Vec<String>,
    scale: Option<u64>,
    infinite: bool,
    help: String,
    live: bool,
}

/// Names of what a policy heeds or ignores.
fn names(features: &[Feature]) -> Vec<&'static str> {
    features.iter().map(|feature| feature.name()).collect()
}

/// What a run has that its policy ignores.
pub(crate) fn ignores(image: &Image, workload: &Workload, config: &Config) -> Vec<&'static str> {
    names(&rota_sim::ignored(image, workload, config).features)
}

impl<'a> List<'a> {
    pub(crate) fn new(policies: Vec<Listed<'a>>) -> Self {
        Self { schema: "rota.list/1", policies }
    }
}

impl<'a> Listed<'a> {
    pub(crate) fn new(name: &'a str, image: &'a Image) -> Self {
        let about = tunables::about(image);
        let tunables = image.tunables().into_iter().map(TunableJson::new).collect();
        let heeds = rota_sim::heeded(image).map(|heeded| names(&heeded));
        let stands_for = rota_sim::stands_for(image);
        Self { name, help: about.help, paper: about.paper, tunables, heeds, stands_for }
    }
}

impl TunableJson {
    fn new(tunable: Tunable) -> Self {
        Self {
            default: typed(&tunable.ctype, &tunable.default),
            min: tunable.min.as_deref().map(|min| typed(&tunable.ctype, min)),
            max: tunable.max.as_deref().map(|max| typed(&tunable.ctype, max)),
            name: tunable.name,
            r#type: tunable.ctype,
            unit: tunable.unit,
            values: tunable.values,
            scale: tunable.scale,
            infinite: tunable.infinite,
            help: tunable.help,
            live: tunable.live,
        }
    }
}

/// A setting as a number or boolean where it is one, else as `--set` takes it.
fn typed(ctype: &str, text: &str) -> Value {
    if ctype.starts_with("char") {
        return text.into();
    }
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => text.into(),
    }
}

/// `rota sim --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Sim<'a> {
    schema: &'static str,
    policy: PolicyJson<'a>,
    machine: MachineJson,
    seed: Option<u64>,
    duration_ns: u64,
    exit: ExitJson,
    tasks: &'a [TaskNumbers],
    totals: &'a Totals,
    workload: &'a str,
    callbacks: Vec<CallbackJson>,
    unfilled_reads: Vec<UnfilledRead>,
    blocked: Vec<Blocked>,
    policy_stats: Map<String, Value>,
    deadlocks: Vec<Vec<Link>>,
    requests: &'a RequestsNumbers,
    kernel: &'a str,
    untold_types: &'a [String],
    events: Vec<EventJson<'a>>,
    never_called: Vec<NeverCalledJson<'a>>,
    doubts: Vec<String>,
    cpus: &'a [CpuNumbers],
    ignores: Vec<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    locks: &'a [LockNumbers],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exits: Vec<ExitAt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    globals: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maps: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sub_exits: Vec<SubExitJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<ProgramJson<'a>>,
}

/// What came of an event from outside.
#[derive(Debug, Serialize)]
struct EventJson<'a> {
    at_ns: u64,
    event: &'a str,
    action: &'a str,
    result: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct PolicyJson<'a> {
    name: &'a str,
    source: &'a str,
    tunables: Map<String, Value>,
    /// Of a bundle: what set it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    set_up_by: Option<&'a Origin>,
    /// A kernel's own class: instructions are counted, and take no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    stands_for: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct MachineJson {
    cpus: u32,
    hz: u32,
    cores: u32,
    llcs: u32,
    nodes: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nohz_full: Vec<u32>,
    idle_entry_ns: u64,
    ideal: bool,
    shuffle_ties: bool,
    /// Models of hardware and whether they are on, of a machine that has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<Map<String, Value>>,
}

#[derive(Debug, Serialize)]
struct CallbackJson {
    op: &'static str,
    calls: u64,
    instructions: u64,
}

#[derive(Debug, Serialize)]
struct NeverCalledJson<'a> {
    /// Of the sub-scheduler of this cgroup.
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<&'a str>,
    program: String,
    section: String,
    why: String,
}

impl<'a> NeverCalledJson<'a> {
    fn all(run: &Run<'a>) -> Vec<Self> {
        let of = |cgroup: Option<&'a str>, programs: Vec<NeverCalled>| {
            let programs = programs.into_iter();
            programs.map(move |NeverCalled { program, section, why }| Self {
                cgroup,
                program,
                section,
                why,
            })
        };
        let below = |(cgroup, image): &'a (String, Arc<Image>)| {
            of(Some(cgroup), never_called_in_sub(image))
        };
        of(None, never_called(run.image)).chain(run.subs.iter().flat_map(below)).collect()
    }
}

impl<'a> Sim<'a> {
    pub(crate) fn new(run: &Run<'a>) -> Self {
        let outcome = &run.finished.outcome;
        let callbacks = outcome.counters.callbacks().map(|(op, count)| (op.name(), count));
        let tracepoints = outcome.counters.places().map(|(at, count)| (at.name(), count));
        let callbacks = callbacks.chain(tracepoints).map(|(op, count)| CallbackJson {
            op,
            calls: count.calls,
            instructions: count.instructions,
        });
        let (globals, maps) = run.finished.dump.as_ref().map(dump::json).unzip();
        Self {
            schema: "rota.sim/1",
            policy: PolicyJson::new(run.policy, run.source, run.image, run.set, run.origin),
            machine: MachineJson::new(run.config),
            seed: (!run.is_replay).then_some(run.config.seed),
            duration_ns: outcome.end_ns,
            exit: ExitJson::new(&outcome.exit),
            tasks: &run.finished.numbers.tasks,
            totals: &run.finished.numbers.totals,
            workload: &run.load.file,
            callbacks: callbacks.collect(),
            unfilled_reads: unfilled::fields(run),
            blocked: blocked::tasks(run),
            policy_stats: counted(run),
            deadlocks: blocked::deadlocks(run),
            requests: &run.finished.requests,
            kernel: run.kernel,
            untold_types: &run.image.untold_types,
            events: outcome.outside.iter().map(EventJson::new).collect(),
            never_called: NeverCalledJson::all(run),
            doubts: doubts::of(run),
            cpus: &run.finished.numbers.cpus,
            ignores: ignores(run.image, &run.load.workload, run.config),
            locks: &run.finished.numbers.locks,
            exits: outcome.exits.iter().map(ExitAt::new).collect(),
            globals,
            maps,
            sub_exits: outcome.sub_exits.iter().map(SubExitJson::new).collect(),
            program: ProgramJson::of(run),
        }
    }
}

impl<'a> EventJson<'a> {
    fn new(happened: &'a Happened) -> Self {
        let Happened { at_ns, event, action, result } = happened;
        Self { at_ns: *at_ns, event, action, result }
    }
}

/// What the policy counted, by name.
fn counted(run: &Run<'_>) -> Map<String, Value> {
    let stats = run.finished.policy_stats.iter();
    stats.map(|stat| (stat.name.clone(), stat.value.clone().into())).collect()
}

impl<'a> PolicyJson<'a> {
    /// A policy with the values that ran: of its options, and of whatever else was set.
    pub(crate) fn new(
        name: &'a str,
        source: &'a str,
        image: &'a Image,
        set: &[(String, String)],
        set_up_by: Option<&'a Origin>,
    ) -> Self {
        let mut tunables = Map::new();
        for option in tunables::options(image) {
            tunables.insert(option.name, typed(&option.ctype, &option.default));
        }
        for (path, _) in set {
            if !tunables.contains_key(path) {
                let value = image.variable_text(path).unwrap_or_default();
                tunables.insert(path.clone(), typed("", &value));
            }
        }
        Self { name, source, tunables, set_up_by, stands_for: rota_sim::stands_for(image) }
    }
}

impl MachineJson {
    pub(crate) fn new(config: &Config) -> Self {
        let topology = &config.topology;
        Self {
            cpus: topology.cpus(),
            hz: config.hz,
            cores: topology.cores(),
            llcs: topology.llcs(),
            nodes: topology.nodes(),
            nohz_full: config.nohz_full.clone(),
            idle_entry_ns: config.costs.idle_entry_ns,
            ideal: config.exact_slices && config.costs == Costs::none(),
            shuffle_ties: config.shuffle_ties,
            models: config.hardware.as_deref().map(|hardware| {
                let all = models(topology, Some(hardware)).into_iter();
                all.map(|model| (model.name.to_owned(), model.is_on.into())).collect()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_keep_their_types() {
        assert_eq!(typed("u64", "5000000"), json!(5_000_000));
        assert_eq!(typed("u64", "18446744073709551615"), json!(u64::MAX));
        assert_eq!(typed("s32", "-1"), json!(-1));
        assert_eq!(typed("bool", "true"), json!(true));
        assert_eq!(typed("u32", "rr"), json!("rr"));
        assert_eq!(typed("u64[2]", "1, 2"), json!("1, 2"));
        assert_eq!(typed("char[8]", "12"), json!("12"));
    }
}
