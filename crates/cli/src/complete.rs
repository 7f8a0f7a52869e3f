// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the shell offers for an argument: policies, tunables, metrics, goals, papers, files. The
//! scripts of `rota completions` ask this program for it.

use crate::findings;
use crate::machine::THIS;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use rota_machine::kernel::Kernel;
use rota_measure::catalogue;
use rota_sim::Policy;
use std::ffi::OsStr;
use std::path::Path;

/// Variable that makes this program complete instead of run.
pub(crate) const VARIABLE: &str = "ROTA_COMPLETE";
/// Stands for every kernel that can be simulated.
const EVERY_KERNEL: &str = "all";
/// Endings of scheduler objects and sources.
const OBJECTS: [&str; 2] = [".bpf.o", ".bpf.c"];

/// Shipped policies, and object or source files.
pub(crate) fn policies() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| joined([shipped(typed), files(typed, &OBJECTS)]))
}

/// Only those that ship.
pub(crate) fn shipped_policies() -> ArgValueCompleter {
    ArgValueCompleter::new(shipped)
}

/// Policies with settings, as `wfq:quantum_ns=2ms`, and `none`.
pub(crate) fn baselines() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let none = starting(typed, [("none".to_owned(), "no baseline".to_owned())]);
        joined([with_settings(typed), files(typed, &OBJECTS), none])
    })
}

/// Policies with settings.
pub(crate) fn policy_list() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| joined([with_settings(typed), files(typed, &OBJECTS)]))
}

/// Workloads, and policies with settings.
pub(crate) fn workloads_and_policies() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let endings = [".json", OBJECTS[0], OBJECTS[1]];
        joined([with_settings(typed), files(typed, &endings)])
    })
}

/// Workload files.
pub(crate) fn workloads() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| files(typed, &[".json"]))
}

/// Tunables of the shipped policy that the command line names, with `=`.
pub(crate) fn tunables() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let words = std::env::args().collect::<Vec<String>>();
        let policy = words.iter().find(|word| rota_catalog::find(word).is_ok());
        policy.map_or(Vec::new(), |policy| starting(typed, tunables_of(policy)))
    })
}

/// Metrics, groups of them, and `all`.
pub(crate) fn metrics() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let groups = catalogue::groups().into_iter().chain(["all"]);
        let groups = groups.map(|name| (name.to_owned(), "a group of metrics".to_owned()));
        starting(typed, groups.chain(all_metrics()))
    })
}

/// What there are schemas of.
pub(crate) fn schemas() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let all = crate::schemas::all().into_iter().flatten();
        starting(typed, all.map(|schema| (schema.name.to_owned(), schema.about)))
    })
}

/// Metrics alone.
pub(crate) fn metric() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| starting(typed, all_metrics()))
}

/// Goals of a comparison.
pub(crate) fn goals() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let words = findings::goal_words().map(|word| (word.to_owned(), String::new()));
        starting(typed, words.chain(all_metrics()))
    })
}

/// Papers, and `all`.
pub(crate) fn papers() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let papers = rota_reproduce::papers().iter().map(|paper| paper.name).chain(["all"]);
        starting(typed, papers.map(|name| (name.to_owned(), String::new())))
    })
}

/// Figures of the paper that the command line names.
pub(crate) fn figures() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let words = std::env::args().collect::<Vec<String>>();
        let paper = words.iter().find_map(|word| rota_reproduce::find(word).ok());
        let figures = paper.map_or(Vec::new(), |paper| paper.figures());
        starting(typed, figures.into_iter().map(|id| (id.to_owned(), String::new())))
    })
}

/// Machines that come along, and files.
pub(crate) fn machines() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let presets = rota_machine_file::PRESETS.map(|name| (name.to_owned(), String::new()));
        let presets = presets.into_iter().chain([(THIS.to_owned(), String::new())]);
        joined([starting(typed, presets), PathCompleter::file().complete(typed)])
    })
}

/// Kernels that can be simulated.
pub(crate) fn kernels() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let releases = Kernel::releases().into_iter().chain([EVERY_KERNEL]);
        starting(typed, releases.map(|release| (release.to_owned(), String::new())))
    })
}

fn joined<const N: usize>(lists: [Vec<CompletionCandidate>; N]) -> Vec<CompletionCandidate> {
    lists.into_iter().flatten().collect()
}

fn all_metrics() -> impl Iterator<Item = (String, String)> {
    catalogue::measures().iter().map(|m| (m.key.to_owned(), m.name.to_owned()))
}

fn shipped(typed: &OsStr) -> Vec<CompletionCandidate> {
    let policies = rota_catalog::policies().iter();
    starting(typed, policies.map(|policy| (policy.name.to_owned(), String::new())))
}

/// Shipped policies; after a policy and `:` its tunables.
fn with_settings(typed: &OsStr) -> Vec<CompletionCandidate> {
    let text = typed.to_string_lossy();
    let Some((before, _)) = text.rsplit_once(':') else { return shipped(typed) };
    let policy = before.split(':').next().unwrap_or_default();
    let settings = tunables_of(policy).into_iter();
    starting(typed, settings.map(|(name, help)| (format!("{before}:{name}"), help)))
}

/// `quantum_ns=` with its help, of a shipped policy.
fn tunables_of(policy: &str) -> Vec<(String, String)> {
    let Ok(shipped) = rota_catalog::find(policy) else { return Vec::new() };
    let linked = Policy::link(shipped.name, shipped.object, &Kernel::default());
    let Ok(linked) = linked else { return Vec::new() };
    let tunables = linked.image().tunables().into_iter();
    tunables.map(|tunable| (format!("{}=", tunable.name), tunable.help)).collect()
}

fn starting(
    typed: &OsStr,
    all: impl IntoIterator<Item = (String, String)>,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let fitting = all.into_iter().filter(|(value, _)| value.starts_with(&*typed));
    let candidate = |(value, help): (String, String)| {
        CompletionCandidate::new(value).help((!help.is_empty()).then(|| help.into()))
    };
    fitting.map(candidate).collect()
}

/// Files with such an ending, and folders on the way to them.
fn files(typed: &OsStr, endings: &[&'static str]) -> Vec<CompletionCandidate> {
    let endings = endings.to_vec();
    let fits = move |path: &Path| {
        path.is_dir() || endings.iter().any(|end| path.to_string_lossy().ends_with(end))
    };
    PathCompleter::any().filter(fits).complete(typed)
}
