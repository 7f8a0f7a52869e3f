// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota schema`: JSON Schemas of the files that Rota reads and of what it prints.

use crate::complete;
use crate::error::{Error, Status};
use crate::nearest;
use crate::schemas::{self, Schema};
use clap::Args;
use std::io::Write;

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// What to print the schema of; without it, all names are listed
    #[arg(value_name = "NAME")]
    #[arg(add = complete::schemas())]
    name: Option<String>,
}

pub(crate) fn run(args: &SchemaArgs) -> Result<Status, Error> {
    let all = schemas::all()?;
    let mut out = crate::output::stdout();
    match &args.name {
        Some(name) => {
            let text = serde_json::to_string_pretty(&find(&all, name)?.schema);
            let text = text.map_err(|e| Error::Failure(e.to_string()))?;
            // As bytes, which nothing escapes again.
            out.write_all((text + "\n").as_bytes())?;
        }
        None => {
            let width = all.iter().map(|schema| schema.name.len() + 2).max().unwrap_or(0);
            for Schema { name, about, .. } in &all {
                writeln!(out, "{name:<width$}{about}")?;
            }
        }
    }
    Ok(Status::Done)
}

fn find<'a>(all: &'a [Schema], name: &str) -> Result<&'a Schema, Error> {
    all.iter().find(|schema| schema.name == name).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|schema| schema.name).collect();
        let hint = nearest::hint(name, &names);
        Error::input(format!("no schema {name:?}{hint}; expected one of {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest_one() {
        let all = schemas::all().expect("schemas");
        let error = find(&all, "worklaod").expect_err("a slip").to_string();
        assert!(error.contains("(did you mean workload?)"), "{error}");
    }
}
