// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording: reads the buffer that the programs fill, gives events to a sink.

use super::attach::{self, attach, Attached};
use super::call_cost::{Around, Plain};
use super::callbacks::{self, Watched};
use super::cgroup::Cgroup;
use super::convert::Converter;
use super::cpus;
use super::error::RecordError;
use super::facts::{Counts, Facts, Lost, PickSource};
use super::groups::Groups;
use super::hooks::{self, Hooks};
use super::order::{Reorder, Timed};
use super::raw::Record;
use super::taken::Taken;
use super::traits::{AllTraits, Traits};
use crate::{live, sysfs};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, RingBuffer, RingBufferBuilder};
use rota_object::btf::Btf;
use rota_trace::Sink;
use rustix::time::{clock_gettime, ClockId};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// How far records may be out of order. A CPU can be stopped between reserving room and
/// reading the clock only if it is a virtual one, whose host does something else.
const WINDOW_NS: u64 = 20_000_000;
/// Room for records of each CPU; the buffers' least and largest size.
pub(crate) const DEFAULT_BUFFER: u32 = 8 << 20;
pub(crate) const LEAST_BUFFER: u32 = 4096;
pub(crate) const LARGEST_BUFFER: u32 = 1 << 30;

/// Whom to record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Every task but the recorder.
    #[default]
    System,
    /// A process with its threads, all that came from it, and all that will.
    Process(u32),
    /// All tasks that are in a cgroup or below it, or come there.
    Cgroup(Cgroup),
    /// What the thread that starts the recording creates from then on, with all that comes
    /// from it.
    Children,
}

impl Scope {
    /// An error if nothing can be of it.
    pub(crate) fn check(self) -> Result<(), RecordError> {
        match self {
            Self::Process(pid) if !Path::new("/proc").join(pid.to_string()).exists() => {
                Err(RecordError::NoProcess(pid))
            }
            _ => Ok(()),
        }
    }
}

/// What to record, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// Whom.
    pub scope: Scope,
    /// Kernel threads too, if all tasks are recorded.
    pub kernel_threads: bool,
    /// Callbacks of the policy, and queues: each call costs time then.
    pub detail: bool,
    /// What tasks give to each other through pipes and connections: each call costs time then.
    pub transfers: bool,
    /// Bytes of the buffer of each CPU: a power of two.
    pub buffer: u32,
    /// Keep up to so many records as they are before the sink gets them as events: what makes events
    /// of them takes CPU time from what is recorded, which a short recording can do at its end.
    pub batch: usize,
    /// Forget the traits of tasks that ended longer ago than this, in nanoseconds; `None`: never.
    pub forget_after_ns: Option<u64>,
}

impl Default for RecordOptions {
    fn default() -> Self {
        Self {
            scope: Scope::System,
            kernel_threads: true,
            detail: false,
            transfers: false,
            buffer: DEFAULT_BUFFER,
            batch: 0,
            forget_after_ns: None,
        }
    }
}

/// A recording under way.
pub struct Recorder {
    /// Before all else: nothing is written any more.
    links: Vec<Link>,
    watched: Vec<Watched>,
    buffer: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Record>>>,
    object: Object,
    order: Reorder<Record>,
    /// In order, not yet events.
    settled: VecDeque<Record>,
    converter: Converter,
    traits: AllTraits,
    kernel: Arc<Btf>,
    hooks: Hooks,
    detail: bool,
    batch: usize,
    cpus: u32,
    around: Around,
    begin_ns: u64,
    begin_cpu_ns: u64,
    records: u64,
    scheduler: Option<String>,
    enable_seq: Option<u64>,
    watched_names: Vec<String>,
    unwatched: Vec<String>,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

impl Timed for Record {
    fn time_ns(&self) -> u64 {
        self.time_ns
    }

