// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schemas of what commands print with `--json`. A test runs the commands, and holds what they print
//! against these: each key must be there, and no other.

use super::{complete, read, Object, Schema};
use crate::error::Error;
use serde_json::Value;

/// By the name that stands in the key `schema`, `rota.NAME/VERSION`.
const OUTPUTS: [(&str, &str); 30] = [
    ("bench.agree", include_str!("outputs/bench.agree.json")),
    ("bench.calibrated", include_str!("outputs/bench.calibrated.json")),
    ("bench.encoders", include_str!("outputs/bench.encoders.json")),
    ("bench.fairness", include_str!("outputs/bench.fairness.json")),
    ("bench.interactivity", include_str!("outputs/bench.interactivity.json")),
    ("bench.servers", include_str!("outputs/bench.servers.json")),
    ("bench.shares", include_str!("outputs/bench.shares.json")),
    ("bench.threads", include_str!("outputs/bench.threads.json")),
    ("bench.what-if", include_str!("outputs/bench.what-if.json")),
    ("boost", include_str!("outputs/boost.json")),
    ("calibrate", include_str!("outputs/calibrate.json")),
    ("check", include_str!("outputs/check.json")),
    ("compare", include_str!("outputs/compare.json")),
    ("condense", include_str!("outputs/condense.json")),
    ("diff", include_str!("outputs/diff.json")),
    ("fluid", include_str!("outputs/fluid.json")),
    ("get", include_str!("outputs/get.json")),
    ("import", include_str!("outputs/import.json")),
    ("list", include_str!("outputs/list.json")),
    ("list-third-party", include_str!("outputs/list-third-party.json")),
    ("record", include_str!("outputs/record.json")),
    ("reproduce", include_str!("outputs/reproduce.json")),
    ("reproduce-all", include_str!("outputs/reproduce-all.json")),
    ("set", include_str!("outputs/set.json")),
    ("sim", include_str!("outputs/sim.json")),
    ("sim-kernels", include_str!("outputs/sim-kernels.json")),
    ("stats", include_str!("outputs/stats.json")),
    ("sweep", include_str!("outputs/sweep.json")),
    ("test", include_str!("outputs/test.json")),
    ("tune", include_str!("outputs/tune.json")),
];

/// Definitions that several of them use.
const SHARED: [&str; 4] = [
    include_str!("outputs/numbers.json"),
    include_str!("outputs/distributions.json"),
    include_str!("outputs/runs.json"),
    include_str!("outputs/papers.json"),
];

pub(super) fn all() -> Result<Vec<Schema>, Error> {
    let mut shared = Object::new();
    for part in SHARED {
        shared.extend(read(part)?);
    }
    OUTPUTS.iter().map(|(name, text)| output(name, text, &shared)).collect()
}

fn output(name: &'static str, text: &str, shared: &Object) -> Result<Schema, Error> {
    let mut schema = read(text)?;
    let about = schema.get("description").and_then(Value::as_str).unwrap_or(name).to_owned();
    let mut definitions = match schema.remove("$defs") {
        Some(Value::Object(own)) => own,
        _ => Object::new(),
    };
    let mut missing = Vec::new();
    references(&schema, &mut missing);
    definitions.values().for_each(|value| of_value(value, &mut missing));
    while let Some(name) = missing.pop() {
        if let (false, Some(found)) = (definitions.contains_key(&name), shared.get(&name)) {
            of_value(found, &mut missing);
            definitions.insert(name, found.clone());
        }
    }
    Ok(Schema { name, about, schema: complete(schema, definitions) })
}

/// Names of the definitions that a schema refers to.
fn references(schema: &Object, found: &mut Vec<String>) {
    for (key, value) in schema {
        match (key.as_str(), value.as_str()) {
            ("$ref", Some(name)) => found.extend(name.strip_prefix("#/$defs/").map(str::to_owned)),
            _ => of_value(value, found),
        }
    }
}

fn of_value(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => references(members, found),
        Value::Array(items) => items.iter().for_each(|item| of_value(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    #[test]
    fn each_is_of_the_object_that_its_name_says() {
        for Schema { name, schema, .. } in all().expect("schemas") {
            let id = schema["properties"]["schema"]["const"].as_str().expect("a text");
            let (found, version) = id.split_once('/').expect("a version");
            assert_eq!(found, format!("rota.{name}"));
            assert!(version.parse::<u32>().is_ok(), "{id}");
            assert_eq!(schema["title"], id);
        }
    }

    /// Names of the commands with `--json`; those below another one with a dot between.
    fn with_json(command: &clap::Command, above: &str, found: &mut Vec<String>) {
        for below in command.get_subcommands() {
            let name = format!("{above}{}", below.get_name());
            with_json(below, &format!("{name}."), found);
            if below.get_arguments().any(|argument| argument.get_id() == "json") {
                found.push(name);
            }
        }
    }

    #[test]
    fn each_command_with_json_has_one() {
        let names: BTreeSet<&str> = OUTPUTS.iter().map(|(name, _)| *name).collect();
        let mut commands = Vec::new();
        with_json(&Cli::command(), "", &mut commands);
        assert!(commands.len() > 20, "{commands:?}");
        for command in &commands {
            let name = match command.as_str() {
                // Its JSON are the statistics of a policy that runs already.
                "run" => "stats",
                // By the policy that is solved.
                "fluid.pbs" => "fluid",
                name => name,
            };
            assert!(names.contains(name), "{name}");
        }
    }

    /// So that a key which a schema does not have is a difference.
    #[test]
    fn objects_with_known_keys_have_no_others() {
        fn closed(schema: &Value, at: &str) {
            if let Some(object) = schema.as_object() {
                let is_open = object.contains_key("properties")
                    && object.get("additionalProperties") != Some(&Value::Bool(false));
                assert!(!is_open, "{at}");
                object.iter().for_each(|(key, value)| closed(value, &format!("{at}/{key}")));
            }
            if let Some(items) = schema.as_array() {
                items.iter().for_each(|item| closed(item, at));
            }
        }
        for Schema { name, schema, .. } in all().expect("schemas") {
            closed(&schema, name);
        }
    }
}
