// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that `rota schema` has a schema of.

mod files;

use crate::error::Error;
use serde_json::Value;

/// The draft that all schemas follow.
pub(crate) const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A schema by its name.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) name: &'static str,
    /// What fits it.
    pub(crate) about: &'static str,
    pub(crate) schema: fn() -> Result<Value, Error>,
}

/// All of them.
pub(crate) fn all() -> Vec<Schema> {
    files::all().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_is_a_schema_of_the_draft_under_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for Schema { name, about, schema } in all() {
            let schema = schema().expect("a schema");
            assert_eq!(schema["$schema"], DRAFT, "{name}");
            assert!(schema["title"].is_string() && !about.is_empty(), "{name}");
            assert!(jsonschema::draft202012::meta::is_valid(&schema), "{name}");
            jsonschema::draft202012::new(&schema).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(names.insert(name), "{name} is there twice");
        }
    }
}
