// SPDX-License-Identifier: MIT OR Apache-2.0
//! The records of a CPU's bundles.

use super::messages::{Bundle, CompactSched, Event, Kind, Woken};
use super::packets::{field, fields, Packets, Place};
use crate::error::Fault;
use crate::order::CpuRecords;
use crate::record::{comm, in_interrupt, Named, Record, Waker, What};
use crate::tracepoint::States;
use prost::Message;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// The records of one CPU.
pub(super) struct CpuBundles {
    cpu: u32,
    places: std::vec::IntoIter<Place>,
    packets: Rc<RefCell<Packets>>,
    states: States,
    tells_flags: bool,
    /// The task that runs, as compact switches do not say which one they end.
    running: Option<u32>,
    ready: VecDeque<Record>,
    packet: Vec<u8>,
}

impl CpuBundles {
    pub(super) fn new(
        cpu: u32,
        places: Vec<Place>,
        packets: Rc<RefCell<Packets>>,
        states: States,
        tells_flags: bool,
    ) -> Self {
        let (places, ready, packet) = (places.into_iter(), VecDeque::new(), Vec::new());
        Self { cpu, places, packets, states, tells_flags, running: None, ready, packet }
    }

    /// Reads a packet.
    fn fill(&mut self, place: Place) -> Result<(), Fault> {
        self.packets.borrow_mut().at(place, &mut self.packet)?;
        let wrong = |what: String| Fault::byte(place.at, format!("a bundle: {what}"));
        let mut body = None;
        fields(&self.packet, |number, bytes| {
            if number == field::FTRACE {
                body = Some(bytes);
            }
        })
        .map_err(wrong)?;
        let bundle = Bundle::decode(body.unwrap_or_default());
        let bundle = bundle.map_err(|error| wrong(error.to_string()))?;
        let mut records: Vec<Record> = Vec::with_capacity(bundle.event.len());
        for event in &bundle.event {
            if let Some(what) = self.event(event) {
                records.push(Record { time_ns: event.timestamp, cpu: self.cpu, what });
            }
        }
        if let Some(compact) = &bundle.compact_sched {
            self.compact(compact, &mut records).map_err(wrong)?;
        }
        // Compact ones are apart from others; each kind is in order.
        records.sort_by_key(|record| record.time_ns);
        if bundle.lost_events {
            self.running = None;
            let time_ns = records.first().map_or(0, |record| record.time_ns);
            let what = What::Lost { count: None };
            self.ready.push_back(Record { time_ns, cpu: self.cpu, what });
        }
        for mut record in records {
            self.complete(&mut record.what);
            self.ready.push_back(record);
        }
        Ok(())
    }

    fn event(&self, event: &Event) -> Option<What> {
        let flags = event.common_flags.or_else(|| self.tells_flags.then_some(0));
        let interrupt = flags.map(|flags| in_interrupt(u64::from(flags)));
        let by = Waker { pid: event.pid, interrupt };
        let pid = |pid: i32| pid as u32;
        let woken = |woken: &Woken| Named {
            pid: woken.pid as u32,
            comm: comm(&woken.comm),
            prio: Some(woken.prio),
        };
        Some(match event.kind.as_ref()? {
            Kind::SchedSwitch(switch) => What::Switch {
                prev: Named {
                    pid: pid(switch.prev_pid),
                    comm: comm(&switch.prev_comm),
                    prio: Some(switch.prev_prio),
                },
                left: self.states.left(switch.prev_state as u64),
                next: Named {
                    pid: pid(switch.next_pid),
                    comm: comm(&switch.next_comm),
                    prio: Some(switch.next_prio),
                },
            },
            Kind::SchedWaking(task) => What::Waking { task: woken(task), by },
            Kind::SchedWakeup(task) => What::Wakeup { task: woken(task), by },
            Kind::SchedWakeupNew(task) => What::WakeupNew { task: woken(task), by },
            Kind::TaskRename(rename) => {
                What::Name { pid: pid(rename.pid), comm: comm(&rename.newcomm) }
            }
            Kind::SchedProcessExit(exit) => What::Exit { pid: pid(exit.pid) },
            Kind::SchedProcessFork(fork) => What::Fork {
                parent: pid(fork.parent_pid),
                child: pid(fork.child_pid),
                comm: comm(&fork.child_comm),
            },
            Kind::SchedMigrateTask(migrate) => What::Migrate { pid: pid(migrate.pid) },
        })
    }

    /// Reads columns: switches without the task that they end, wakings without their waker.
    fn compact(&self, compact: &CompactSched, records: &mut Vec<Record>) -> Result<(), String> {
        let name = |index: Option<&u32>| {
            let index = index.map(|index| *index as usize);
            let name = index.and_then(|index| compact.intern_table.get(index));
            name.map(|name| comm(name)).ok_or("compact_sched: a name is missing")
        };
        let switches = compact.switch_timestamp.len();
        let (states, pids, prios) =
            (&compact.switch_prev_state, &compact.switch_next_pid, &compact.switch_next_prio);
        if [states.len(), pids.len(), prios.len()] != [switches; 3] {
            return Err("compact_sched: columns of switches differ in length".into());
        }
        let mut time_ns = 0u64;
        for index in 0..switches {
            time_ns = time_ns.wrapping_add(compact.switch_timestamp[index]);
            let comm = name(compact.switch_next_comm_index.get(index))?;
            let left = self.states.left(states[index] as u64);
            let next = Named { pid: pids[index] as u32, comm, prio: Some(prios[index]) };
            let what = What::Switch { prev: UNKNOWN, left, next };
            records.push(Record { time_ns, cpu: self.cpu, what });
        }
        let wakings = compact.waking_timestamp.len();
        let (pids, prios) = (&compact.waking_pid, &compact.waking_prio);
        if [pids.len(), prios.len()] != [wakings; 2] {
            return Err("compact_sched: columns of wakings differ in length".into());
        }
        let mut time_ns = 0u64;
        for index in 0..wakings {
            time_ns = time_ns.wrapping_add(compact.waking_timestamp[index]);
            let comm = name(compact.waking_comm_index.get(index))?;
            let flags = compact.waking_common_flags.get(index);
            let interrupt = flags.map(|flags| in_interrupt(u64::from(*flags)));
            let task = Named { pid: pids[index] as u32, comm, prio: Some(prios[index]) };
            let by = Waker { pid: UNKNOWN.pid, interrupt };
            records.push(Record { time_ns, cpu: self.cpu, what: What::Waking { task, by } });
        }
        Ok(())
    }

    /// Fills in the task that runs.
    fn complete(&mut self, what: &mut What) {
        match what {
            What::Switch { prev, next, .. } => {
                if prev.pid == UNKNOWN.pid {
                    *prev = Named { pid: self.running.unwrap_or(0), ..Named::default() };
                }
                self.running = Some(next.pid);
            }
            What::Waking { by, .. } if by.pid == UNKNOWN.pid => by.pid = self.running.unwrap_or(0),
            _ => {}
        }
    }
}

/// A task that the trace does not say.
const UNKNOWN: Named = Named { pid: u32::MAX, comm: [0; 16], prio: None };

impl CpuRecords for CpuBundles {
    fn next(&mut self) -> Result<Option<Record>, Fault> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Ok(Some(record));
            }
            let Some(place) = self.places.next() else { return Ok(None) };
            self.fill(place)?;
        }
    }
}
