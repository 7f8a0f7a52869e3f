// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts from now on, and says what was counted since the last look.

use super::clock::Clock;
use super::cpu::{CpuReader, Step};
use super::raw::{cpu, histogram, log, place, shared, waits, Area, Words, LATENCY_BITS, LOGGED};
use super::task::{Does, TaskCounts, TaskReader};
use super::STEP_NS;
use crate::events::attach::{self, Aligned};
use crate::events::groups::Groups;
use crate::events::hooks::Hooks;
use crate::events::recorder::monotonic_ns;
use crate::events::{cpus, RecordError, RecordOptions, Scope};
use libbpf_rs::{Link, MapCore, MapFlags, Object};
use rustc_hash::FxHashMap;
use std::io;

/// Steps that are over for so long are complete: a CPU that is a virtual one can be stopped between
/// reading the clock and writing.
const SETTLE_NS: u64 = STEP_NS;
/// CPUs that tasks can be tied to, as far as is counted: those of the first 64.
const TIED: usize = 64;
/// Of a reader that is later than so much, nothing is of interest that was before.
const MOST_STEPS: u64 = 1200;
/// CPUs are asked for again after so many looks.
const LOOKS: u32 = 5;

static OBJECT: &[u8] = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/count.bpf.o"))).0;

/// Whom to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountOptions {
    /// Which tasks.
    pub scope: Scope,
    /// Kernel threads too, if all tasks are counted.
    pub kernel_threads: bool,
}

/// What was counted since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The time, of which all times in here are.
    pub now_ns: u64,
    /// The steps of each CPU that are complete now, from CPU 0 on.
    pub steps: Vec<Vec<Step>>,
    /// The task that each CPU runs.
    pub runs: Vec<Option<u32>>,
    /// Whether it is on line.
    pub online: Vec<bool>,
    /// Tasks that did something, or of which something else is new.
    pub tasks: Vec<TaskCounts>,
    /// Latencies and tasks for which there was no room, since counting began.
    pub lost: u64,
}

/// The areas that are shared with the programs.
#[derive(Debug)]
struct Areas {
    shared: Area,
    waits: Area,
    cpus: Area,
    places: Area,
    logs: Area,
    histograms: Area,
}

/// Counts while it is there.
pub struct Counter {
    /// Before all else: nothing is written any more.
    links: Vec<Link>,
    object: Object,
    areas: Areas,
    groups: Groups,
    cpus: Vec<CpuReader>,
    tasks: Vec<TaskReader>,
    online: Vec<bool>,
    looks: u32,
    /// Times count from here, the beginning of a step.
    origin_ns: u64,
    begin_ns: u64,
}

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counter").field("begin_ns", &self.begin_ns).finish_non_exhaustive()
    }
}

