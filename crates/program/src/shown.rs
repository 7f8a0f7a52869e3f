// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that follow the simulated machine while it runs: which CPUs are online, and whether a
//! scheduler is attached.

use crate::computer;
use crate::files::Files;
use rota_machine::cpuset::CpuSet;
use rota_machine::hardware::Hardware;
use rota_machine::system::System;
use rota_machine::topology::Topology;
use std::io;

/// `/sys/kernel/sched_ext` (`scx_global_attrs`).
const SCHED_EXT: &str = "/sys/kernel/sched_ext";

/// What the files say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    online: CpuSet,
    is_attached: bool,
    hotplug_seq: u64,
    enable_seq: u64,
}

impl Shown {
    /// Of a machine before anything happened.
    pub(crate) fn first(topology: &Topology) -> Self {
        let online = CpuSet::first_n(topology.cpus());
        Self { online, is_attached: false, hotplug_seq: 0, enable_seq: 0 }
    }

    fn of(system: &System) -> Self {
        Self {
            online: system.online_cpus(),
            is_attached: system.has_scheduler(),
            hotplug_seq: system.hotplug_seq(),
            enable_seq: system.enable_seq(),
        }
    }

    /// Lets the files say what is so now.
    pub(crate) fn follow(
        &mut self,
        system: &System,
        (topology, hardware): (&Topology, Option<&Hardware>),
        files: &Files,
    ) -> io::Result<()> {
        let now = Self::of(system);
        if now == *self {
            return Ok(());
        }
        if now.online != self.online {
            let all = computer::of_processors(topology, hardware, &now.online);
            files.replace(&computer::OF_PROCESSORS, &all)?;
        }
        files.replace(&[SCHED_EXT], &now.sched_ext())?;
        *self = now;
        Ok(())
    }

    /// `scx_global_attrs`.
    pub(crate) fn sched_ext(&self) -> Vec<(String, String)> {
        let state = if self.is_attached { "enabled" } else { "disabled" };
        let all = [
            ("state", state.to_owned()),
            ("switch_all", u32::from(self.is_attached).to_string()),
            ("nr_rejected", "0".to_owned()),
            ("hotplug_seq", self.hotplug_seq.to_string()),
            ("enable_seq", self.enable_seq.to_string()),
        ];
        all.map(|(name, text)| (format!("{SCHED_EXT}/{name}"), text + "\n")).into()
    }
}
