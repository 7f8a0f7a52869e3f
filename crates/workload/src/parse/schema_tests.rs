// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schema of workload files against the parser, in both directions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use rota_schema_tests::pointers;
use serde_json::{json, Map, Number, Value};

use super::{keys, parse, parse_with};
use crate::json::{self, Node};
use crate::schema::{DEFINITIONS, FILE};

const EVERYTHING: &str = include_str!("schema_tests/everything.json");

/// A key that nothing has, far from all that something has.
const STRANGE: &str = "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~";

fn schema() -> Value {
    let mut schema: Value = serde_json::from_str(FILE).expect("JSON");
    let mut all = Map::from_iter([("machine".to_owned(), json!({ "type": "object" }))]);
    for definitions in DEFINITIONS {
        let definitions: Map<String, Value> = serde_json::from_str(definitions).expect("JSON");
        for (name, definition) in definitions {
            assert!(all.insert(name.clone(), definition).is_none(), "{name} is defined twice");
        }
    }
    schema["$defs"] = all.into();
    schema
}

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(&schema()).expect("a schema"));

/// As JSON whose objects have each key once: repeated events get another name of the same kind.
fn plain(node: &Node) -> Value {
    match &node.value {
        json::Value::Missing => json!(""),
        json::Value::Null => Value::Null,
        json::Value::Bool(value) => json!(value),
        json::Value::Int(value) => json!(value),
        json::Value::Float(value) => Number::from_f64(*value).expect("finite").into(),
        json::Value::String(text) => json!(text),
        json::Value::Array(items) => items.iter().map(plain).collect(),
        json::Value::Object(members) => {
            let mut object = Map::new();
            for member in members {
                let mut key = member.key.clone();
                while object.contains_key(&key) {
                    key.push('~');
                }
                object.insert(key, plain(&member.node));
            }
            object.into()
        }
    }
}

fn value(text: &str) -> Value {
    plain(&json::parse(text).expect("JSON"))
}

fn everything() -> Value {
    value(EVERYTHING)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn files(name: &str, ending: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder(name)).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let paths = paths.filter(|path| path.extension().is_some_and(|found| found == ending));
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read_to_string(&path));
    paths.map(read).map(|(name, text)| (name, text.expect("text"))).collect()
}

/// The blocks of code of a page that are whole workloads.
fn examples(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("```json").skip(1).filter_map(|rest| rest.split("```").next());
    let blocks = blocks.filter_map(|block| block.split_once('\n').map(|(_, body)| body));
    blocks.filter(|body| parse("example", body).is_ok())
}

fn fits(name: &str, text: &str) {
    let errors: Vec<String> = VALIDATOR
        .iter_errors(&value(text))
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:?}");
}

#[test]
fn it_is_a_schema_of_draft_2020_12() {
    assert!(jsonschema::draft202012::meta::is_valid(&schema()));
}

#[test]
fn every_workload_that_ships_fits() {
    let shipped = files("workloads", "json");
    assert!(shipped.len() > 20, "{}", shipped.len());
    for (name, text) in shipped {
        parse_with(&name, &text, &|_| Ok(String::new())).unwrap_or_else(|e| panic!("{e}"));
        fits(&name, &text);
    }
}

#[test]
fn every_example_of_the_pages_fits() {
    let mut found = 0;
    for (name, page) in files("docs", "md") {
        for example in examples(&page) {
            fits(&name, example);
            found += 1;
        }
    }
    assert!(found >= 8, "{found}");
}

#[test]
fn a_file_with_everything_is_read_and_fits() {
    parse("everything.json", EVERYTHING).unwrap_or_else(|e| panic!("{e}"));
    fits("everything.json", EVERYTHING);
}

/// Keys that the parser lists when it meets a strange one, all over a file with everything.
fn keys_of_the_parser() -> BTreeSet<String> {
    let mut found: BTreeSet<String> = keys::all(false).map(str::to_owned).collect();
    for at in pointers(&everything()) {
        let mut changed = everything();
        let Some(object) = changed.pointer_mut(&at).and_then(Value::as_object_mut) else {
            continue;
        };
        object.insert(STRANGE.to_owned(), Value::Null);
        let Err(error) = parse("everything.json", &changed.to_string()) else { continue };
        if let Some((_, known)) = error.message.split_once("; known: ") {
            // A list of tasks' keys is cut off; they are all here already.
            found.extend(known.split(", ").map(str::to_owned));
        }
    }
    found
}

#[test]
fn it_has_the_keys_of_the_parser_and_no_others() {
    let mut of_parser = keys_of_the_parser();
    // It is known only to be refused with a reason.
    assert!(of_parser.remove("max_frequency"));
    // Passed over with a warning, and no message offers them.
    of_parser.extend(["logsize".to_owned(), "logstats".to_owned()]);
    assert_eq!(rota_schema_tests::keys(&schema()), of_parser);
}

/// Words of the patterns of events that match a key.
fn patterns(key: &str) -> Vec<String> {
    let schema = schema();
    let all = schema["$defs"]["steps"]["patternProperties"].as_object().expect("an object");
    let matches = |pattern: &str| {
        let refuses = json!({ "patternProperties": { pattern: false } });
        !jsonschema::is_valid(&refuses, &json!({ key: 0 }))
    };
    let word = |found: &Value| found["$ref"].as_str().expect("text").replace("#/$defs/", "");
    all.iter().filter(|(pattern, _)| matches(pattern)).map(|(_, found)| word(found)).collect()
}

