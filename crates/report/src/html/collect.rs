// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gathers the slices of a timeline from the events of a run, in bounded memory.

use rota_trace::{Event, EventKind, Sink};
use rustc_hash::FxHashMap;

use super::model::{Slice, Slices};

/// Keeps who ran where, from the beginning until the room for slices is used up.
#[derive(Debug)]
pub struct SliceSink {
    /// Place of each name in [`super::model::Workload::tasks`].
    names: FxHashMap<String, u32>,
    tasks: FxHashMap<u32, u32>,
    cpus: Vec<Vec<Slice>>,
    /// What each CPU runs, and since when.
    running: Vec<Option<(u32, u64)>>,
    room: usize,
    /// When there was no more room.
    full_ns: Option<u64>,
}

impl SliceSink {
    /// For a machine with so many CPUs and tasks of these names, and so many slices. A task of
    /// another name counts as the one that it is an instance or a fork of; as the last one if that
    /// is none of them.
    pub fn new(cpus: u32, names: impl IntoIterator<Item = String>, room: usize) -> Self {
        let cpus = cpus as usize;
        SliceSink {
            names: names.into_iter().zip(0..).collect(),
            tasks: FxHashMap::default(),
            cpus: vec![Vec::new(); cpus],
            running: vec![None; cpus],
            room,
            full_ns: None,
        }
    }

    /// The timeline of a run that ended at `end_ns`.
    pub fn finish(mut self, end_ns: u64) -> Slices {
        let to_ns = self.full_ns.map_or(end_ns, |full_ns| full_ns.min(end_ns));
        for cpu in 0..self.running.len() {
            self.leave(cpu, to_ns);
        }
        Slices { from_ns: 0, to_ns, cpus: self.cpus }
    }

    fn place(&self, name: &str, instance_of: Option<&str>) -> u32 {
        let of = |name: &str| self.names.get(name).copied();
        let last = self.names.len().saturating_sub(1) as u32;
        of(name).or_else(|| of(instance_of?)).unwrap_or(last)
    }

    /// Whatever a CPU runs, it stops.
    fn leave(&mut self, cpu: usize, now_ns: u64) {
        let Some((task, start_ns)) = self.running.get_mut(cpu).and_then(Option::take) else {
            return;
        };
        if start_ns < now_ns {
            self.cpus[cpu].push(Slice { start_ns, end_ns: now_ns, task });
            self.room = self.room.saturating_sub(1);
        }
    }

    fn enter(&mut self, cpu: usize, pid: u32, now_ns: u64) {
        self.leave(cpu, now_ns);
        // What runs now will need room too.
        if self.room <= self.running.iter().flatten().count() {
            self.full_ns = Some(now_ns);
            return;
        }
        let task = self.tasks.get(&pid).copied().unwrap_or(u32::MAX);
        if let Some(running) = self.running.get_mut(cpu) {
            *running = Some((task, now_ns));
        }
    }
}

impl Sink for SliceSink {
    fn event(&mut self, event: &Event) {
        if self.full_ns.is_some() {
            return;
        }
        let cpu = event.cpu.map(|cpu| cpu as usize);
        match (&event.kind, cpu) {
            (EventKind::Task { pid, name, instance_of, .. }, _) => {
                let place = self.place(name, instance_of.as_deref());
                self.tasks.insert(*pid, place);
            }
            (EventKind::SwitchIn { pid }, Some(cpu)) => self.enter(cpu, *pid, event.time_ns),
            (EventKind::SwitchOut { .. }, Some(cpu)) => self.leave(cpu, event.time_ns),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rota_trace::OffCpu;

    fn sink(room: usize) -> SliceSink {
        let names = ["front-3", "cron", "other"].map(str::to_owned);
        let mut sink = SliceSink::new(2, names, room);
        let tasks = [(7, "front-3", Some("front")), (8, "x", Some("cron")), (9, "unheard", None)];
        for (pid, name, instance_of) in tasks {
            let instance_of = instance_of.map(Into::into);
            let kind = EventKind::Task { pid, name: name.to_owned(), weight: 100, instance_of };
            sink.event(&Event { time_ns: 0, cpu: None, kind });
        }
        sink
    }

    fn on(sink: &mut SliceSink, time_ns: u64, cpu: u32, kind: EventKind) {
        sink.event(&Event { time_ns, cpu: Some(cpu), kind });
    }

    fn slice(start_ns: u64, end_ns: u64, task: u32) -> Slice {
        Slice { start_ns, end_ns, task }
    }

    #[test]
    fn tasks_without_a_place_have_that_of_the_task_they_are_instances_of() {
        let mut sink = sink(100);
        on(&mut sink, 5, 0, EventKind::SwitchIn { pid: 7 });
        on(&mut sink, 9, 0, EventKind::SwitchOut { pid: 7, why: OffCpu::Sleep });
        on(&mut sink, 9, 0, EventKind::SwitchIn { pid: 8 });
        on(&mut sink, 10, 1, EventKind::SwitchIn { pid: 9 });
        on(&mut sink, 12, 0, EventKind::SwitchIn { pid: 7 });
        let expected =
            vec![vec![slice(5, 9, 0), slice(9, 12, 1), slice(12, 20, 0)], vec![slice(10, 20, 2)]];
        assert_eq!(sink.finish(20), Slices { from_ns: 0, to_ns: 20, cpus: expected });
    }

    #[test]
    fn without_room_the_timeline_ends_on_all_cpus() {
        let mut sink = sink(3);
        on(&mut sink, 0, 0, EventKind::SwitchIn { pid: 7 });
        on(&mut sink, 2, 1, EventKind::SwitchIn { pid: 8 });
        on(&mut sink, 6, 0, EventKind::SwitchIn { pid: 9 });
        on(&mut sink, 8, 1, EventKind::SwitchIn { pid: 7 });
        let expected = vec![vec![slice(0, 6, 0), slice(6, 8, 2)], vec![slice(2, 8, 1)]];
        assert_eq!(sink.finish(20), Slices { from_ns: 0, to_ns: 8, cpus: expected });
    }

    proptest! {
        #[test]
        fn there_are_never_more_slices_than_room(
            switches in proptest::collection::vec((0..3u64, 0..3u32, 7..10u32), 0..100),
            room in 0..30usize,
        ) {
            let (mut sink, mut now_ns) = (sink(room), 0);
            for (later_ns, cpu, pid) in switches {
                now_ns += later_ns;
                on(&mut sink, now_ns, cpu, EventKind::SwitchIn { pid });
            }
            let slices = sink.finish(now_ns + 1);
            prop_assert!(slices.cpus.iter().flatten().count() <= room);
            for cpu in &slices.cpus {
                prop_assert!(cpu.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
                prop_assert!(cpu.iter().all(|s| s.start_ns < s.end_ns && s.end_ns <= slices.to_ns));
            }
        }
    }
}