impl Counter {
    /// Begins to count.
    pub fn start(options: &CountOptions) -> Result<Self, RecordError> {
        options.scope.check()?;
        let object = load(options)?;
        let refused = |what: &'static str| {
            move |e: io::Error| RecordError::refused(what, e.into(), rota_libbpf_log::take())
        };
        let areas = Areas::map(&object).map_err(refused("mapping the counts"))?;
        for which in 0..areas.histograms.len() as u32 {
            give_back(&object, "free_histograms", which).map_err(|e| {
                RecordError::refused("setting up the counts", e, rota_libbpf_log::take())
            })?;
        }
        let begin_ns = monotonic_ns();
        let mut counter = Self {
            links: Vec::new(),
            object,
            areas,
            groups: Groups::of_this_computer(),
            cpus: Vec::new(),
            tasks: Vec::new(),
            online: Vec::new(),
            looks: 0,
            origin_ns: begin_ns / STEP_NS * STEP_NS,
            begin_ns,
        };
        counter.see_cpus();
        counter.areas.shared.at(0).set(shared::BEGIN_NS, begin_ns);
        counter.links = attach::attach_programs(&counter.object, "counter")?;
        attach::go_through_tasks(&mut counter.object)?;
        let running = counter.running();
        let cpus = 0..counter.areas.cpus.len() as u64;
        counter.cpus =
            cpus.map(|cpu| CpuReader::new(begin_ns, running.get(&cpu).copied())).collect();
        Ok(counter)
    }

    /// CPUs from 0 to the last one that is on line.
    pub fn cpus(&self) -> usize {
        self.online.len()
    }

    /// When counting began, in the time of looks: a little after 0, which is the beginning of a step.
    pub fn begin_ns(&self) -> u64 {
        self.begin_ns - self.origin_ns
    }

    /// The time of looks.
    pub fn elapsed_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.origin_ns)
    }

    /// What was counted since the last look. Latencies are exact for the first 128 in each `half_ns`.
    pub fn look(&mut self, half_ns: u64) -> Look {
        self.looks += 1;
        if self.looks % LOOKS == 0 {
            self.see_cpus();
        }
        let now_ns = monotonic_ns();
        let tasks = self.read_tasks(now_ns);
        let steps = self.read_cpus(now_ns);
        let half = (now_ns - self.origin_ns) / half_ns;
        self.areas.shared.at(0).set(shared::HALF, half);
        let cpus = self.cpus.iter().take(self.online.len());
        Look {
            now_ns: now_ns - self.origin_ns,
            steps,
            runs: cpus.map(CpuReader::runs).collect(),
            online: self.online.clone(),
            tasks,
            lost: self.areas.shared.at(0).get(shared::LOST),
        }
    }

    fn read_cpus(&mut self, now_ns: u64) -> Vec<Vec<Step>> {
        let end = now_ns.saturating_sub(SETTLE_NS) / STEP_NS;
        self.cpus.iter_mut().for_each(|cpu| cpu.skip_to(end.saturating_sub(MOST_STEPS)));
        let cpus = self.cpus.iter_mut().take(self.online.len());
        let first = cpus.map(|cpu| cpu.next()).min().unwrap_or(end);
        let clock = |which: usize| match which < self.areas.waits.len() {
            true => Clock::read(self.areas.waits.at(which), first..=end, now_ns),
            false => Clock::default(),
        };
        let untied = clock(0);
        let cpus = self.cpus.iter_mut().take(self.online.len()).enumerate();
        cpus.map(|(cpu, reader)| {
            reader.read(self.areas.cpus.at(cpu), end, &untied, &clock(cpu + 1))
        })
        .collect()
    }

    fn read_tasks(&mut self, now_ns: u64) -> Vec<TaskCounts> {
        let used = self.areas.shared.at(0).get(shared::USED) as usize;
        let used = used.min(self.areas.places.len());
        self.tasks.resize_with(used, TaskReader::default);
        // In this order: of a task that has ended all is counted, and nothing comes any more.
        let ended: Vec<bool> = (0..used).map(|at| has_ended(self.areas.places.at(at))).collect();
        let mut logged = self.read_logs();
        let mut tasks = Vec::new();
        for (at, ended) in ended.into_iter().enumerate() {
            let of = self.areas.places.at(at);
            let reader = &mut self.tasks[at];
            let mut task = TaskCounts { place: at as u32, ended, ..TaskCounts::default() };
            let groups = &mut self.groups;
            task.about = reader.describe(of, |id| groups.path(id));
            let told = reader.read(of, now_ns, &mut task);
            if let Does::Waits { since_ns } = &mut task.does {
                *since_ns = since_ns.saturating_sub(self.origin_ns);
            }
            task.latencies = logged.remove(&task.place).unwrap_or_default();
            let histogram = of.get(place::HISTOGRAM).checked_sub(1).map(|which| which as usize);
            if let Some(which) = histogram.filter(|_| told) {
                reader.read_histogram(self.areas.histograms.at(which), &mut task.latencies);
            }
            let news = told || ended || task.about.is_some() || !task.latencies.is_empty();
            if ended {
                self.recycle(at, histogram);
            }
            if news {
                tasks.push(task);
            }
        }
        tasks
    }

    /// Makes the place of a task that has ended one of another.
    fn recycle(&mut self, at: usize, histogram: Option<usize>) {
        let about = self.areas.places.at(at).get(place::ABOUT);
        clear(self.areas.places.at(at));
        self.areas.places.at(at).set(place::ABOUT, about);
        self.tasks[at] = TaskReader::after(about);
        if let Some(which) = histogram {
            clear(self.areas.histograms.at(which));
            // There is always room for what was taken.
            let _ = give_back(&self.object, "free_histograms", which as u32);
        }
        let _ = give_back(&self.object, "free_places", at as u32);
    }

    /// Latencies that are kept as they are, by place.
    fn read_logs(&self) -> FxHashMap<u32, Vec<(u64, u64)>> {
        let mut logged: FxHashMap<u32, Vec<(u64, u64)>> = FxHashMap::default();
        for cpu in 0..self.areas.logs.len() {
            let of = self.areas.logs.at(cpu);
            let (head, tail) = (of.get(log::HEAD), of.get(log::TAIL));
            for at in tail..head {
                let entry = of.get(log::ENTRIES + (at % LOGGED) as usize);
                let (place, ns) = (entry >> LATENCY_BITS, entry & ((1 << LATENCY_BITS) - 1));
                logged.entry(place as u32).or_default().push((ns, 1));
            }
            of.set(log::TAIL, head);
        }
        logged
    }

    /// Which tasks ran where when counting began.
    fn running(&mut self) -> FxHashMap<u64, u32> {
        let used = self.areas.shared.at(0).get(shared::USED) as usize;
        let mut running = FxHashMap::default();
        for at in 0..used.min(self.areas.places.len()) {
            let of = self.areas.places.at(at);
            let mut task = TaskCounts::default();
            TaskReader::default().read(of, self.begin_ns, &mut task);
            if task.does == Does::Runs {
                running.insert(of.get(place::CPU), of.get(place::PID) as u32);
            }
        }
        running
    }

    /// Which CPUs are there now.
    fn see_cpus(&mut self) {
        let numbers = cpus::online();
        let last = numbers.iter().max().map_or(0, |last| *last as usize);
        let mut online = vec![false; (last + 1).min(self.areas.cpus.len())];
        let mut mask = 0u64;
        for cpu in numbers.iter().map(|cpu| *cpu as usize) {
            online.get_mut(cpu).into_iter().for_each(|online| *online = true);
            mask |= if cpu < TIED { 1 << cpu } else { 0 };
        }
        // A CPU that was there stays on the screen; of one that comes nothing is known from before.
        online.resize(online.len().max(self.online.len()), false);
        let now = monotonic_ns() / STEP_NS;
        self.cpus.iter_mut().skip(self.online.len()).for_each(|cpu| cpu.skip_to(now));
        let shared = self.areas.shared.at(0);
        shared.set(shared::ONLINE, mask);
        shared.set(shared::CPUS, online.len() as u64);
        self.online = online;
    }
}

