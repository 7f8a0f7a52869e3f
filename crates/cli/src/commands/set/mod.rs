// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota set`: changes a running policy through its control socket.

mod args;
mod switch;

pub(crate) use args::SetArgs;
pub(crate) use switch::{switch, wanted};

use crate::error::{Error, Status};
use crate::output::{json, table};
use rota_kernel::control::{Changed, Changes, Client, Description, Share};
use serde::Serialize;
use std::io::Write;

#[derive(Debug, Serialize)]
struct SetJson {
    schema: &'static str,
    tunables: Vec<TunableJson>,
    shares: Vec<Share>,
}

#[derive(Debug, Serialize)]
struct TunableJson {
    name: String,
    before: String,
    value: String,
}

#[derive(Debug, Serialize)]
struct GetJson {
    schema: &'static str,
    #[serde(flatten)]
    running: Description,
}

pub(crate) fn run(args: &SetArgs) -> Result<Status, Error> {
    let mut client = Client::connect(&args.control)?;
    let mut out = crate::output::stdout();
    if let Some(policy) = &args.policy {
        let to = wanted(policy)?;
        let before = client.describe()?.policy;
        let running = switch(&mut client, to)?;
        match args.json {
            true => json::print(&mut out, &GetJson { schema: "rota.get/1", running })?,
            false => writeln!(out, "{before} -> {} ({})", running.policy, running.source)?,
        }
        return Ok(Status::Done);
    }
    if args.set.is_empty() && args.shares.is_empty() {
        let running = client.describe()?;
        match args.json {
            true => json::print(&mut out, &GetJson { schema: "rota.get/1", running })?,
            false => print(&mut out, &running)?,
        }
        return Ok(Status::Done);
    }
    let changes = Changes { tunables: args.set.clone(), shares: args.shares.clone() };
    let changed = client.change(changes)?;
    match args.json {
        true => json::print(&mut out, &SetJson::new(changed))?,
        false => {
            for (name, before, now) in changed.tunables {
                writeln!(out, "{name}: {before} -> {now}")?;
            }
            for Share { pid, share } in changed.shares {
                let share = share.map_or("none, its weight counts".into(), |s| s.to_string());
                writeln!(out, "share of {pid}: {share}")?;
            }
        }
    }
    Ok(Status::Done)
}

/// Who runs, and what can be set.
fn print(out: &mut dyn Write, running: &Description) -> Result<(), Error> {
    writeln!(out, "{} ({}), pid {}", running.policy, running.source, running.pid)?;
    let rows = running.tunables.iter().map(|t| {
        let changeable = if t.live { "live" } else { "fixed" };
        vec![format!("{}={}", t.name, t.value), changeable.into(), t.help.clone()]
    });
    if running.tunables.is_empty() {
        return Ok(());
    }
    let lines = table::lines(&[], 3, rows.collect());
    Ok(lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?)
}

impl SetJson {
    fn new(changed: Changed) -> Self {
        let tunable = |(name, before, value)| TunableJson { name, before, value };
        Self {
            schema: "rota.set/1",
            tunables: changed.tunables.into_iter().map(tunable).collect(),
            shares: changed.shares,
        }
    }
}
