// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a sweep file.

use super::axes::axes;
use super::document::{At, Document};
use super::policies::{check_tunables, policy};
use super::{Method, Policy, Resource, RunTable, Sought, Sweep, WorkloadFile, MOST_SAMPLES};
use rota_session::program::ProgramOptions;
use rota_session::time::duration;
use rota_session::wanted::beside;
use rota_session::{nearest, values, Error};
use std::path::Path;
use toml::de::{DeTable, DeValue};

const KEYS: [&str; 17] = [
    "workloads",
    "policies",
    "baseline",
    "seeds",
    "method",
    "samples",
    "draw",
    "resource",
    "first",
    "keep",
    "minimise",
    "maximise",
    "subject_to",
    "run",
    "set",
    "workload",
    "machine",
];
const RUN_KEYS: [&str; 11] = [
    "duration",
    "warmup",
    "kernel",
    "machine",
    "cpus",
    "topology",
    "hz",
    "ideal",
    "no_autogroup",
    PROGRAM_COST,
    PROGRAM_TIMEOUT,
];
const PROGRAM_COST: &str = "program_cost";
const PROGRAM_TIMEOUT: &str = "program_timeout";
/// What rounds of successive halving have more and more of.
const RESOURCES: [&str; 2] = ["seeds", "duration"];
const METHODS: [&str; 4] = ["grid", "random", "sobol", "halving"];

pub(super) fn sweep(file: &Path, text: &str) -> Result<Sweep, Error> {
    let doc = Document { file, text };
    let table = doc.parse()?;
    doc.only(&table, "", &KEYS)?;
    let mut method = method(&doc, &table)?;
    let drawn = method != Method::Grid;
    let workloads = workloads(&doc, &table)?;
    let mut policies = policies(&doc, &table)?;
    let baseline = baseline(&doc, &table, &mut policies)?;
    let of = |key: &str| match table.get(key) {
        Some(at) => axes(&doc, key, doc.table(key, at)?, drawn),
        None => Ok(Vec::new()),
    };
    let (workload, machine) = (of("workload")?, of("machine")?);
    if let Some(at) = table.get("set") {
        set(&doc, doc.table("set", at)?, drawn, &mut policies)?;
    }
    if let (Some(place), Some(at)) = (baseline, table.get("baseline")) {
        let own = &policies[place];
        if let (Some(_), Some(axis)) = (&own.program, own.axes.first()) {
            let expected = format!(
                "another policy: it runs as it is, and this program's {{{}}} has no value then",
                axis.name
            );
            return Err(doc.refuse("baseline", at, &expected));
        }
    }
    // Of a policy without axes every run is as it ships.
    policies.iter_mut().for_each(|policy| policy.plain |= policy.axes.is_empty());
    let run = match table.get("run") {
        Some(at) => {
            let table = doc.table("run", at)?;
            if policies.iter().all(|policy| policy.program.is_none()) {
                without_programs(&doc, table)?;
            }
            run(&doc, table)?
        }
        None => RunTable::default(),
    };
    if let Method::Halving { first: first @ Resource::Duration(_), keep, .. } = &mut method {
        *first = first_duration(&doc, &table, (&run, *keep))?;
    }
    Ok(Sweep {
        file: file.to_owned(),
        workloads,
        policies,
        baseline,
        seeds: seeds(&doc, &table)?,
        method,
        run,
        workload,
        machine,
        aims: aims(&doc, &table)?,
    })
}

fn needed<'v, 'a>(
    doc: &Document<'_>,
    table: &'v DeTable<'a>,
    key: &str,
    example: &str,
) -> Result<&'v At<'a>, Error> {
    let missing = || Error::input(format!("{}: no {key}, expected {example}", doc.file.display()));
    table.get(key).ok_or_else(missing)
}

