// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schemas of files that users write.

use super::{complete, read, Object, Schema};
use crate::error::Error;
use rota_gate::schema as of_suite;
use rota_machine_file::schema as of_machine;
use rota_sweep::schema as of_sweep;
use rota_workload::schema as of_workload;
use serde_json::Value;

pub(super) fn all() -> Result<[Schema; 4], Error> {
    let file = |name, about: &str, schema| Schema { name, about: about.to_owned(), schema };
    Ok([
        file("workload", "workload files (JSON): what the tasks of a run do", workload()?),
        file("machine", "machine files (TOML): CPUs, what they share, what work costs", machine()?),
        file("suite", "suites of rota test (TOML): what is expected of policies", suite()?),
        file("sweep-file", "files of rota sweep (TOML): values to run over", sweep()?),
    ])
}

fn workload() -> Result<Value, Error> {
    let mut definitions = read(of_machine::DEFINITIONS)?;
    // An object with the keys of a machine file, which has the newest format.
    definitions.insert("machine".to_owned(), read(of_machine::MACHINE)?.into());
    for part in of_workload::DEFINITIONS {
        for (name, definition) in read(part)? {
            if definitions.contains_key(&name) {
                return Err(Error::Failure(format!("two definitions of {name} in a schema")));
            }
            definitions.insert(name, definition);
        }
    }
    Ok(complete(read(of_workload::FILE)?, definitions))
}

fn machine() -> Result<Value, Error> {
    let mut machine = read(of_machine::MACHINE)?;
    if let Some(Value::Array(required)) = machine.get_mut("required") {
        required.insert(0, "schema".into());
    }
    Ok(complete(machine, read(of_machine::DEFINITIONS)?))
}

fn suite() -> Result<Value, Error> {
    with_definitions(of_suite::SUITE)
}

fn sweep() -> Result<Value, Error> {
    with_definitions(of_sweep::SWEEP)
}

/// A schema that has its definitions in it.
fn with_definitions(text: &str) -> Result<Value, Error> {
    let mut schema = read(text)?;
    let definitions = match schema.remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Object::new(),
    };
    Ok(complete(schema, definitions))
}
