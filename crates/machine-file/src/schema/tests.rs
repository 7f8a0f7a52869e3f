// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schema of machine files against the reader, in both directions.

use super::{DEFINITIONS, MACHINE};
use crate::{parse, parse_json, preset, PRESETS};
use jsonschema::Validator;
use proptest::prelude::*;
use rota_schema_tests::{keys, pointers};
use serde_json::{json, Value};
use std::collections::BTreeSet;
use std::sync::LazyLock;

const EVERYTHING: &str = include_str!("everything.toml");

fn schema() -> Value {
    let mut schema: Value = serde_json::from_str(MACHINE).expect("JSON");
    schema["$defs"] = serde_json::from_str(DEFINITIONS).expect("JSON");
    schema
}

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(&schema()).expect("a schema"));

fn everything() -> Value {
    toml::from_str(EVERYTHING).expect("TOML")
}

fn fits(name: &str, toml: &str) {
    let file: Value = toml::from_str(toml).expect("TOML");
    let errors: Vec<String> = VALIDATOR
        .iter_errors(&file)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:?}");
}

#[test]
fn it_is_a_schema_of_draft_2020_12() {
    assert!(jsonschema::draft202012::meta::is_valid(&schema()));
}

#[test]
fn presets_fit_as_they_ship_and_as_they_are_written() {
    for name in PRESETS {
        let path = format!("{}/src/presets/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        fits(name, &std::fs::read_to_string(path).expect("a preset"));
        fits(name, &preset(name).expect("a preset").to_toml());
    }
}

#[test]
fn a_machine_with_everything_is_read_and_fits() {
    parse("everything.toml", EVERYTHING).expect("a machine");
    fits("everything.toml", EVERYTHING);
}

/// Keys that the reader lists when it meets a strange one, all over a file with everything.
fn keys_of_the_reader() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for at in pointers(&everything()) {
        let mut changed = everything();
        let value = changed.pointer_mut(&at).expect("a value");
        let Some(object) = value.as_object_mut() else { continue };
        object.insert("strange_one".to_owned(), json!(1));
        let error = parse_json("machine", 1, &changed.to_string()).expect_err("it is strange").what;
        let (_, known) = error.split_once(", expected ").expect("a list of keys");
        let known = known.split(" (did you mean").next().expect("a part");
        let known = known.trim_start_matches("one of ").replace(" or ", ", ");
        found.extend(known.split(", ").map(str::to_owned));
    }
    found
}

#[test]
fn it_has_the_keys_of_the_reader_and_no_others() {
    assert_eq!(keys(&schema()), keys_of_the_reader());
}

#[test]
fn usual_mistakes_do_not_fit() {
    for machine in [
        json!({}),
        json!({ "topology": { "cpu": 4 } }),
        json!({ "topology": { "cpus": 0 } }),
        json!({ "topology": { "cpus": "4" } }),
        json!({ "topology": { "cpus": 4, "llc": "0-3" } }),
        json!({ "topology": { "cpus": 4 }, "kernel": { "preempt": "rt" } }),
        json!({ "topology": { "cpus": 4 }, "cost_ns": { "switch": -5 } }),
        json!({ "topology": { "cpus": 4 }, "cost_ns": { "ipi": { "send": 5 } } }),
        json!({ "topology": { "cpus": 4 }, "core_type": [{ "speed": 2000 }] }),
        json!({ "topology": { "cpus": 4 }, "core_type": [{ "mhz": { "base": 2000 } }] }),
        json!({ "schema": 2, "topology": { "cpus": 4 } }),
    ] {
        assert!(!VALIDATOR.is_valid(&machine), "{machine}");
        assert!(parse_json("machine", 1, &machine.to_string()).is_err(), "{machine}");
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec![
            json!(true),
            json!(-1),
            json!(0),
            json!(1),
            json!(0.5),
            json!(1e18),
            json!(""),
            json!("0-3"),
            json!("performance"),
            json!("none"),
            json!([]),
            json!([1]),
            json!(["0-3", "4-7"]),
            json!([[1, 1]]),
            json!({}),
            json!({ "max": 100 }),
        ]),
        any::<i64>().prop_map(Value::from),
        (0..10_000i64).prop_map(Value::from),
    ]
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::sample::select(Vec::from_iter(keys(&schema()))), 1 => "[a-z_]{1,9}"]
}

/// A machine of which one value is another one, or missing, or has a key more.
fn changed(at: &str, key: Option<String>, value: Option<Value>) -> Value {
    let mut machine = everything();
    match (key, value) {
        (Some(key), value) => {
            if let Some(object) = machine.pointer_mut(at).and_then(Value::as_object_mut) {
                object.insert(key, value.unwrap_or_else(|| json!(1)));
            }
        }
        (None, Some(value)) => *machine.pointer_mut(at).expect("a value") = value,
        (None, None) => {
            let (above, key) = at.rsplit_once('/').unwrap_or_default();
            if let Some(object) = machine.pointer_mut(above).and_then(Value::as_object_mut) {
                object.remove(key);
            }
        }
    }
    machine
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_it_refuses_the_reader_refuses(
        at in prop::sample::select(pointers(&everything())),
        key in prop::option::of(any_key()),
        value in prop::option::of(any_value()),
    ) {
        let machine = changed(&at, key, value);
        if !VALIDATOR.is_valid(&machine) {
            let read = parse_json("machine", 1, &machine.to_string());
            prop_assert!(read.is_err(), "{machine}");
        }
    }
}
