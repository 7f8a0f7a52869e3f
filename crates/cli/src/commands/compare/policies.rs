// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which policies are compared, next to which, on which workloads.

use crate::comparison::Baseline;
use crate::error::Error;
use crate::label;
use crate::object;
use crate::program;
use rota_session::Wanted;
use std::path::{Path, PathBuf};

/// Compared with Linux's scheduler if none is named: one of each family. First come, first served;
/// round robin; proportional shares by virtual time, exact and in constant time; least service and
/// age; and Linux's earlier two.
const USUAL: [&str; 7] = ["cfs", "fifo", "o1", "pbs", "rr", "vtrr", "wfq"];
/// Linux's own.
pub(crate) const USUAL_BASELINE: &str = "eevdf";
/// Means that there is no baseline.
const NO_BASELINE: &str = "none";

/// What is to be compared, as the user asked for it.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) workloads: Vec<PathBuf>,
    pub(crate) policies: Vec<Wanted>,
    pub(crate) baseline: Option<Baseline>,
}

/// Workload files and policies among what the user named, and the baseline, which is the last of
/// the policies if it is not one of them.
pub(crate) fn sort_out(
    items: &[String],
    policies: &[String],
    all: bool,
    baseline: &str,
) -> Result<Chosen, Error> {
    let (named, workloads): (Vec<&String>, Vec<&String>) =
        items.iter().partition(|item| names_policy(item));
    if workloads.is_empty() {
        return Err(Error::input("no workload: expected at least one FILE.json"));
    }
    let mut wanted = Vec::new();
    for text in named.into_iter().chain(policies) {
        wanted.push(Wanted::parse(text)?);
    }
    if all || wanted.is_empty() {
        let shipped = rota_catalog::policies().iter().map(|policy| policy.name);
        for name in shipped.filter(|name| all || USUAL.contains(name)) {
            let plain = Wanted::plain(name);
            if !wanted.contains(&plain) {
                wanted.push(plain);
            }
        }
    }
    unlike(&wanted)?;
    let baseline = add_baseline(&mut wanted, baseline)?;
    let mut files = Vec::new();
    for item in workloads {
        files.extend(workload_files(Path::new(item))?);
    }
    let workloads = files;
    Ok(Chosen { workloads, policies: wanted, baseline })
}

/// The first of the policies that the user named, if there are several.
pub(crate) fn first_of_several(items: &[String], policies: &[String]) -> Option<String> {
    let mut named = items.iter().filter(|item| names_policy(item)).chain(policies);
    let first = named.next()?;
    named.next().is_some().then(|| first.clone())
}

/// Refuses policies of which two are alike, or have the same label.
pub(crate) fn unlike(wanted: &[Wanted]) -> Result<(), Error> {
    let labels: Vec<&str> = wanted.iter().filter_map(|policy| policy.label.as_deref()).collect();
    let twice = labels.iter().enumerate().find(|(at, label)| labels[..*at].contains(label));
    if let Some((_, label)) = twice {
        return Err(Error::input(format!("label {label}: two policies have it, expected one")));
    }
    let twice = wanted.iter().enumerate().find(|(at, policy)| wanted[..*at].contains(policy));
    twice.map_or(Ok(()), |(_, policy)| {
        let name = format!("{}{}", policy.policy, policy.settings());
        Err(Error::input(format!("policy {name} is listed twice")))
    })
}

/// A workload file, or those of a folder, in the order of their names.
fn workload_files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|e| Error::file("read", path, &e))? {
        let file = entry.map_err(|e| Error::file("read", path, &e))?.path();
        if file.extension().is_some_and(|ending| ending == "json") {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        let path = path.display();
        return Err(Error::input(format!("{path}: no FILE.json is in that folder")));
    }
    Ok(files)
}

fn add_baseline(wanted: &mut Vec<Wanted>, text: &str) -> Result<Option<Baseline>, Error> {
    if text == NO_BASELINE {
        return Ok(None);
    }
    let of_label = wanted.iter().position(|policy| policy.label.as_deref() == Some(text));
    let baseline =
        Wanted::parse(text).map_err(|e| Error::input(format!("--baseline {text}: {e}")))?;
    let at = of_label.or_else(|| wanted.iter().position(|policy| *policy == baseline));
    let is_added = at.is_none();
    let at = at.unwrap_or_else(|| {
        wanted.push(baseline);
        wanted.len() - 1
    });
    Ok(Some(Baseline { at, is_added }))
}