fn workloads(doc: &Document<'_>, table: &DeTable<'_>) -> Result<Vec<WorkloadFile>, Error> {
    let at = needed(doc, table, "workloads", "some, as workloads = [\"load.json\"]")?;
    let mut files: Vec<WorkloadFile> = Vec::new();
    for (name, at) in doc.texts("workloads", at, "files")? {
        if files.iter().any(|file| file.name == name) {
            return Err(doc.refuse("workloads", at, "each file once"));
        }
        let line = doc.line(at.span().start);
        files.push(WorkloadFile { name: name.into(), path: beside(doc.file, name).into(), line });
    }
    Ok(files)
}

fn policies(doc: &Document<'_>, table: &DeTable<'_>) -> Result<Vec<Policy>, Error> {
    let at = needed(doc, table, "policies", "some, as policies = [\"pbs\", \"eevdf\"]")?;
    let mut policies: Vec<Policy> = Vec::new();
    for (word, at) in doc.texts("policies", at, "policies")? {
        let one = policy(doc, word, at)?;
        if policies.iter().any(|other| other.label == one.label) {
            let expected = format!(
                "another label, as NAME=POLICY, for one of the two that are called {}",
                one.label
            );
            return Err(doc.refuse("policies", at, &expected));
        }
        policies.push(one);
    }
    Ok(policies)
}

/// The place of the baseline, which is added if it is not there.
fn baseline(
    doc: &Document<'_>,
    table: &DeTable<'_>,
    policies: &mut Vec<Policy>,
) -> Result<Option<usize>, Error> {
    let Some(at) = table.get("baseline") else { return Ok(None) };
    let word = doc.text("baseline", at, "a policy")?;
    let place = match policies.iter().position(|policy| policy.label == word) {
        Some(place) => place,
        None => {
            policies.push(policy(doc, word, at)?);
            policies.len() - 1
        }
    };
    policies[place].plain = true;
    Ok(Some(place))
}

fn set(
    doc: &Document<'_>,
    table: &DeTable<'_>,
    drawn: bool,
    policies: &mut [Policy],
) -> Result<(), Error> {
    for (key, value) in table.iter() {
        let label = key.get_ref();
        let Some(at) = policies.iter().position(|policy| policy.label == label.as_ref()) else {
            let known: Vec<&str> = policies.iter().map(|policy| policy.label.as_str()).collect();
            let (hint, known) = (nearest::hint(label, &known), known.join(", "));
            let why = format!(
                "[set.{label}]: no policy of this name is in policies{hint}, expected one of \
                 {known}"
            );
            return Err(doc.error(&key.span(), why));
        };
        let place = format!("set.{label}");
        policies[at].axes = axes(doc, &place, doc.table(&place, value)?, drawn)?;
        check_tunables(doc, &policies[at])?;
    }
    Ok(())
}

fn seeds(doc: &Document<'_>, table: &DeTable<'_>) -> Result<Vec<u64>, Error> {
    let Some(at) = table.get("seeds") else { return Ok(vec![1]) };
    match at.get_ref() {
        DeValue::Array(items) if !items.is_empty() => {
            let mut seeds = Vec::new();
            for item in items.iter() {
                let seed = doc.whole("seeds", item, 0)? as u64;
                if seeds.contains(&seed) {
                    return Err(doc.refuse("seeds", item, "each seed once"));
                }
                seeds.push(seed);
            }
            Ok(seeds)
        }
        DeValue::Integer(_) => match doc.whole("seeds", at, 1)? {
            count @ 1..=100_000 => Ok((1..=count as u64).collect()),
            _ => Err(doc.refuse("seeds", at, "at most 100000")),
        },
        _ => Err(doc.refuse("seeds", at, "their number, or a list of seeds")),
    }
}

