// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that `rota schema` has a schema of.

pub(crate) mod files;
mod outputs;

use crate::error::Error;
use serde_json::{Map, Value};

/// The draft that all schemas follow.
pub(crate) const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

type Object = Map<String, Value>;

/// A schema by its name.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) name: &'static str,
    /// What fits it.
    pub(crate) about: String,
    pub(crate) schema: Value,
}

/// All of them: of files, then of what is printed.
pub(crate) fn all() -> Result<Vec<Schema>, Error> {
    let mut all = Vec::from(files::all()?);
    all.extend(outputs::all()?);
    Ok(all)
}

/// A schema with the definitions that it refers to, and with its draft as the first key.
fn complete(schema: Object, definitions: Object) -> Value {
    let mut whole = Object::from_iter([("$schema".to_owned(), DRAFT.into())]);
    whole.extend(schema);
    if !definitions.is_empty() {
        whole.insert("$defs".to_owned(), definitions.into());
    }
    whole.into()
}

fn read(text: &str) -> Result<Object, Error> {
    serde_json::from_str(text).map_err(|e| Error::Failure(format!("a schema: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// What the references in a schema name.
    fn references(schema: &Value, found: &mut BTreeSet<String>) {
        match schema {
            Value::Object(members) => {
                let own = members.get("$ref").and_then(Value::as_str);
                found.extend(own.map(|name| name.replace("#/$defs/", "")));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn each_is_a_schema_of_the_draft_under_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for Schema { name, about, schema } in all().expect("schemas") {
            assert_eq!(schema["$schema"], DRAFT, "{name}");
            assert!(schema["title"].is_string() && !about.is_empty(), "{name}");
            assert!(jsonschema::draft202012::meta::is_valid(&schema), "{name}");
            jsonschema::draft202012::new(&schema).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(names.insert(name), "{name} is there twice");
        }
    }

    #[test]
    fn each_has_the_definitions_that_it_names_and_no_others() {
        for Schema { name, schema, .. } in all().expect("schemas") {
            let mut named = BTreeSet::new();
            references(&schema, &mut named);
            let defined = schema.get("$defs").and_then(Value::as_object);
            let defined = defined.map(|all| all.keys().cloned().collect()).unwrap_or_default();
            assert_eq!(named, defined, "{name}");
        }
    }
}
