// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that follow the simulated machine while it runs: which CPUs are online, whether a scheduler
//! is attached, and which cgroups there are.

use crate::cgroups;
use crate::computer;
use crate::files::Files;
use rota_machine::cpuset::CpuSet;
use rota_machine::hardware::Hardware;
use rota_machine::system::System;
use rota_machine::topology::Topology;
use rota_machine::user_half::groups::GroupFiles;
use std::io;

/// `/sys/kernel/sched_ext` (`scx_global_attrs`).
const SCHED_EXT: &str = "/sys/kernel/sched_ext";

/// What the files say.
#[derive(Debug)]
pub(crate) struct Shown {
    state: State,
    groups: Vec<GroupFiles>,
}

#[derive(Debug, PartialEq, Eq)]
struct State {
    online: CpuSet,
    is_attached: bool,
    hotplug_seq: u64,
    enable_seq: u64,
    /// Of the groups; none before there is a machine.
    changes: Option<u64>,
}

impl Shown {
    /// Of a machine before anything happened, with these groups.
    pub(crate) fn first(topology: &Topology, groups: Vec<GroupFiles>) -> Self {
        let online = CpuSet::first_n(topology.cpus());
        let state =
            State { online, is_attached: false, hotplug_seq: 0, enable_seq: 0, changes: None };
        Self { state, groups }
    }

    /// The files that say so.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let groups = self.groups.iter().flat_map(cgroups::files);
        self.state.sched_ext().into_iter().chain(groups).collect()
    }

    /// The inode number of a folder below `/sys/fs/cgroup`: its group's id.
    pub(crate) fn inode(&self, path: &str) -> Option<u64> {
        let group = cgroups::group_of_folder(path)?;
        self.groups.iter().find(|known| known.path == group).map(|known| known.id)
    }

    /// Lets the files say what is so now.
    pub(crate) fn follow(
        &mut self,
        system: &System,
        (topology, hardware): (&Topology, Option<&Hardware>),
        files: &Files,
    ) -> io::Result<()> {
        let now = State::of(system);
        if now == self.state {
            return Ok(());
        }
        if now.online != self.state.online {
            let all = computer::of_processors(topology, hardware, &now.online);
            files.replace(&computer::OF_PROCESSORS, &all)?;
        }
        if now.sched_ext() != self.state.sched_ext() {
            files.replace(&[SCHED_EXT], &now.sched_ext())?;
        }
        if (now.changes, now.online) != (self.state.changes, self.state.online) {
            let groups = system.groups();
            cgroups::follow(&self.groups, &groups, files)?;
            self.groups = groups;
        }
        self.state = now;
        Ok(())
    }
}

impl State {
    fn of(system: &System) -> Self {
        Self {
            online: system.online_cpus(),
            is_attached: system.has_scheduler(),
            hotplug_seq: system.hotplug_seq(),
            enable_seq: system.enable_seq(),
            changes: Some(system.group_changes()),
        }
    }

    /// `scx_global_attrs`.
    fn sched_ext(&self) -> Vec<(String, String)> {
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
