// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that a workload file names as its own: runs are on it unless the user asks for
//! another one.

use crate::error::Error;
use crate::load::Load;
use crate::machine::{self, THIS};
use crate::options::MachineArgs;
use crate::output::{self, messages};
use rota_machine_file::{parse_json, Machine, PRESETS};
use rota_workload::MachineKey;
use std::path::Path;

/// The options for runs of this workload; `cpus`: those that the user asks for. Says once which
/// machine it is, and what does not fit it.
pub(crate) fn options(args: &MachineArgs, cpus: &[u32], load: &Load) -> Result<MachineArgs, Error> {
    let Some((name, own)) = find(load)? else { return Ok(args.clone()) };
    let own_cpus = own.topology.cpus();
    let plural = |cpus: u32| if cpus == 1 { "1 CPU".into() } else { format!("{cpus} CPUs") };
    if args.machine.is_none() && args.topology.is_none() && cpus.is_empty() {
        let told = match &own.source {
            source if source.is_empty() || *source == load.file => String::new(),
            source => format!(" ({source})"),
        };
        let kernel = output::machine::kernel(&own.kernel).map(|kernel| format!(", {kernel}"));
        let which = format!("{}{}", plural(own_cpus), kernel.unwrap_or_default());
        messages::line(&format!("note: {}: on its own machine, {which}{told}", load.file));
        return Ok(MachineArgs { machine: Some(name), ..args.clone() });
    }
    if let Some((_, task)) = load.workload.highest_cpu() {
        messages::line(&format!(
            "warning: {}: made for a machine of {}, with tasks that are tied to some of them, as \
             {task} is; on another machine they stay tied to CPUs of the same numbers",
            load.file,
            plural(own_cpus)
        ));
    }
    Ok(args.clone())
}

/// The machine of a workload, and the name by which it is found; `None`: it has none of its own.
pub(crate) fn find(load: &Load) -> Result<Option<(String, Machine)>, Error> {
    let Some(key) = &load.workload.machine else { return Ok(None) };
    Ok(Some(match key {
        MachineKey::Named(name) => {
            let name = beside(name, &load.file);
            let own = machine::find(&name)?;
            (name, own)
        }
        MachineKey::Described { line, json } => {
            let own = parse_json(&load.file, *line as usize, json).map_err(Error::input)?;
            let name = if own.name.is_empty() { load.file.clone() } else { own.name.clone() };
            (machine::know(&name, own.clone()), own)
        }
    }))
}

/// A machine's file is named as seen from the workload's.
fn beside(name: &str, file: &str) -> String {
    match PRESETS.contains(&name) || name == THIS {
        true => name.to_owned(),
        false => Path::new(file).with_file_name(name).display().to_string(),
    }
}
