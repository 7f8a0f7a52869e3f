// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota schema`.

use crate::support::{root, rota};
use serde_json::{json, Value};

fn schema(name: &str) -> Value {
    serde_json::from_str(&rota(&["schema", name]).ok().stdout).expect("a schema is JSON")
}

#[test]
fn schemas_are_listed_with_what_they_describe() {
    let text = rota(&["schema"]).ok().stdout;
    for line in ["workload  ", "machine  ", "suite  ", "sweep-file  "] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line}: {text}");
    }
}

#[test]
fn a_name_that_is_none_is_refused_with_the_nearest() {
    rota(&["schema", "worklod"]).refused(&["\"worklod\"", "did you mean workload?", "machine"]);
}

#[test]
fn keys_have_descriptions_with_units() {
    let workload = schema("workload");
    let description = |at: &str| workload.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let run = description("/$defs/run/description");
    assert!(run.contains("microseconds"), "{run}");
    let duration = description("/$defs/global/properties/duration/description");
    assert!(duration.contains("seconds"), "{duration}");
}

#[test]
fn a_machine_in_a_workload_has_the_keys_of_a_file() {
    let workload = jsonschema::draft202012::new(&schema("workload")).expect("a schema");
    let with = |machine: Value| json!({ "tasks": { "a": { "run": 1 } }, "machine": machine });
    assert!(workload.is_valid(&with(json!("server"))));
    assert!(workload.is_valid(&with(json!({ "topology": { "cpus": 2 } }))));
    assert!(!workload.is_valid(&with(json!({ "topology": { "cpu": 2 } }))));
    let machine = jsonschema::draft202012::new(&schema("machine")).expect("a schema");
    assert!(machine.is_valid(&json!({ "schema": 1, "topology": { "cpus": 2 } })));
    assert!(!machine.is_valid(&json!({ "topology": { "cpus": 2 } })));
}

#[test]
fn suites_of_the_repository_fit() {
    let suite = jsonschema::draft202012::new(&schema("suite")).expect("a schema");
    let text = std::fs::read_to_string(root().join("tests/suites/shares.toml")).expect("a suite");
    let shares: Value = toml::from_str(&text).expect("TOML");
    assert!(suite.is_valid(&shares));
}
