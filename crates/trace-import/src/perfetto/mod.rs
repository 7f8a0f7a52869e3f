// SPDX-License-Identifier: MIT OR Apache-2.0
//! Perfetto's `.pftrace` with `ftrace_event` bundles.
//!
//! A file is read twice: first for the places of all bundles and for what is not in them, then the
//! bundles of all CPUs side by side, as they are in order for each CPU only.

mod bundle;
mod index;
mod messages;
mod packets;

use crate::error::Fault;
use crate::facts::Header;
use crate::input::Input;
use crate::order::Merge;
use crate::record::{comm, Record, Records, What};
use crate::tracepoint::States;
use bundle::CpuBundles;
use index::Index;
use messages::{FtraceStats, Packet};
use packets::Packets;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// A trace that is read.
pub(crate) struct Perfetto {
    /// What is known of tasks without a record.
    tasks: VecDeque<What>,
    merge: Merge<CpuBundles>,
}

/// Opens a file.
pub(crate) fn open(input: Input, header: &mut Header) -> Result<Perfetto, Fault> {
    let mut packets = Packets::new(input);
    let mut index = Index::default();
    packets.all(&mut index)?;
    let Index { cpus, packets: others, clock, tells_flags } = index;
    if cpus.is_empty() {
        return Err(Fault::file(
            "no ftrace_event bundles: expected a trace of the data source linux.ftrace with \
             sched/sched_switch (of Rota's own traces, CSV can be read)",
        ));
    }
    let mut tasks = VecDeque::new();
    for packet in &others {
        say(packet, header, &mut tasks)?;
    }
    losses(&others, header);
    header.tool.get_or_insert_with(|| "Perfetto".to_owned());
    header.clock = Some(clock.to_owned());
    let packets = Rc::new(RefCell::new(packets));
    let mut bundles = Vec::new();
    for (cpu, places) in cpus {
        header.has_cpus(cpu.saturating_add(1)).map_err(Fault::file)?;
        let packets = Rc::clone(&packets);
        bundles.push(CpuBundles::new(cpu, places, packets, States::MODERN, tells_flags));
    }
    Ok(Perfetto { tasks, merge: Merge::new(bundles) })
}

impl Records for Perfetto {
    fn next(&mut self) -> Result<Option<Record>, Fault> {
        match self.tasks.pop_front() {
            Some(what) => Ok(Some(Record { time_ns: 0, cpu: 0, what })),
            None => self.merge.next(),
        }
    }
}

/// What a packet says of the computer and of tasks.
fn say(packet: &Packet, header: &mut Header, tasks: &mut VecDeque<What>) -> Result<(), Fault> {
    if let Some(info) = &packet.system_info {
        if let Some(name) = &info.utsname {
            (header.kernel, header.arch) = (name.release.clone(), name.machine.clone());
        }
        header.tool = info.tracing_service_version.clone();
        if let Some(cpus) = info.num_cpus {
            header.has_cpus(cpus).map_err(Fault::file)?;
        }
    }
    let Some(tree) = &packet.process_tree else { return Ok(()) };
    for process in &tree.processes {
        let pid = process.pid as u32;
        // All threads of the kernel have the same parent.
        let parent = if process.is_kthread { Some(2) } else { process.ppid.map(|pid| pid as u32) };
        tasks.push_back(What::Process { pid, process: pid, parent });
    }
    for thread in &tree.threads {
        let pid = thread.tid as u32;
        let process = thread.tgid as u32;
        if pid != process {
            tasks.push_back(What::Process { pid, process, parent: None });
        }
        if !thread.name.is_empty() {
            tasks.push_back(What::Name { pid, comm: comm(&thread.name) });
        }
    }
    Ok(())
}

/// Losses are counted since the computer started: those of the end less those of the begin.
fn losses(packets: &[Packet], header: &mut Header) {
    let stats = |phase: i32| {
        let all = packets.iter().filter_map(|packet| packet.ftrace_stats.as_ref());
        all.filter(move |stats| stats.phase == phase)
    };
    let count = |stats: &FtraceStats, cpu: u64| {
        let of_cpu = stats.cpu_stats.iter().filter(|stats| stats.cpu == cpu);
        of_cpu
            .map(|s| s.overrun.saturating_add(s.commit_overrun).saturating_add(s.dropped_events))
            .fold(0, u64::saturating_add)
    };
    for end in stats(2) {
        for cpu in &end.cpu_stats {
            let before = stats(1).map(|begin| count(begin, cpu.cpu)).max().unwrap_or(0);
            let lost = count(end, cpu.cpu).saturating_sub(before);
            if let Some(cpu) = u32::try_from(cpu.cpu).ok().filter(|_| lost > 0) {
                header.lost.insert(cpu, lost);
            }
        }
    }
}
