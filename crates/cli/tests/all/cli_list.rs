// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota list`.

use crate::support::rota;
use serde_json::{json, Value};

#[test]
fn list_shows_every_policy_with_its_paper_and_tunables() {
    let text = rota(&["list"]).ok().stdout;
    for name in rota_catalog::policies().iter().map(|policy| policy.name) {
        assert!(text.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}: {text}");
    }
    assert!(text.contains("[VTRR §2.4]") && text.contains("quantum_ns=10000000"), "{text}");
    assert!(text.contains("walk|array"), "named values stand in the range: {text}");
}

#[test]
fn list_as_json_has_typed_tunables() {
    let list = rota(&["list", "--json"]).ok().json();
    assert_eq!(list["schema"], "rota.list/1");
    let policies = list["policies"].as_array().expect("policies");
    let wfq = policies.iter().find(|p| p["name"] == "wfq").expect("wfq");
    assert_eq!(wfq["paper"], "VTRR §2.4");
    let tunable = |name: &str| -> &Value {
        let all = wfq["tunables"].as_array().expect("tunables");
        all.iter().find(|t| t["name"] == name).expect("tunable")
    };
    let quantum = tunable("quantum_ns");
    assert_eq!(quantum["type"], "u64");
    assert_eq!(
        (&quantum["default"], &quantum["min"], &quantum["max"], &quantum["unit"]),
        (&json!(10_000_000), &json!(100_000), &json!(1_000_000_000), &json!("ns"))
    );
    let tie = tunable("tie");
    assert_eq!((&tie["default"], &tie["values"]), (&json!("id"), &json!(["id", "rr"])));
    assert_eq!(tunable("no_keep_vft")["default"], json!(false));
}

#[test]
fn help_tunables_needs_no_workload() {
    let text = rota(&["sim", "wfq", "--help-tunables"]).ok().stdout;
    let names: Vec<&str> = text.lines().filter_map(|l| l.split('=').next()).collect();
    assert_eq!(names, ["quantum_ns", "tie", "queue", "no_keep_vft"]);
}

#[test]
fn only_the_policies_that_are_named_are_listed() {
    let text = rota(&["list", "wfq", "rr"]).ok().stdout;
    let listed: Vec<&str> =
        text.lines().filter(|line| line.starts_with(char::is_alphabetic)).collect();
    assert!(listed[0].starts_with("rr ") && listed[1].starts_with("wfq "), "{text}");
    assert!(listed[2..].iter().all(|line| line.starts_with("Set a tunable")), "{text}");
}
