// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workload of a recording, from its events to the file.

use crate::error::Error;
use crate::machine;
use crate::output_file::OutputFile;
use rota_kernel::fair::usual_base_slice_ns;
use rota_machine::kernel::Release;
use rota_machine::topology::Topology;
use rota_machine_file::Machine;
use rota_replay::{Charges, Facts, Gatherer, Replay, Taken};
use std::collections::BTreeSet;

/// A workload being made.
pub(crate) struct Making {
    pub(crate) gatherer: Gatherer,
    machine: Machine,
    /// CPUs of the recorded computer.
    nr_cpus: u32,
    /// As [`Facts::joined`].
    joined: bool,
}

/// A workload, and the machine that it names.
pub(crate) struct Made {
    pub(crate) replay: Replay,
    pub(crate) machine: Machine,
}

impl Made {
    /// Writes the workload, if asked for with other names.
    pub(crate) fn write(&self, file: OutputFile, anonymise: bool) -> Result<(), Error> {
        let text = &self.replay.text;
        match anonymise {
            true => file.finish_with(rota_workload::anonymise("the workload", text)?.as_bytes()),
            false => file.finish_with(text.as_bytes()),
        }
    }
}

impl Making {
    /// Of a recording of this computer, unless the user names the machine. If not, no model of
    /// hardware is on: the recorded work is as fast as it was.
    pub(crate) fn here(named: Option<&str>, cpus: u32) -> Result<Self, Error> {
        let mut machine = machine::find(named.unwrap_or(machine::THIS))?;
        if named.is_none() {
            machine.hardware = None;
        }
        machine.kernel = machine.kernel.or(machine::this_kernel());
        Ok(Self::on(machine, cpus))
    }

    /// Of a recording that says of its machine only how many CPUs it has, once it was read
    /// ([`Making::is_of`]).
    pub(crate) fn elsewhere(named: Option<&str>) -> Result<Self, Error> {
        Ok(Self::on(machine::find(named.unwrap_or(machine::FLAT))?, 0))
    }

    /// The recording is of a computer with so many CPUs and, if that is known, this kernel; `plays`: and
    /// so is the workload.
    pub(crate) fn is_of(
        &mut self,
        cpus: u32,
        kernel: Option<&str>,
        plays: bool,
    ) -> Result<(), Error> {
        self.nr_cpus = cpus;
        if plays {
            self.machine.topology = Topology::flat(cpus)?;
            self.machine.kernel.release = kernel.and_then(Release::find);
        }
        Ok(())
    }

    fn on(machine: Machine, nr_cpus: u32) -> Self {
        Self { gatherer: Gatherer::new(charges(&machine)), machine, nr_cpus, joined: false }
    }

    /// Tasks can come into the recording while they run.
    pub(crate) fn of_joined_tasks(self, joined: bool) -> Self {
        Self { joined, ..self }
    }

    /// All of it.
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The workload. `about` is what was recorded; `ends_itself`: until its tasks had ended;
    /// `taken`: what the recorder took of them.
    pub(crate) fn finish(
        self,
        end_ns: u64,
        about: &str,
        ends_itself: bool,
        (kernel_threads, taken): (BTreeSet<u32>, Taken),
    ) -> Result<Made, Error> {
        let mut machine = self.machine;
        let nr_cpus = self.nr_cpus;
        let joined = self.joined;
        let mut facts =
            Facts { ends_itself, joined, kernel_threads, nr_cpus, taken, ..Facts::default() };
        facts.cpus = self.gatherer.common_cpus(&facts);
        if let Some(cpus) = &facts.cpus {
            machine = part(&machine, cpus)?;
            // Slices are those of all CPUs, also where nobody can read them.
            machine.kernel.base_slice_ns.get_or_insert(usual_base_slice_ns(nr_cpus));
        }
        machine.name = "recorded".into();
        machine.source = format!("recorded: {about}");
        facts.about = vec![
            format!("Recorded: {about}."),
            "A task runs for so many microseconds, then does or waits for what stands after it."
                .into(),
            "A task that ends the wait of another one posts the semaphore that is named after that one."
                .into(),
        ];
        facts.machine = Some(json(&machine)?);
        let replay = self.gatherer.finish(end_ns, &facts);
        let replay = replay.ok_or_else(|| Error::Failure("no task worked: no workload".into()))?;
        Ok(Made { replay, machine })
    }
}

/// What a machine charges to tasks by itself.
pub(crate) fn charges(machine: &Machine) -> Charges {
    let costs = &machine.costs;
    let ipi = machine.hardware.as_ref().and_then(|hardware| hardware.ipi);
    Charges {
        switch_ns: costs.context_switch_ns,
        idle_exit_ns: costs.idle_exit_ns,
        migration_ns: costs.migration_ns,
        wakeup_ns: costs.wakeup_ns,
        fork_ns: costs.fork_ns,
        ipi_send_ns: ipi.map_or(0, |ipi| ipi.send_ns),
        ipi_receive_ns: ipi.map_or(0, |ipi| ipi.receive_ns),
    }
}

/// The machine that a command has which may use some of the CPUs only.
pub(crate) fn part(machine: &Machine, cpus: &[u32]) -> Result<Machine, Error> {
    if cpus.len() as u32 >= machine.topology.cpus() {
        return Ok(machine.clone());
    }
    let mut part = machine.clone();
    part.topology = Topology::flat(cpus.len() as u32)?;
    part.hardware = None;
    Ok(part)
}

/// The machine as a workload file has it.
pub(crate) fn json(machine: &Machine) -> Result<serde_json::Value, Error> {
    let table: toml::Table = toml::from_str(&machine.to_toml())
        .map_err(|e| Error::Failure(format!("the machine's description: {e}")))?;
    serde_json::to_value(table)
        .map_err(|e| Error::Failure(format!("the machine's description: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_trace::{Event, EventKind, OffCpu, Sink};

    /// What a task does that may use the first of two CPUs, or both.
    fn made(cpus: &[u32]) -> Made {
        let mut machine = machine::find(machine::FLAT).expect("a machine");
        machine.topology = Topology::flat(2).expect("two CPUs");
        machine.kernel.base_slice_ns = None;
        let mut making = Making::on(machine, 2);
        for (time_ns, kind) in [
            (0, EventKind::Affinity { pid: 7, cpus: cpus.iter().copied().collect() }),
            (0, EventKind::SwitchIn { pid: 7 }),
            (9_000, EventKind::SwitchOut { pid: 7, why: OffCpu::Exit }),
        ] {
            making.gatherer.event(&Event { time_ns, cpu: Some(0), kind });
        }
        making.finish(9_000, "a test", true, Default::default()).expect("a workload")
    }

    #[test]
    fn a_part_of_the_cpus_keeps_the_slices_of_all() {
        // 0.7 ms x (1 + log2 of 2 CPUs); a machine with all CPUs has what policies make of them.
        let of_one = made(&[0]).machine;
        assert_eq!((of_one.topology.cpus(), of_one.kernel.base_slice_ns), (1, Some(1_400_000)));
        let of_both = made(&[0, 1]).machine;
        assert_eq!((of_both.topology.cpus(), of_both.kernel.base_slice_ns), (2, None));
    }
}