    fn set_time_ns(&mut self, time_ns: u64) {
        self.time_ns = time_ns;
    }
}

impl Recorder {
    /// Begins a recording.
    pub fn start(options: &RecordOptions) -> Result<Self, RecordError> {
        if !options.buffer.is_power_of_two()
            || !(LEAST_BUFFER..=LARGEST_BUFFER).contains(&options.buffer)
        {
            return Err(RecordError::BufferSize(options.buffer.into()));
        }
        options.scope.check()?;
        let plain = options.transfers.then(Plain::measure);
        let kernel = live::kernel_btf()?;
        let hooks = Hooks::of(&kernel, &hooks::is_symbol, options.detail);
        // Functions in BTF can still refuse to be attached to; the rest goes without them.
        let (attached, hooks) = match attach(options, &hooks) {
            Ok(attached) => (attached, hooks),
            Err(error @ (RecordError::Privileges | RecordError::CgroupGone)) => return Err(error),
            Err(_) => {
                let fewer = hooks.without_functions();
                (attach(options, &fewer)?, fewer)
            }
        };
        let Attached { object, rings, links } = attached;
        let around = plain.map_or(Around::default(), |plain| plain.around(&object));
        let cpus = cpus::count_online();
        let arrived = Rc::new(RefCell::new(Vec::new()));
        let buffer = buffer_of(&rings, &arrived)?;
        let mut recorder = Self {
            links,
            watched: Vec::new(),
            buffer,
            arrived,
            order: Reorder::new(WINDOW_NS),
            settled: VecDeque::new(),
            converter: Converter::new(cpus, Groups::of_this_computer()),
            traits: AllTraits::new(options.forget_after_ns),
            kernel,
            hooks,
            detail: options.detail,
            batch: options.batch,
            cpus,
            object,
            around,
            begin_ns: 0,
            begin_cpu_ns: 0,
            records: 0,
            scheduler: None,
            enable_seq: None,
            watched_names: Vec::new(),
            unwatched: Vec::new(),
        };
        attach::go_through_tasks(&mut recorder.object)?;
        recorder.follow_scheduler();
        // What the preparations saw has the time 0.
        recorder.begin_ns = monotonic_ns();
        recorder.begin_cpu_ns = cpu_time_ns();
        recorder.converter.begin_at(recorder.begin_ns);
        Ok(recorder)
    }

    /// CPUs of the machine.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// When the recording began, on the monotonic clock; events count from there.
    pub fn begin_ns(&self) -> u64 {
        self.begin_ns
    }