fn method(doc: &Document<'_>, table: &DeTable<'_>) -> Result<Method, Error> {
    let name = match table.get("method") {
        None => "grid",
        Some(at) => {
            let expected = "\"grid\", \"random\", \"sobol\" or \"halving\"";
            let name = doc.text("method", at, expected)?;
            if !METHODS.contains(&name) {
                let hint = nearest::hint(name, &METHODS);
                return Err(doc.refuse("method", at, &format!("{expected}{hint}")));
            }
            name
        }
    };
    if name != "halving" {
        for key in ["resource", "first", "keep"] {
            if let Some(at) = table.get(key) {
                let expected = format!("no {key}, as method is \"{name}\", not \"halving\"");
                return Err(doc.refuse(key, at, &expected));
            }
        }
    }
    if name == "grid" {
        for key in ["samples", "draw"] {
            if let Some(at) = table.get(key) {
                let expected = format!("no {key}, as method is \"grid\", which runs every value");
                return Err(doc.refuse(key, at, &expected));
            }
        }
        return Ok(Method::Grid);
    }
    let example = format!("how many points, as samples = 64, with method = \"{name}\"");
    let at = needed(doc, table, "samples", &example)?;
    let samples = u32::try_from(doc.whole("samples", at, 1)?).ok();
    let samples = samples.filter(|samples| *samples <= MOST_SAMPLES);
    let samples =
        samples.ok_or_else(|| doc.refuse("samples", at, &format!("at most {MOST_SAMPLES}")))?;
    let draw = match table.get("draw") {
        None => 1,
        Some(at) => u32::try_from(doc.whole("draw", at, 0)?)
            .map_err(|_| doc.refuse("draw", at, &format!("at most {}", u32::MAX)))?,
    };
    Ok(match name {
        "random" => Method::Random { samples, draw },
        "halving" => {
            let number = |key: &str, least: u32, most: u32, usual: u32| match table.get(key) {
                None => Ok(usual),
                Some(at) => {
                    let number = u32::try_from(doc.whole(key, at, least.into())?).ok();
                    let number = number.filter(|number| *number <= most);
                    number.ok_or_else(|| doc.refuse(key, at, &format!("at most {most}")))
                }
            };
            let keep = number("keep", 2, 100, 3)?;
            let first = match is_by_duration(doc, table)? {
                // How long depends on [run], which is read later.
                true => Resource::Duration(0),
                false => Resource::Seeds(number("first", 1, 100_000, 2)?),
            };
            Method::Halving { samples, draw, first, keep }
        }
        _ => Method::Sobol { samples, draw },
    })
}

/// Whether rounds of successive halving are longer and longer, not of more and more seeds.
fn is_by_duration(doc: &Document<'_>, table: &DeTable<'_>) -> Result<bool, Error> {
    let Some(at) = table.get("resource") else { return Ok(false) };
    let expected = "\"seeds\" or \"duration\"";
    match doc.text("resource", at, expected)? {
        "duration" => Ok(true),
        "seeds" => Ok(false),
        name => {
            let hint = nearest::hint(name, &RESOURCES);
            Err(doc.refuse("resource", at, &format!("{expected}{hint}")))
        }
    }
}

/// The time of the first round, of which the last one has all.
fn first_duration(
    doc: &Document<'_>,
    table: &DeTable<'_>,
    (run, keep): (&RunTable, u32),
) -> Result<Resource, Error> {
    let resource = table.get("resource");
    let Some(whole) = run.duration else {
        let expected = "duration in [run] as well, which the last round has";
        let missing = || Error::input(format!("{}: {expected}", doc.file.display()));
        return Err(resource.map_or_else(missing, |at| doc.refuse("resource", at, expected)));
    };
    let first = match table.get("first") {
        None => whole / u64::from(keep) / u64::from(keep),
        Some(at) => {
            let expected = "a time, as \"100ms\", as resource is \"duration\"";
            let first = values::duration(doc.text("first", at, expected)?);
            first.map_err(|why| doc.refuse_as("first", at, &why))?
        }
    };
    let least = run.warmup.unwrap_or(0);
    if first > least && first <= whole {
        return Ok(Resource::Duration(first));
    }
    let above = match least {
        0 => String::new(),
        least => format!(" more than the warmup, {}, and", duration(least)),
    };
    let expected = format!("{above} at most the duration of [run], {}", duration(whole));
    let expected = expected.trim_start();
    Err(match (table.get("first"), resource) {
        (Some(at), _) => doc.refuse("first", at, expected),
        (None, Some(at)) => {
            let why = format!("first is {}, expected {expected}", duration(first));
            doc.refuse_as("resource", at, &why)
        }
        (None, None) => Error::input(format!("{}: first: {expected}", doc.file.display())),
    })
}

