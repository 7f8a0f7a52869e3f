// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schema of sweep files against the reader, in both directions.

use super::SWEEP;
use crate::Sweep;
use jsonschema::Validator;
use proptest::prelude::*;
use rota_schema_tests::{keys_of_closed, pointers};
use serde_json::{json, Value};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(SWEEP).expect("JSON");
    jsonschema::draft202012::new(&schema).expect("a schema")
});

/// A file with every key that there is.
fn everything() -> Value {
    json!({
        "workloads": ["a.json"],
        "policies": ["pbs", "old=old.bpf.o:q=2ms", "lavd=scx_lavd --us={us}"],
        "baseline": "eevdf",
        "seeds": [1, 5],
        "method": "halving",
        "samples": 16,
        "draw": 2,
        "resource": "duration",
        "first": "200ms",
        "keep": 2,
        "minimise": "response_p99",
        "maximise": ["jain"],
        "subject_to": ["jain >= 0.9"],
        "run": {
            "duration": "1s", "warmup": "100ms", "kernel": "7.2", "machine": "server", "cpus": 4,
            "topology": "smt=2", "hz": 250, "ideal": false, "no_autogroup": true,
            "program_cost": "2us", "program_timeout": "5s"
        },
        "set": {
            "lavd": { "us": 5 },
            "pbs": { "alpha": { "from": 0.1, "to": 10, "scale": "log" }, "beta": ["+inf", -3] }
        },
        "workload": { "tasks": { "ui": { "run": { "from": 1, "to": 9, "step": 4 }, "sleep": 5 } } },
        "machine": { "hz": { "from": 100, "to": 1000, "steps": 3 }, "ideal": [true, false] }
    })
}

fn read(sweep: &Value) -> Result<Sweep, String> {
    // What no TOML can be is no sweep either.
    let text = toml::to_string(sweep).map_err(|e| e.to_string())?;
    Sweep::parse(Path::new("sweep.toml"), &text).map_err(|e| e.to_string())
}

#[test]
fn the_page_s_example_and_one_with_everything_fit() {
    read(&everything()).expect("a sweep");
    assert!(VALIDATOR.is_valid(&everything()), "{:?}", VALIDATOR.validate(&everything()).err());
    let page = include_str!("../../../../docs/sweeps.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let example: Value = toml::from_str(example.expect("an example")).expect("TOML");
    read(&example).expect("a sweep");
    assert!(VALIDATOR.is_valid(&example), "{:?}", VALIDATOR.validate(&example).err());
}

#[test]
fn it_has_the_keys_of_the_reader_and_no_others() {
    let mut of_reader = BTreeSet::new();
    for at in ["", "/run", "/machine/hz"] {
        let mut changed = everything();
        let object = changed.pointer_mut(at).and_then(Value::as_object_mut).expect("an object");
        object.insert("strange_one".to_owned(), json!(1));
        assert!(!VALIDATOR.is_valid(&changed), "{at}");
        let error = read(&changed).expect_err("it is strange");
        let (_, known) = error.split_once("expected one of ").expect("a list of keys");
        of_reader.extend(known.trim().split(", ").map(str::to_owned));
    }
    assert_eq!(keys_of_closed(&serde_json::from_str(SWEEP).expect("JSON")), of_reader);
}

#[test]
fn usual_mistakes_do_not_fit() {
    for (from, to) in [
        ("\"seeds\"", "\"sedes\""),
        ("\"seeds\":[1,5]", "\"seeds\":0"),
        ("\"seeds\":[1,5]", "\"seeds\":[1,1]"),
        ("\"method\":\"halving\"", "\"method\":\"sobol\""),
        ("\"method\":\"halving\"", "\"method\":\"halv\""),
        ("\"samples\":16,", ""),
        ("\"resource\":\"duration\"", "\"resource\":\"time\""),
        ("\"resource\":\"duration\",", ""),
        ("\"first\":\"200ms\"", "\"first\":2"),
        ("\"duration\":\"1s\",", ""),
        ("\"duration\":\"1s\"", "\"duration\":1"),
        ("\"workloads\"", "\"workload_files\""),
        ("\"beta\":[\"+inf\",-3]", "\"beta\":[]"),
        ("\"steps\":3", "\"step\":3,\"steps\":3"),
        ("\"from\":0.1", "\"form\":0.1"),
        ("\"scale\":\"log\"", "\"scale\":\"logarithmic\""),
    ] {
        let text = everything().to_string().replacen(from, to, 1);
        let sweep: Value = serde_json::from_str(&text).expect("JSON");
        assert_ne!(sweep, everything(), "{from}");
        assert!(!VALIDATOR.is_valid(&sweep), "{to}");
        read(&sweep).expect_err(to);
    }
}

proptest! {
    #[test]
    fn what_it_refuses_the_reader_refuses(
        at in prop::sample::select(pointers(&everything())),
        value in prop::option::of(prop::sample::select(vec![
            json!(true), json!(-1), json!(0), json!(0.5), json!(5_000_000_000_u64), json!(""),
            json!("pbs"), json!("grid"), json!([]), json!(["pbs", "pbs"]), json!([1]), json!({}),
            json!({ "from": 1 }), json!({ "from": { "to": 1 } }), json!({ "a": { "b": [1] } }),
            json!({ "from": 1, "to": 2, "steps": 2 }), json!({ "from": 1, "a": [2] }),
        ])),
        key in prop::option::of("from|scale|[a-z]{1,8}"),
    ) {
        let mut sweep = everything();
        match (key, value) {
            (Some(key), value) => {
                if let Some(object) = sweep.pointer_mut(&at).and_then(Value::as_object_mut) {
                    object.insert(key, value.unwrap_or_else(|| json!("wfq")));
                }
            }
            (None, Some(value)) => *sweep.pointer_mut(&at).expect("a value") = value,
            (None, None) => {
                let (above, key) = at.rsplit_once('/').unwrap_or_default();
                if let Some(object) = sweep.pointer_mut(above).and_then(Value::as_object_mut) {
                    object.remove(key);
                }
            }
        }
        if !VALIDATOR.is_valid(&sweep) {
            prop_assert!(read(&sweep).is_err(), "{sweep}");
        }
    }
}
