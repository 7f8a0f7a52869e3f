// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds of every measure.

use super::table::REQUESTS;
use super::*;
use std::collections::HashSet;

#[test]
fn a_metric_has_one_name_and_its_key_is_that_name_in_other_letters() {
    let keys: HashSet<&str> = MEASURES.iter().map(|m| m.key).collect();
    assert_eq!(keys.len(), MEASURES.len());
    for measure in MEASURES {
        let name = measure.name.to_lowercase().replace("/s", " per s").replace('.', "");
        let key = name.replace("insns", "instructions").replace(' ', "_");
        assert_eq!(key, measure.key);
    }
}

#[test]
fn headlines_are_those_that_runs_have_in_the_order_of_all() {
    let keys = |most, is_there: &dyn Fn(&Measure) -> bool| -> Vec<&str> {
        headlines(most, is_there).iter().map(|measure| measure.key).collect()
    };
    assert_eq!(keys(2, &|_| true), ["wakeup_p99", "response_p99"]);
    let without_requests = keys(3, &|measure| measure.group != REQUESTS);
    assert_eq!(without_requests, ["lag_max", "wakeup_p99", "bursts_per_s"]);
    assert!(HEADLINES.iter().flat_map(|keys| keys.iter()).all(|key| find(key).is_some()));
}

#[test]
fn measures_of_a_group_stand_together() {
    let unlike: HashSet<&str> = groups().into_iter().collect();
    assert_eq!(unlike.len(), groups().len());
}

#[test]
fn every_measure_is_documented() {
    let text = include_str!("../../../../docs/measures.md");
    for measure in MEASURES {
        let row = format!("| `{}` |", measure.key);
        assert!(text.contains(&row), "docs/measures.md has no row {row}");
    }
}

#[test]
fn an_empty_run_has_counts_only() {
    let numbers = crate::Summary::new(2).finish(0);
    let requests = RequestsNumbers::default();
    let present = MEASURES.iter().filter_map(|m| {
        let value = m.of(Run { numbers: &numbers, requests: &requests, cpus: 2 })?;
        Some((m.key, value))
    });
    let expected = [
        ("wakeups", 0.0),
        ("wakeups_unanswered", 0.0),
        ("exits", 0.0),
        ("context_switches", 0.0),
        ("migrations", 0.0),
        ("decisions", 0.0),
    ];
    assert_eq!(present.collect::<Vec<_>>(), expected);
}