fn without_programs(doc: &Document<'_>, table: &DeTable<'_>) -> Result<(), Error> {
    let given = [PROGRAM_COST, PROGRAM_TIMEOUT];
    let given = given.into_iter().find_map(|key| Some((key, table.get(key)?)));
    given.map_or(Ok(()), |(key, at)| {
        Err(doc.refuse(key, at, "a program among the policies, as \"scx_simple -f\""))
    })
}

fn run(doc: &Document<'_>, table: &DeTable<'_>) -> Result<RunTable, Error> {
    doc.only(table, "run", &RUN_KEYS)?;
    let text = |key: &str, expected: &str| {
        let at = table.get(key);
        at.map(|at| doc.text(key, at, expected).map(str::to_owned)).transpose()
    };
    let time_by = |key: &str, parse: fn(&str) -> Result<u64, String>| -> Result<_, Error> {
        let Some(at) = table.get(key) else { return Ok(None) };
        let time = parse(doc.text(key, at, "a time, as \"1s\"")?);
        time.map(Some).map_err(|why| doc.refuse_as(key, at, &why))
    };
    let time = |key: &str| time_by(key, values::duration);
    let count = |key: &str, parse: fn(&str) -> Result<u32, String>| -> Result<_, Error> {
        let Some(at) = table.get(key) else { return Ok(None) };
        let number = parse(&doc.whole(key, at, 0)?.to_string());
        number.map(Some).map_err(|why| doc.refuse_as(key, at, &why))
    };
    let flag = |key: &str| table.get(key).map_or(Ok(false), |at| doc.flag(key, at));
    Ok(RunTable {
        duration: time("duration")?,
        warmup: time("warmup")?,
        kernel: text("kernel", "a release, as \"7.2\"")?,
        machine: text("machine", "a machine")?.map(|name| machine_from(doc.file, &name)),
        cpus: count("cpus", values::cpus)?,
        topology: text("topology", "what CPUs share, as \"smt=2\"")?,
        hz: count("hz", values::hz)?,
        ideal: flag("ideal")?,
        no_autogroup: flag("no_autogroup")?,
        program: ProgramOptions {
            cost_ns: time_by(PROGRAM_COST, values::program_cost)?,
            timeout_ns: time_by(PROGRAM_TIMEOUT, values::program_timeout)?,
        },
    })
}

/// A machine of this name, or a file as seen from here.
pub(crate) fn machine_from(file: &Path, name: &str) -> String {
    match name.contains(['/', '.']) {
        true => beside(file, name),
        false => name.to_owned(),
    }
}

fn aims(doc: &Document<'_>, table: &DeTable<'_>) -> Result<Sought, Error> {
    let of = |key: &str, expected: &str| -> Result<Vec<String>, Error> {
        let Some(at) = table.get(key) else { return Ok(Vec::new()) };
        let texts = doc.texts(key, at, expected)?;
        Ok(texts.into_iter().map(|(text, _)| text.to_owned()).collect())
    };
    Ok(Sought {
        minimise: of("minimise", "metrics")?,
        maximise: of("maximise", "metrics")?,
        subject_to: of("subject_to", "conditions, as \"wakeup_p99 <= 5ms\"")?,
    })
}
