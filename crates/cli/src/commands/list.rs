// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota list`: the shipped policies as their own BTF describes them.

use crate::complete;
use crate::error::{Error, Status};
use crate::object::link_shipped;
use crate::output::{json, tunables};
use clap::Args;
use rota_machine::kernel::Kernel;
use rota_manifest::Manifest;
use std::io::Write;
use std::sync::Arc;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only these policies
    #[arg(value_name = "POLICY")]
    #[arg(add = complete::shipped_policies())]
    names: Vec<String>,

    /// List schedulers of other projects with known loaders: their objects need no --manifest
    #[arg(long, conflicts_with = "names")]
    third_party: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &ListArgs) -> Result<Status, Error> {
    if args.third_party {
        return third_party(args.json);
    }
    let kernel = Kernel::default();
    let mut listed = Vec::new();
    for name in &args.names {
        rota_catalog::find(name)?;
    }
    let named = |name: &str| args.names.is_empty() || args.names.iter().any(|n| n == name);
    for policy in rota_catalog::policies().iter().filter(|policy| named(policy.name)) {
        listed.push((policy.name, Arc::clone(link_shipped(policy, &kernel)?.image())));
    }
    let mut out = crate::output::stdout();
    if args.json {
        let policies = listed.iter().map(|(name, image)| json::Listed::new(name, image));
        json::print(&mut out, &json::List::new(policies.collect()))?;
        return Ok(Status::Done);
    }
    for (name, image) in &listed {
        let about = tunables::about(image);
        let paper = about.paper.map_or(String::new(), |paper| format!(" [{paper}]"));
        writeln!(out, "{name:<8}{}{paper}", about.help.unwrap_or_default())?;
        let heeded = rota_sim::heeded(image).unwrap_or_default();
        let heeded: Vec<&str> = heeded.iter().map(|feature| feature.name()).collect();
        writeln!(
            out,
            "        heeds: {}",
            if heeded.is_empty() { "-".into() } else { heeded.join(", ") }
        )?;
        if let Some(class) = rota_sim::stands_for(image) {
            writeln!(out, "        stands for: {class}")?;
        }
        for line in tunables::table(&image.tunables()) {
            writeln!(out, "        {line}")?;
        }
    }
    writeln!(out, "\nSet a tunable with `rota sim POLICY WORKLOAD.json --set NAME=VALUE`.")?;
    Ok(Status::Done)
}

/// The schedulers for which manifests ship, and what these are for.
fn third_party(as_json: bool) -> Result<Status, Error> {
    let mut known = Vec::new();
    for (file, text) in rota_catalog::manifests() {
        if let Some(of) = Manifest::parse(file, text)?.matches() {
            known.push((file.trim_end_matches(".toml"), of.clone()));
        }
    }
    let mut out = crate::output::stdout();
    if as_json {
        let list = known.iter().map(|(name, of)| json::ThirdParty::new(name, of));
        json::print(&mut out, &json::ThirdParties::new(list.collect()))?;
        return Ok(Status::Done);
    }
    let width = known.iter().map(|(name, _)| name.len() + 1).max().unwrap_or(0);
    for (name, of) in &known {
        writeln!(out, "{name:<width$}{} [{}]", of.about, of.from)?;
        if let Some(lacks) = &of.lacks {
            writeln!(out, "{:width$}without its program: {lacks}", "")?;
        }
    }
    writeln!(out, "\nAn object of these needs no flag: `rota sim FILE.bpf.o WORKLOAD.json`.")?;
    writeln!(out, "If its program is the scheduler, it is refused, with the reason.")?;
    Ok(Status::Done)
}