#[test]
fn what_only_a_task_has_is_no_key_of_phases() {
    for key in keys::TASK_ONLY {
        let file = json!({ "tasks": { "a": { "phases": { "p": { "run": 1, key: 1 } } } } });
        assert!(!VALIDATOR.is_valid(&file), "{key}");
    }
}

#[test]
fn usual_mistakes_do_not_fit() {
    for task in [
        json!({ "run": 1, "rnu": 1 }),
        json!({ "run": "1ms" }),
        json!({ "run": 1.5 }),
        json!({ "run": -1 }),
        json!({ "run": 1, "weight": 0 }),
        json!({ "run": 1, "policy": "SCHED_NORMAL" }),
        json!({ "run": 1, "cpus": [] }),
        json!({ "run": 1, "cpus": "0-3" }),
        json!({ "run": 1, "taskgroup": { "cpu.weight": 5 } }),
        json!({ "run": { "dist": "exp", "mean": 0 } }),
        json!({ "run": { "dist": "gauss", "mean": 5 } }),
        json!({ "timer": { "period": 5, "mode": "late" } }),
        json!({ "memrun": { "type": "read", "size": 5, "count": 5, "stride": 64 } }),
        json!({ "flow": { "run": 5 } }),
        json!({ "phases": {} }),
        json!({ "run": 1, "parent": "x" }),
    ] {
        let file = json!({ "tasks": { "a": task } });
        assert!(!VALIDATOR.is_valid(&file), "{task}");
        assert!(parse("mistake.json", &file.to_string()).is_err(), "{task}");
    }
}

/// Values of all types, near limits, and with what objects of the grammar have.
fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec![
            json!(null),
            json!(true),
            json!(false),
            json!(-1),
            json!(0),
            json!(1),
            json!(0.5),
            json!(1e18),
            json!(""),
            json!("x"),
            json!("/a"),
            json!("1.5s"),
            json!("max 100000"),
            json!("SCHED_FIFO"),
            json!("1.0"),
            json!("load"),
            json!("chase"),
            json!([]),
            json!([0]),
            json!([1, 2]),
            json!({}),
            json!({ "dist": "exp", "mean": 5 }),
            json!({ "dist": "uniform", "max": 0 }),
            json!({ "request": 1 }),
            json!({ "path": "/a" }),
            json!({ "kind": "unix" }),
            json!({ "to": "http" }),
        ]),
        any::<i64>().prop_map(Value::from),
        (-2000i64..100_000).prop_map(Value::from),
    ]
}

/// A key that something in the schema has, or nothing.
fn any_key() -> impl Strategy<Value = String> {
    let keys = rota_schema_tests::keys(&schema());
    prop_oneof![
        4 => prop::sample::select(keys.into_iter().collect::<Vec<_>>()),
        1 => "[a-z_]{1,9}",
        1 => "(run|mem|sem_|sleep|lock|timer)[a-z0-9_]{0,6}",
    ]
}

/// What is done to a file.
#[derive(Clone, Debug)]
enum Change {
    Set(Value),
    Remove,
    Rename(String),
    Add(String, Value),
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => any_value().prop_map(Change::Set),
        1 => Just(Change::Remove),
        1 => any_key().prop_map(Change::Rename),
        3 => (any_key(), any_value()).prop_map(|(key, value)| Change::Add(key, value)),
    ]
}

fn apply(file: &mut Value, at: &str, change: Change) {
    if let Change::Add(key, value) = change {
        if let Some(object) = file.pointer_mut(at).and_then(Value::as_object_mut) {
            object.insert(key, value);
        }
        return;
    }
    let Some((above, key)) = at.rsplit_once('/') else { return };
    let key = key.replace("~1", "/").replace("~0", "~");
    match file.pointer_mut(above) {
        Some(Value::Object(members)) => match change {
            Change::Set(value) => {
                members.insert(key, value);
            }
            Change::Rename(name) => {
                if let Some(value) = members.remove(&key) {
                    members.insert(name, value);
                }
            }
            _ => {
                members.remove(&key);
            }
        },
        Some(Value::Array(items)) => {
            let index: usize = key.parse().expect("an index");
            match change {
                Change::Set(value) => items[index] = value,
                _ => {
                    items.remove(index);
                }
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_it_refuses_the_parser_refuses(at: prop::sample::Index, change in any_change()) {
        let mut file = everything();
        let all = pointers(&file);
        let at: &String = at.get(&all);
        apply(&mut file, at, change);
        if !VALIDATOR.is_valid(&file) {
            prop_assert!(parse("changed.json", &file.to_string()).is_err(), "{file}");
        }
    }

    #[test]
    fn an_event_has_the_pattern_of_its_word(
        key in "(run|runtime|mem|memrun|sem_|sync|signal|suspend|resume|recv|reply|w|b)[a-z0-9_]{0,5}",
    ) {
        let word = keys::event_word(&key).map(str::to_owned);
        prop_assert_eq!(patterns(&key), Vec::from_iter(word));
    }
}
