// SPDX-License-Identifier: MIT OR Apache-2.0
//! This computer, as far as the simulator has to be told of it.

use crate::error::Error;
use crate::output::messages;
use rota_kernel::fair::{preemption, usual_base_slice_ns};
use rota_kernel::{Configuration, Fair};
use rota_machine::kernel::{Kernel, Release, Settings};
use rota_machine::topology::Topology;
use serde::Serialize;
use std::io::ErrorKind;

/// Ticks per second where the kernel's configuration cannot be read.
const USUAL_HZ: u32 = 250;

/// This computer.
#[derive(Debug, Serialize)]
pub(super) struct Computer {
    /// Release of its kernel.
    pub(super) kernel: String,
    pub(super) cpus: u32,
    /// CPUs of a core, a last-level cache and a node.
    pub(super) smt: u32,
    pub(super) llc: u32,
    pub(super) node: u32,
    pub(super) hz: u32,
    pub(super) autogroups: bool,
    /// When it preempts; `None`: not known.
    pub(super) preempt: Option<String>,
    /// How its fair class is set; `None`: that cannot be read.
    pub(super) fair: Option<Fair>,
    #[serde(skip)]
    pub(super) topology: Option<Topology>,
}

impl Computer {
    /// Looks, and says what could not be seen.
    pub(super) fn look() -> Result<Self, Error> {
        if let Some(scheduler) = rota_kernel::sysfs::loaded() {
            return Err(Error::Input(format!(
                "the scheduler {scheduler} is loaded, expected the kernel's own: end it first"
            )));
        }
        let arranged = rota_kernel::Topology::read();
        let cpus = arranged.core.len() as u32;
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        let all = if cpus == 1 { "0".to_owned() } else { format!("0-{}", cpus - 1) };
        if online.trim() != all {
            return Err(Error::Input(format!(
                "CPUs {} are online, expected all from 0 to {}",
                online.trim(),
                cpus - 1
            )));
        }
        let [smt, llc, node] = [&arranged.core, &arranged.llc, &arranged.node].map(|of| size(of));
        let topology = match (smt, llc, node) {
            (Some(smt), Some(llc), Some(node)) => Topology::new(cpus, smt, llc, node).ok(),
            _ => None,
        };
        if topology.is_none() {
            messages::line(
                "note: this computer's cores or caches are not alike, or not numbered one after the other: \
                 the simulated machine has CPUs without SMT and one cache",
            );
        }
        let configuration = Configuration::read().unwrap_or_default();
        let hz = configuration.hz.unwrap_or_else(|| {
            messages::line(&format!(
                "note: the kernel's configuration cannot be read, {USUAL_HZ} ticks per second are \
                 assumed"
            ));
            USUAL_HZ
        });
        let fair = Fair::read();
        if let Err(error) = &fair {
            let hint = match error.kind() {
                ErrorKind::NotFound => " (mount -t debugfs none /sys/kernel/debug)",
                _ => "",
            };
            messages::line(&format!(
                "note: the settings of the fair class cannot be read, so the defaults of Linux 7.2 \
                 are simulated: {error}{hint}"
            ));
        }
        let preempt = fair.as_ref().map(|fair| fair.preempt.clone()).ok();
        let preempt = preempt.or(configuration.preempt.map(str::to_owned));
        let autogroups = rota_bench::servers::autogroups_are_on();
        let known =
            |size: Option<u32>, flat: u32| size.filter(|_| topology.is_some()).unwrap_or(flat);
        Ok(Self {
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            cpus,
            smt: known(smt, 1),
            llc: known(llc, cpus),
            node: known(node, cpus),
            hz,
            autogroups,
            preempt,
            fair: fair.ok(),
            topology,
        })
    }

    /// The tunables of `eevdf` with which it is set as this computer's fair class is, as far as that
    /// is known: `name=value`. Slices are those of all CPUs, whichever part of them is simulated.
    pub(super) fn tunables(&self) -> Vec<String> {
        match &self.fair {
            Some(fair) => fair.tunables(),
            None => {
                let slice = format!("base_slice_ns={}", usual_base_slice_ns(self.cpus));
                let known = self.preempt.as_deref().and_then(preemption);
                [slice, "tunable_scaling=none".into()]
                    .into_iter()
                    .chain(known.map(str::to_owned))
                    .collect()
            }
        }
    }

    /// A kernel with its ticks, and the fair class of its release.
    pub(super) fn simulated(&self) -> Kernel {
        let (release, hz) = (Release::find(&self.kernel), Some(self.hz));
        Kernel::default().with_settings(&Settings { release, hz, ..Settings::default() })
    }

    /// Its CPUs, as the simulator wants them.
    pub(super) fn topology(&self) -> Result<Topology, Error> {
        Ok(match &self.topology {
            Some(topology) => topology.clone(),
            None => Topology::flat(self.cpus)?,
        })
    }

    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self { kernel, cpus, smt, llc, node, hz, .. } = self;
        let autogroups = if self.autogroups { "on" } else { "off" };
        let slice = self.fair.as_ref().map_or("of unknown length".to_owned(), |fair| {
            crate::output::units::duration(fair.base_slice_ns)
        });
        let preempt = self.preempt.as_deref().unwrap_or("unknown");
        vec![format!(
            "Linux {kernel}, {cpus} CPUs (smt={smt},llc={llc},node={node}), {hz} ticks per second, \
             base slice {slice}, preempt {preempt}, autogroups {autogroups}"
        )]
    }
}

/// Of groups that follow each other and have one size, that size.
fn size(group_of: &[u32]) -> Option<u32> {
    let size = group_of.iter().filter(|group| **group == group_of[0]).count();
    let expected = |cpu: usize| (cpu / size) as u32;
    let is_regular = group_of.len() % size == 0
        && group_of.iter().enumerate().all(|(cpu, group)| *group == expected(cpu));
    is_regular.then_some(size as u32)
}

#[cfg(test)]
mod tests {
    use super::{size, Computer};

    #[test]
    fn unknown_slices_are_those_of_a_kernel_with_all_cpus() {
        let computer = Computer {
            kernel: "6.18.5".into(),
            cpus: 2,
            smt: 1,
            llc: 2,
            node: 2,
            hz: 250,
            autogroups: true,
            preempt: Some("lazy".into()),
            fair: None,
            topology: None,
        };

        assert_eq!(computer.tunables(), ["base_slice_ns=1400000", "tunable_scaling=none"]);
    }

    #[test]
    fn groups_of_one_size_that_follow_each_other_have_a_size() {
        assert_eq!(size(&[0, 0, 1, 1]), Some(2));
        assert_eq!(size(&[0, 1, 2]), Some(1));
        assert_eq!(size(&[0, 0, 0]), Some(3));
    }

    #[test]
    fn groups_that_differ_or_take_turns_have_none() {
        assert_eq!(size(&[0, 0, 1]), None);
        assert_eq!(size(&[0, 1, 0, 1]), None);
    }
}
