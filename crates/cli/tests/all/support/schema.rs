// SPDX-License-Identifier: MIT OR Apache-2.0
//! Holds what a command printed against its schema.

use super::rota;
use serde_json::{json, Value};

/// What `rota schema NAME` prints, as something that judges.
pub fn validator(name: &str) -> jsonschema::Validator {
    let schema: Value =
        serde_json::from_str(&rota(&["schema", name]).ok().stdout).expect("a schema is JSON");
    jsonschema::draft202012::new(&schema).expect("a schema")
}

/// The object must fit the schema that its own key `schema` names; and with a key more, wherever
/// the schema has all keys of an object, it must not.
#[track_caller]
pub fn fits(printed: &Value) {
    let id = printed["schema"].as_str().expect("a schema is named");
    let name = id.trim_start_matches("rota.").split('/').next().expect("a name");
    let validator = validator(name);
    let errors: Vec<String> = validator
        .iter_errors(printed)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{id}: {errors:#?}");
    let mut more = printed.clone();
    more["strange"] = json!(1);
    assert!(!validator.is_valid(&more), "{id} takes any key");
}

/// The object with a key more at this place.
pub fn with_a_key_more(printed: &Value, at: &str) -> Value {
    let mut more = printed.clone();
    let object = more.pointer_mut(at).and_then(Value::as_object_mut).expect("an object");
    object.insert("strange".into(), json!(1));
    more
}
