// SPDX-License-Identifier: MIT OR Apache-2.0
//! For tests that compare a JSON Schema with the reader of the same files: where values are, and
//! which keys a schema knows.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// JSON pointers to a value and all values in it, from the outside in.
pub fn pointers(value: &Value) -> Vec<String> {
    let mut all = Vec::new();
    collect(value, String::new(), &mut all);
    all
}

fn collect(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            collect(value, format!("{at}/{key}"), all);
        }),
        Value::Array(items) => (0..).zip(items).for_each(|(index, value): (usize, _)| {
            collect(value, format!("{at}/{index}"), all);
        }),
        _ => {}
    }
    all.push(at);
}

/// The keys of all objects that a schema describes.
pub fn keys(schema: &Value) -> BTreeSet<String> {
    keys_where(schema, &|_| true)
}

/// The keys of those objects that may have no others.
pub fn keys_of_closed(schema: &Value) -> BTreeSet<String> {
    keys_where(schema, &|object| object.get("additionalProperties") == Some(&Value::Bool(false)))
}

fn keys_where(schema: &Value, wanted: &dyn Fn(&Map<String, Value>) -> bool) -> BTreeSet<String> {
    match schema {
        Value::Object(object) => {
            let inside = object.values().flat_map(|value| keys_where(value, wanted));
            let own = object.get("properties").and_then(Value::as_object);
            let own =
                own.filter(|_| wanted(object)).into_iter().flat_map(|own| own.keys().cloned());
            inside.chain(own).collect()
        }
        Value::Array(items) => items.iter().flat_map(|value| keys_where(value, wanted)).collect(),
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pointers_lead_to_all_values() {
        let value = json!({ "a/b": [1, { "c~": null }] });
        let mut all = pointers(&value);
        assert!(all.iter().all(|at| value.pointer(at).is_some()), "{all:?}");
        all.sort();
        assert_eq!(all, ["", "/a~1b", "/a~1b/0", "/a~1b/1", "/a~1b/1/c~0"]);
    }

    #[test]
    fn keys_are_those_of_objects_anywhere_in_a_schema() {
        let schema = json!({
            "properties": { "a": { "anyOf": [
                { "properties": { "b": true }, "additionalProperties": false },
                { "type": "string" }
            ] } },
            "$defs": { "d": { "properties": { "c": {} } } }
        });
        let set = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        assert_eq!(keys(&schema), set(&["a", "b", "c"]));
        assert_eq!(keys_of_closed(&schema), set(&["b"]));
    }
}