/// Whether a word means a policy: one that ships, an object or source file, a program, or something
/// that is no file at all and not even called like a workload.
pub(crate) fn names_policy(item: &str) -> bool {
    let (_, item) = label::split(item);
    let name = item.split(':').next().unwrap_or(item);
    object::is_file_name(name)
        || object::is_shipped(name)
        || program::is_meant(item)
        || !item.ends_with(".json") && !Path::new(item).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    fn sorted(items: &[&str], policies: &[&str], all: bool) -> (Vec<PathBuf>, Vec<String>) {
        let chosen = sort_out(&texts(items), &texts(policies), all, "none").expect("in order");
        assert_eq!(chosen.baseline, None);
        (chosen.workloads, names(&chosen.policies))
    }

    fn names(wanted: &[Wanted]) -> Vec<String> {
        wanted.iter().map(|w| format!("{}{}", w.policy, w.settings())).collect()
    }

    #[test]
    fn a_baseline_that_is_not_there_is_added_at_the_end() {
        let chosen = |policies: &[&str], baseline| {
            let chosen = sort_out(&texts(&["a.json"]), &texts(policies), false, baseline);
            let chosen = chosen.expect("in order");
            (names(&chosen.policies).join(" "), chosen.baseline.expect("a baseline"))
        };
        let (added, named) =
            (|at| Baseline { at, is_added: true }, |at| Baseline { at, is_added: false });
        assert_eq!(chosen(&["rr", "wfq"], "rr"), ("rr wfq".into(), named(0)));
        assert_eq!(chosen(&["rr", "wfq"], "eevdf"), ("rr wfq eevdf".into(), added(2)));
        // With other settings it is another policy.
        assert_eq!(chosen(&["rr:q=1"], "rr"), ("rr:q=1 rr".into(), added(1)));
        assert_eq!(chosen(&["rr:q=1", "rr"], "rr:q=1").1, named(0));
    }

    #[test]
    fn policies_may_stand_among_the_workloads() {
        let (loads, wanted) = sorted(&["a.json", "wfq", "b.json", "./x.bpf.c:q=1"], &["rr"], false);
        assert_eq!(loads, [PathBuf::from("a.json"), PathBuf::from("b.json")]);
        assert_eq!(wanted, ["wfq", "./x.bpf.c:q=1", "rr"]);
    }

    #[test]
    fn one_policy_of_each_family_is_meant_if_none_is_named() {
        let shipped: Vec<&str> = rota_catalog::policies().iter().map(|p| p.name).collect();
        assert!(USUAL.iter().all(|name| shipped.contains(name)));
        assert_eq!(sorted(&["a.json"], &[], false).1, USUAL);
        assert_eq!(sorted(&["a.json"], &[], true).1, shipped);
        let (_, wanted) = sorted(&["a.json"], &["wfq:quantum_ns=2ms", "wfq"], true);
        assert_eq!(wanted.len(), shipped.len() + 1, "{wanted:?}");
    }

    #[test]
    fn a_program_keeps_its_arguments_as_they_are() {
        let (loads, wanted) = sorted(&["a.json", "scx_layered f:layers.json", "wfq"], &[], false);
        assert_eq!(loads, [PathBuf::from("a.json")]);
        assert_eq!(wanted, ["scx_layered f:layers.json", "wfq"]);
    }

    #[test]
    fn a_label_names_a_policy_and_is_a_baseline() {
        let words = texts(&["a.json", "old=./x.bpf.o:q=1", "new=true", "same=wfq", "wfq"]);
        let chosen = sort_out(&words, &[], false, "old").expect("in order");
        let labels: Vec<Option<&str>> =
            chosen.policies.iter().map(|policy| policy.label.as_deref()).collect();
        assert_eq!(labels, [Some("old"), Some("new"), Some("same"), None]);
        assert_eq!(names(&chosen.policies), ["./x.bpf.o:q=1", "true", "wfq", "wfq"]);
        assert!(chosen.policies[1].is_program);
        assert_eq!(chosen.baseline, Some(Baseline { at: 0, is_added: false }));
        let twice = sort_out(&texts(&["a.json", "x=wfq", "x=rr"]), &[], false, "none");
        assert_eq!(
            twice.expect_err("twice").to_string(),
            "label x: two policies have it, expected one"
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for bad in ["wfq:", "wfq:5", ":a=b", "wfq:=3", "wfq:@a:@b"] {
            let refused = sort_out(&texts(&["a.json"]), &texts(&[bad]), false, "none");
            assert!(refused.is_err(), "{bad}");
            let refused = sort_out(&texts(&["a.json"]), &[], false, bad);
            assert!(refused.is_err(), "--baseline {bad}");
        }
        assert!(sort_out(&texts(&["wfq"]), &[], false, "none").is_err(), "no workload");
        let twice = sort_out(&texts(&["a.json", "wfq"]), &texts(&["wfq"]), false, "none");
        assert!(twice.is_err());
    }
}