    /// Time since the recording began.
    pub fn elapsed_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.begin_ns)
    }

    /// Up to this time all events are with the sink, in time since the recording began; without a batch.
    pub fn settled_ns(&self) -> u64 {
        self.elapsed_ns().saturating_sub(WINDOW_NS)
    }

    /// What was counted so far.
    pub fn counts(&self) -> Counts {
        Counts {
            records: self.records,
            lost: self.lost(),
            late: self.order.late(),
            repaired: self.converter.repaired(),
            recorder_cpu_ns: cpu_time_ns().saturating_sub(self.begin_cpu_ns),
        }
    }

    /// The sched_ext scheduler that is loaded, or was.
    pub fn scheduler(&self) -> Option<&str> {
        self.scheduler.as_deref()
    }

    /// Takes what the buffers hold, and gives a sink the events that are settled by now, if there are
    /// enough of them. To be called a few times a second.
    pub fn poll(&mut self, sink: &mut dyn Sink) -> Result<(), RecordError> {
        let now_ns = monotonic_ns();
        self.read()?;
        self.settled.extend(self.order.release(now_ns));
        // No more at a time than what came: whoever converts does not read meanwhile.
        let excess = self.settled.len().saturating_sub(self.batch);
        for record in self.settled.drain(..excess) {
            self.converter.convert(record, sink);
        }
        self.follow_scheduler();
        Ok(())
    }

    /// Ends the recording, and gives a sink the rest of the events.
    pub fn finish(
        mut self,
        sink: &mut dyn Sink,
    ) -> Result<(Facts, BTreeMap<u32, Traits>), RecordError> {
        let end_ns = monotonic_ns();
        let duration_ns = end_ns.saturating_sub(self.begin_ns);
        self.links.clear();
        self.watched.clear();
        self.read()?;
        self.settled.extend(self.order.release_rest());
        for record in std::mem::take(&mut self.settled) {
            // Taking programs away takes time, in which they still write.
            if record.time_ns <= end_ns {
                self.converter.convert(record, sink);
            }
        }
        self.converter.look_at_groups(end_ns, sink);
        let picks = self.hooks.programs.iter().any(|p| hooks::PICKS.contains(p));
        let facts = Facts {
            duration_ns,
            cpus: self.cpus,
            taken: Taken::of(&self.object, self.around),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            scheduler: self.scheduler.clone(),
            counts: self.counts(),
            picks: if picks { PickSource::Hook } else { PickSource::Switches },
            dispatches: self.hooks.dispatch.is_some(),
            callbacks: std::mem::take(&mut self.watched_names),
            unwatched: std::mem::take(&mut self.unwatched),
        };
        Ok((facts, self.traits.into_map()))
    }

    /// Takes what the buffer holds.
    fn read(&mut self) -> Result<(), RecordError> {
        let refused = |e| RecordError::refused("reading the buffer", e, String::new());
        self.buffer.consume().map_err(refused)?;
        let mut arrived = self.arrived.borrow_mut();
        for record in arrived.drain(..) {
            self.records += 1;
            self.traits.learn(&record);
            self.order.push(record);
        }
        Ok(())
    }

    /// Notices a scheduler that was loaded, and watches its callbacks if that is wanted.
    fn follow_scheduler(&mut self) {
        let seq = sysfs::enable_seq();
        let loaded = sysfs::loaded();
        if seq == self.enable_seq || loaded.is_none() {
            return;
        }
        (self.enable_seq, self.scheduler) = (seq, loaded);
        if !self.detail {
            return;
        }
        self.watched.clear();
        let mut callbacks = callbacks::loaded(&self.kernel);
        // Its end is the last thing to be missed.
        callbacks.sort_by_key(|callback| callback.name != "exit");
        for callback in callbacks {
            let op = self.converter.add_op(callback.name.clone().into());
            let shared = |name: &str| self.shared_map(name);
            // The policy may be gone by now.
            match callbacks::watch(&callback, op, &shared) {
                Ok(watched) => self.watched.push(watched),
                Err(error) => {
                    self.unwatched.push(error.to_string());
                    continue;
                }
            }
            if !self.watched_names.contains(&callback.name) {
                self.watched_names.push(callback.name);
            }
        }
    }

    /// A map that the programs on callbacks use too.
    fn shared_map(&self, name: &str) -> Option<OwnedFd> {
        let shared = ["rings", "pids", "lost"].contains(&name);
        let map = self.object.maps().find(|map| shared && map.name() == name)?;
        map.as_fd().try_clone_to_owned().ok()
    }

    fn lost(&self) -> Lost {
        let map = self.object.maps().find(|map| map.name() == "lost");
        let value = map.and_then(|m| m.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::empty()).ok());
        let counts = value.flatten().unwrap_or_default();
        let count = |bytes: &Vec<u8>| {
            bytes.get(..8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_ne_bytes)
        };
        Lost { per_cpu: counts.iter().map(count).collect() }
    }
}

/// The reader's end of the buffers.
fn buffer_of(
    rings: &[MapHandle],
    arrived: &Rc<RefCell<Vec<Record>>>,
) -> Result<RingBuffer<'static>, RecordError> {
    let refused = |e| RecordError::refused("reading the buffers", e, rota_libbpf_log::take());
    let mut builder = RingBufferBuilder::new();
    for ring in rings {
        let arrived = Rc::clone(arrived);
        let take = move |bytes: &[u8]| {
            arrived.borrow_mut().extend(Record::decode(bytes));
            0
        };
        builder.add(ring, take).map_err(refused)?;
    }
    builder.build().map_err(refused)
}

/// The clock of `bpf_ktime_get_ns()`.
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CPU time of this process.
fn cpu_time_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