impl Areas {
    fn map(object: &Object) -> io::Result<Self> {
        Ok(Self {
            shared: Area::map(object, ".data.shared", 6)?,
            waits: Area::map(object, "waits", waits::SIZE)?,
            cpus: Area::map(object, "cpus", cpu::SIZE)?,
            places: Area::map(object, "places", place::SIZE)?,
            logs: Area::map(object, "logs", log::SIZE)?,
            histograms: Area::map(object, "histograms", histogram::SIZE)?,
        })
    }
}

fn load(options: &CountOptions) -> Result<Object, RecordError> {
    let CountOptions { scope, kernel_threads } = *options;
    let whom = RecordOptions { scope, kernel_threads, ..RecordOptions::default() };
    attach::load(OBJECT, "counter", |open| {
        let cpus = libbpf_rs::num_possible_cpus()? as u32;
        attach::configure(open, &whom, &Hooks::default())?;
        for mut map in open.maps_mut() {
            match map.name().to_str() {
                Some("waits") => map.set_max_entries(1 + cpus.min(TIED as u32))?,
                Some("cpus" | "logs") => map.set_max_entries(cpus)?,
                _ => {}
            }
        }
        Ok(())
    })
}

fn has_ended(of: Words<'_>) -> bool {
    of.get(place::FLAGS) & place::HAS_ENDED != 0
}

fn clear(of: Words<'_>) {
    (0..of.0.len()).for_each(|at| of.set(at, 0));
}

/// Puts a number onto a stack of the programs.
fn give_back(object: &Object, stack: &str, number: u32) -> Result<(), libbpf_rs::Error> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let map = object.maps().find(|map| map.name() == stack).ok_or_else(missing)?;
    map.update(&[], &number.to_ne_bytes(), MapFlags::ANY)
}
