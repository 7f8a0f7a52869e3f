// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that a workload file names as its own: runs are on it unless the user asks for
//! another one.

use crate::error::Error;
use crate::load::Load;
use crate::machine::{set_as, THIS};
use crate::options::MachineOptions;
use crate::Session;
use rota_machine_file::{parse_json, Machine, PRESETS};
use rota_workload::MachineKey;
use std::path::Path;

impl Session {
    /// The name of the machine for runs of this workload, if it is one that has a name; `cpus`:
    /// those that the user asks for. Tells which machine it is, and what does not fit it.
    pub fn machine_of(
        &self,
        options: &MachineOptions,
        cpus: &[u32],
        load: &Load,
    ) -> Result<Option<String>, Error> {
        let Some((name, own)) = self.own_machine(load)? else { return Ok(options.machine.clone()) };
        let own_cpus = own.topology.cpus();
        let plural = |cpus: u32| if cpus == 1 { "1 CPU".into() } else { format!("{cpus} CPUs") };
        if options.machine.is_none() && options.topology.is_none() && cpus.is_empty() {
            let told = match &own.source {
                source if source.is_empty() || *source == load.file => String::new(),
                source => format!(" ({source})"),
            };
            let kernel = set_as(&own.kernel).map(|kernel| format!(", {kernel}"));
            let which = format!("{}{}", plural(own_cpus), kernel.unwrap_or_default());
            self.tell(&format!("note: {}: on its own machine, {which}{told}", load.file));
            return Ok(Some(name));
        }
        if let Some((_, task)) = load.workload.highest_cpu() {
            self.tell(&format!(
                "warning: {}: made for a machine of {}, with tasks that are tied to some of them, \
                 as {task} is; on another machine they stay tied to CPUs of the same numbers",
                load.file,
                plural(own_cpus)
            ));
        }
        Ok(options.machine.clone())
    }

    /// The machine of a workload, and the name by which it is found; `None`: it has none of its own.
    pub fn own_machine(&self, load: &Load) -> Result<Option<(String, Machine)>, Error> {
        let Some(key) = &load.workload.machine else { return Ok(None) };
        Ok(Some(match key {
            MachineKey::Named(name) => {
                let name = beside(name, &load.file);
                let own = self.machine(&name)?;
                (name, own)
            }
            MachineKey::Described { line, json } => {
                let own = parse_json(&load.file, *line as usize, json).map_err(Error::input)?;
                let name = if own.name.is_empty() { load.file.clone() } else { own.name.clone() };
                (self.know(&name, own.clone()), own)
            }
        }))
    }
}

/// A machine's file is named as seen from the workload's.
fn beside(name: &str, file: &str) -> String {
    match PRESETS.contains(&name) || name == THIS {
        true => name.to_owned(),
        false => Path::new(file).with_file_name(name).display().to_string(),
    }
}
