// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schema of suites against the reader, in both directions.

use crate::schema::SUITE;
use crate::Suite;
use jsonschema::Validator;
use proptest::prelude::*;
use rota_schema_tests::{keys, pointers};
use serde_json::{json, Value};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(SUITE).expect("JSON");
    jsonschema::draft202012::new(&schema).expect("a schema")
});

/// A suite with every key that there is.
fn everything() -> Value {
    let run = json!({
        "seeds": 2, "seed": 1, "duration": "2s", "warmup": "1s", "cpus": [1], "topology": "smt=1",
        "hz": 250, "kernel": "6.12", "ideal": true
    });
    let machines = json!({ "machines": ["server"] });
    json!({
        "run": run,
        "policies": { "old": "wrr", "new": "vtrr" },
        "test": [
            { "name": "a", "workloads": ["a.json"], "policies": ["new", "wfq"],
              "expect": ["exit == ok", "p99_wakeup no worse than old by 5 %"], "run": machines },
            { "name": "b", "workloads": ["a.json", "b.json"], "expect": ["exit == ok"] }
        ]
    })
}

fn read(suite: &Value) -> Result<Suite, String> {
    // What no TOML can be is no suite either.
    let text = toml::to_string(suite).map_err(|e| e.to_string())?;
    Suite::parse(Path::new("suite.toml"), &text).map_err(|e| e.to_string())
}

#[test]
fn suites_that_ship_and_one_with_everything_fit() {
    read(&everything()).expect("a suite");
    assert!(VALIDATOR.is_valid(&everything()));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/suites");
    let mut found = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("text");
        let suite: Value = toml::from_str(&text).expect("TOML");
        let error = VALIDATOR.validate(&suite).err();
        assert!(error.is_none(), "{}: {error:?}", path.display());
        found += 1;
    }
    assert!(found > 0);
}

#[test]
fn it_has_the_keys_of_the_reader_and_no_others() {
    let mut of_reader = BTreeSet::new();
    for at in ["", "/run", "/test/0"] {
        let mut changed = everything();
        let object = changed.pointer_mut(at).and_then(Value::as_object_mut).expect("an object");
        object.insert("strange_one".to_owned(), json!(1));
        let error = read(&changed).expect_err("it is strange");
        let (_, known) = error.split_once("expected one of ").expect("a list of keys");
        of_reader.extend(known.split(", ").map(str::to_owned));
    }
    assert_eq!(keys(&serde_json::from_str(SUITE).expect("JSON")), of_reader);
}

#[test]
fn usual_mistakes_do_not_fit() {
    for (from, to) in [
        ("\"seeds\"", "\"sedes\""),
        ("\"seeds\":2", "\"seeds\":\"2\""),
        ("\"duration\":\"2s\"", "\"duration\":2"),
        ("\"workloads\"", "\"workload\""),
        ("[\"exit == ok\"]", "[]"),
        ("[\"new\",\"wfq\"]", "[\"new\",\"new\"]"),
        ("{\"machines\":", "{\"cpus\":[1],\"machines\":"),
    ] {
        let text = everything().to_string().replacen(from, to, 1);
        let suite: Value = serde_json::from_str(&text).expect("JSON");
        assert_ne!(suite, everything(), "{from}");
        assert!(!VALIDATOR.is_valid(&suite), "{to}");
        read(&suite).expect_err(to);
    }
}

proptest! {
    #[test]
    fn what_it_refuses_the_reader_refuses(
        at in prop::sample::select(pointers(&everything())),
        value in prop::option::of(prop::sample::select(vec![
            json!(true), json!(-1), json!(0), json!(0.5), json!(5_000_000_000_u64), json!(""),
            json!("wfq"), json!([]), json!(["wfq", "wfq"]), json!([1]), json!({}),
            json!({ "cpus": [1] }), json!({ "cpus": [1], "machines": ["server"] }),
        ])),
        key in prop::option::of("[a-z]{1,8}"),
    ) {
        let mut suite = everything();
        match (key, value) {
            (Some(key), value) => {
                if let Some(object) = suite.pointer_mut(&at).and_then(Value::as_object_mut) {
                    object.insert(key, value.unwrap_or_else(|| json!("wfq")));
                }
            }
            (None, Some(value)) => *suite.pointer_mut(&at).expect("a value") = value,
            (None, None) => {
                let (above, key) = at.rsplit_once('/').unwrap_or_default();
                if let Some(object) = suite.pointer_mut(above).and_then(Value::as_object_mut) {
                    object.remove(key);
                }
            }
        }
        if !VALIDATOR.is_valid(&suite) {
            prop_assert!(read(&suite).is_err(), "{suite}");
        }
    }
}
