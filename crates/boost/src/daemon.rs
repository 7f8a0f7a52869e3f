// SPDX-License-Identifier: MIT OR Apache-2.0
//! The daemon: takes events from the programs, asks the engine, changes threads.

use crate::apply::{self, Ledger, Refusal, Threads, SHORT_SLICE_NS};
use crate::control::{Explanation, Listener, ThreadState};
use crate::customers::{self, Clients, Customers};
use crate::engine::{Engine, Settings, Step, Why};
use crate::error::BoostError;
use crate::groups::{self, Allowed, Groups};
use crate::load::{runnable_of, Load};
use crate::process::{self, Clock};
use crate::programs::{Level, Programs};
use crate::record::{Event, Kind, Worker};
use crate::request::Facts;
use crate::saved::SavedFile;
use crate::syscalls::{self, Attr};
use crate::table::{self, Family};
use crate::waiting::{self, Seen, Waiting};
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often boosted threads are looked at, and the longest time between two events of one.
const LOOK: Duration = Duration::from_millis(50);
/// How often the load is looked at while nobody is boosted.
const IDLE_LOOK: Duration = Duration::from_millis(250);
const SECOND_NS: u64 = 1_000_000_000;
/// Changes that are remembered of a process, and of how many processes.
const HISTORY: usize = 32;
const PROCESSES: usize = 512;
/// The daemon works little, but at once.
const OWN_NICE: i32 = -15;
const SHORT_SLICE_US: u64 = SHORT_SLICE_NS / 1000;

/// How to boost.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who is a customer.
    pub customers: Customers,
    /// What is done for who gets answers.
    pub clients: Clients,
    /// Limits.
    pub settings: Settings,
    /// The load is averaged over this time.
    pub load_window_ns: u64,
    /// Part of a CPU that the daemon may use; beyond it looks less often.
    pub own_cpu: f64,
    /// Where to remember what is to be taken back; nothing is changed without. What was done to
    /// groups is beside it, with the ending `.groups`.
    pub saved: Option<PathBuf>,
    /// Which groups may be raised.
    pub groups: Allowed,
    /// Where to answer questions.
    pub socket: Option<PathBuf>,
}

/// A line of the log.
#[derive(Clone, Debug)]
pub struct Change {
    /// On the monotonic clock.
    pub time_ns: u64,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its name.
    pub name: String,
    /// What happened and why.
    pub what: String,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seconds, ms) = (self.time_ns / SECOND_NS, self.time_ns / 1_000_000 % 1000);
        let Self { name, tgid, tid, what, .. } = self;
        write!(f, "{seconds}.{ms:03} {name}[{tgid}/{tid}] {what}")
    }
}

/// What the daemon did since it began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Threads that were boosted, each time anew.
    pub boosts: u64,
    /// Events read.
    pub events: u64,
    /// Events and threads that found no room.
    pub lost: u64,
    /// Boosted now.
    pub boosted: usize,
    /// Others that have a short slice now.
    pub waiting: usize,
    /// Runnable threads per CPU.
    pub load_per_cpu: f64,
    /// Part of a CPU that the daemon took in the last second.
    pub own_cpu: f64,
}

/// The daemon, for the kernel of this machine or something that only pretends to change it.
pub struct Daemon<T: Threads> {
    programs: Programs,
    engine: Engine,
    waiting: Waiting,
    ledger: Ledger<T>,
    groups: Groups,
    listener: Option<Listener>,
    history: HashMap<u32, VecDeque<String>>,
    load: Load,
    cpus: u32,
    active: bool,
    clocks: HashMap<u32, Clock>,
    names: HashMap<u32, (u32, String)>,
    /// Denials that were told already, by thread.
    denied: HashMap<u32, std::mem::Discriminant<Why>>,
    changes: Vec<Change>,
    totals: Totals,
    /// Times 2 to this power between looks, to stay below the limit of CPU time.
    slower: u32,
    own_limit: f64,
    second_ns: u64,
    second_cpu_ns: u64,
    looked_ns: u64,
    sampled_ns: u64,
}

impl<T: Threads> std::fmt::Debug for Daemon<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").field("totals", &self.totals).finish_non_exhaustive()
    }
}

/// What an earlier daemon left was taken back: how many threads had to be.
pub fn repair<T: Threads>(threads: &T, path: &Path) -> Result<(SavedFile, usize), BoostError> {
    let (mut file, left) = SavedFile::open(path)?;
    let mut repaired = 0;
    for saved in &left {
        match apply::restore(threads, saved) {
            Ok(_) => repaired += 1,
            Err(Refusal::Failed(e)) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(BoostError::Privileges);
            }
            // It ended, or will.
            Err(_) => {}
        }
    }
    file.clear()?;
    groups::repair(&groups_file(path))?;
    Ok((file, repaired))
}

fn groups_file(saved: &Path) -> PathBuf {
    let mut name = saved.as_os_str().to_owned();
    name.push(".groups");
    name.into()
}

impl<T: Threads> Daemon<T> {
    /// Takes back what an earlier one left, and begins. Returns how many threads that were.
    pub fn start(options: &Options, threads: T) -> Result<(Self, usize), BoostError> {
        let ordinary =
            syscalls::attr(0).unwrap_or(Attr { policy: 0, flags: 0, nice: 0, slice_ns: 0 });
        // First of all, as there must be one only.
        let listener = options.socket.as_deref().map(Listener::bind).transpose()?;
        let (file, repaired) = match &options.saved {
            Some(path) => {
                let (file, repaired) = repair(&threads, path)?;
                (Some(file), repaired)
            }
            None => (None, 0),
        };
        let programs = Programs::start(&options.customers, options.clients)?;
        if file.is_some() {
            let own = Attr { nice: OWN_NICE, slice_ns: SHORT_SLICE_NS, ..ordinary };
            syscalls::set_attr(0, &own).map_err(|_| BoostError::Privileges)?;
        }
        let now_ns = process::monotonic_ns();
        let mut daemon = Self {
            programs,
            engine: Engine::new(options.settings),
            waiting: Waiting::default(),
            ledger: Ledger::new(threads, file, ordinary.slice_ns),
            groups: Groups::new(options.groups, options.saved.as_deref().map(groups_file)),
            listener,
            history: HashMap::new(),
            load: Load::new(options.load_window_ns),
            cpus: process::cpus(),
            active: false,
            clocks: HashMap::new(),
            names: HashMap::new(),
            denied: HashMap::new(),
            changes: Vec::new(),
            totals: Totals::default(),
            slower: 0,
            own_limit: options.own_cpu,
            second_ns: now_ns,
            second_cpu_ns: process::own_cpu_ns(),
            looked_ns: now_ns,
            sampled_ns: 0,
        };
        daemon.programs.set_live(false, LOOK)?;
        daemon.sample(now_ns)?;
        Ok((daemon, repaired))
    }

    /// Waits until there is something to do, at most a quarter of a second, and does it.
    /// Returns what changed.
    pub fn step(&mut self) -> Result<Vec<Change>, BoostError> {
        let since = Duration::from_nanos(process::monotonic_ns().saturating_sub(self.looked_ns));
        let every = if self.ledger.is_empty() { IDLE_LOOK } else { self.interval() };
        let events = self.programs.wait(every.saturating_sub(since))?;
        let now_ns = process::monotonic_ns();
        self.totals.events += events.len() as u64;
        for event in events {
            self.event(now_ns, event);
        }
        if now_ns.saturating_sub(self.looked_ns) >= every.as_nanos() as u64 {
            self.looked_ns = now_ns;
            self.look(now_ns);
            self.look_at_waiting(now_ns);
            self.sample(now_ns)?;
            self.watch_oneself(now_ns)?;
            self.answer(now_ns);
        }
        let changes = std::mem::take(&mut self.changes);
        changes.iter().for_each(|change| self.remember(change));
        Ok(changes)
    }

    fn remember(&mut self, change: &Change) {
        if self.history.len() >= PROCESSES && !self.history.contains_key(&change.tgid) {
            self.history.retain(|pid, _| Path::new(&format!("/proc/{pid}")).exists());
            if self.history.len() >= PROCESSES {
                self.history.clear();
            }
        }
        let lines = self.history.entry(change.tgid).or_default();
        if lines.len() == HISTORY {
            lines.pop_front();
        }
        lines.push_back(change.to_string());
    }

    /// Answers a question, if there is one.
    fn answer(&mut self, now_ns: u64) {
        let Some(listener) = self.listener.take() else { return };
        listener.serve(|pid| self.explain(now_ns, pid));
        self.listener = Some(listener);
    }

    /// All that is known of a process.
    fn explain(&mut self, now_ns: u64, pid: u32) -> Explanation {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
        let tids: Vec<u32> =
            tasks.filter_map(|t| t.ok()?.file_name().to_str()?.parse().ok()).collect();
        let seen = tids.iter().find_map(|tid| self.engine.standing(*tid));
        let autogroup = seen.map(|(event, ..)| event.autogroup);
        let mut explanation =
            Explanation::new(pid, groups::confinement(pid, autogroup).to_string());
        for tid in tids {
            let Some(worker) = self.programs.worker(tid) else { continue };
            if let Some(uid) = self.engine.standing(tid).map(|(event, ..)| event.uid) {
                let left = self.engine.budgets_left(pid, uid, now_ns);
                (explanation.process_budget_left, explanation.user_budget_left) = left;
            }
            let standing = self.engine.standing(tid);
            explanation.threads.push(ThreadState {
                tid,
                name: process::name(tid).unwrap_or_default(),
                nice: self.ledger.nice(tid),
                phase: standing.map(|(_, phase, _)| format!("{phase:?}").to_lowercase()),
                open: worker.open,
                answers: worker.answers,
                barred_ms: self.engine.barred_ms(tid, now_ns),
            });
        }
        explanation.history = self.history.get(&pid).into_iter().flatten().cloned().collect();
        explanation
    }

    fn interval(&self) -> Duration {
        LOOK * (1 << self.slower)
    }

    fn load(&self) -> u32 {
        self.load.avenrun_per_cpu(self.cpus)
    }

    fn event(&mut self, now_ns: u64, event: Event) {
        let Event { tid, tgid, .. } = event;
        let Ok(clock) = Clock::open(tid) else { return };
        let Some(times) = clock.read() else { return };
        if event.kind == Kind::Answer {
            return self.answered(now_ns, &event);
        }
        let was_boosted = self.engine.standing(tid).is_some();
        let worker = self.programs.worker(tid);
        let facts = worker.map(|w| self.facts(now_ns, &w, times.wait_ns)).unwrap_or_default();
        match self.engine.event(now_ns, event, self.load(), times, facts) {
            Ok(_) if was_boosted => {}
            Ok(nice) => match self.ledger.boost(tid, nice) {
                Ok(()) => {
                    self.totals.boosts += 1;
                    self.waiting.forget(tid);
                    self.programs.set_level(tid, Level::Elevated);
                    self.clocks.insert(tid, clock);
                    let name = process::name(tid).unwrap_or_default();
                    self.names.insert(tid, (tgid, name));
                    self.denied.remove(&tid);
                    let why = self.reason(&event);
                    let group = self.groups.enter(tid, tgid, nice, event.autogroup);
                    self.change(now_ns, tid, format!("nice 0 -> {nice}: {why}; {group}"));
                }
                Err(refusal) => self.refuse(now_ns, &event, &refusal.to_string()),
            },
            Err(why) => self.deny(now_ns, &event, why, &why.to_string()),
        }
    }

    /// A thread got an answer.
    fn answered(&mut self, now_ns: u64, event: &Event) {
        let tid = event.tid;
        if self.ledger.nice(tid).is_some() || self.engine.is_refused(now_ns, tid) {
            return;
        }
        let Ok(clock) = Clock::open(tid) else { return };
        let Some(seen) = self.seen(tid, &clock) else { return };
        if !self.waiting.answered(now_ns, tid, event.family, seen, self.load()) {
            return;
        }
        match self.ledger.boost(tid, 0) {
            Ok(()) => {
                self.programs.set_level(tid, Level::Waits);
                self.clocks.insert(tid, clock);
                self.names.insert(tid, (event.tgid, process::name(tid).unwrap_or_default()));
                let why = self.reason(event);
                self.change(now_ns, tid, format!("slice -> {SHORT_SLICE_US} us: {why}"));
            }
            Err(refusal) => self.refuse(now_ns, event, &refusal.to_string()),
        }
    }

    /// What is known of a thread that waits for answers.
    fn seen(&self, tid: u32, clock: &Clock) -> Option<Seen> {
        let worker = self.programs.worker(tid)?;
        let cpu_ns = clock.read()?.cpu_ns;
        // Where the kernel does not say it, as many want each CPU.
        let running = match worker.running {
            0 => self.load.per_cpu(self.cpus).ceil() as u32,
            running => running,
        };
        Some(Seen { answer_ns: worker.answer_ns, running, cpu_ns })
    }

    /// A thread is not to be changed, as a person set it up.
    fn refuse(&mut self, now_ns: u64, event: &Event, why: &str) {
        self.engine.refused(now_ns, event.tid);
        if self.waiting.forget(event.tid) {
            self.programs.set_level(event.tid, Level::None);
        }
        self.deny(now_ns, event, Why::Settings, why);
    }

    /// In words, what somebody waits for.
    fn reason(&self, event: &Event) -> String {
        let load = self.load.per_cpu(self.cpus);
        let name =
            |pid: u32| process::name(pid).map(|n| format!(" {n}[{pid}]")).unwrap_or_default();
        let peer = name(event.peer);
        match event.kind {
            Kind::HandedOn => format!("woken by{peer}, which has a request open; load {load:.1}"),
            Kind::Request | Kind::Answer => {
                let what = if event.kind == Kind::Answer { "answer" } else { "request" };
                let family = match event.family {
                    Family::Unix => "UNIX",
                    Family::Network => "network",
                };
                let who = customers::describe(event.relation);
                format!("{what} by {family} socket from{peer} ({who}); load {load:.1}")
            }
        }
    }

    /// Tells of a denial, but not again and again.
    fn deny(&mut self, now_ns: u64, event: &Event, why: Why, text: &str) {
        let kind = std::mem::discriminant(&why);
        if why == Why::LowLoad || self.denied.insert(event.tid, kind) == Some(kind) {
            return;
        }
        let name = process::name(event.tid).unwrap_or_default();
        let what = format!("not boosted: {text}");
        let Event { tid, tgid, .. } = *event;
        self.changes.push(Change { time_ns: now_ns, tid, tgid, name, what });
    }

    fn change(&mut self, time_ns: u64, tid: u32, what: String) {
        let (tgid, name) = self.names.get(&tid).cloned().unwrap_or_default();
        self.changes.push(Change { time_ns, tid, tgid, name, what });
    }

    /// Looks at those that wait for answers.
    fn look_at_waiting(&mut self, now_ns: u64) {
        let load = self.load();
        for tid in self.waiting.threads() {
            let seen = self.clocks.get(&tid).and_then(|clock| self.seen(tid, clock));
            let nice = match self.waiting.look(now_ns, tid, seen, load) {
                waiting::Step::Nice(nice) => nice,
                waiting::Step::Release => {
                    let failed = self.ledger.release(tid).err();
                    let text = failed.map_or("no answers".into(), |e| format!("no answers; {e}"));
                    self.drop_waiting(now_ns, tid, &text);
                    continue;
                }
            };
            let was = self.ledger.nice(tid).unwrap_or_default();
            match self.ledger.boost(tid, nice) {
                Ok(()) if nice == was => {}
                Ok(()) if nice < 0 => {
                    self.change(
                        now_ns,
                        tid,
                        format!("nice {was} -> {nice}: it needs less than its share"),
                    );
                }
                Ok(()) => {
                    self.change(now_ns, tid, format!("nice {was} -> 0: it has had its share"))
                }
                Err(refusal) => {
                    self.engine.refused(now_ns, tid);
                    self.drop_waiting(now_ns, tid, &refusal.to_string());
                }
            }
        }
    }

    fn drop_waiting(&mut self, now_ns: u64, tid: u32, why: &str) {
        self.waiting.forget(tid);
        self.programs.set_level(tid, Level::None);
        self.clocks.remove(&tid);
        self.change(now_ns, tid, format!("its own slice: {why}"));
        self.names.remove(&tid);
    }

    /// Looks at the boosted threads.
    fn look(&mut self, now_ns: u64) {
        let load = self.load();
        for tid in self.engine.boosted() {
            let worker = self.programs.worker(tid);
            let times = self.clocks.get(&tid).and_then(Clock::read);
            let wait_ns = times.map_or(0, |times| times.wait_ns);
            let facts = worker.map(|w| self.facts(now_ns, &w, wait_ns));
            let was = self.ledger.nice(tid);
            match self.engine.look(now_ns, tid, facts, times, load) {
                Step::Nice(nice) if was == Some(nice) => {}
                Step::Nice(nice) => match self.ledger.boost(tid, nice) {
                    Ok(()) => {
                        let was = was.unwrap_or_default();
                        self.change(now_ns, tid, format!("nice {was} -> {nice}"));
                    }
                    Err(refusal) => {
                        self.engine.refused(now_ns, tid);
                        self.drop_thread(now_ns, tid, &refusal.to_string());
                    }
                },
                Step::Release(why) => {
                    if worker.is_some_and(|w| w.open > 0) && why == Why::Decayed {
                        self.programs.forget_open(tid);
                    }
                    let failed = self.ledger.release(tid).err();
                    let text = failed.map_or(why.to_string(), |e| format!("{why}; {e}"));
                    self.drop_thread(now_ns, tid, &text);
                }
            }
        }
    }

    fn drop_thread(&mut self, now_ns: u64, tid: u32, why: &str) {
        self.programs.set_level(tid, Level::None);
        self.groups.leave(tid);
        self.clocks.remove(&tid);
        self.change(now_ns, tid, format!("nice 0: {why}"));
        self.names.remove(&tid);
    }

    /// A helper's request is that of the thread which it helps. `wait_ns` is how long the thread
    /// has waited for a CPU in all.
    fn facts(&self, now_ns: u64, worker: &Worker, wait_ns: u64) -> Facts {
        let waited_ns = wait_ns.saturating_sub(worker.opened_wait_ns);
        let open_ns = now_ns.saturating_sub(worker.opened_ns).saturating_sub(waited_ns);
        let own = Facts {
            open: worker.open > 0,
            recv_ns: worker.recv_ns,
            send_ns: worker.send_ns,
            answers: worker.answers,
            served_ns: worker.served_ns + if worker.open > 0 { open_ns } else { 0 },
        };
        if own.open || worker.via == 0 || worker.helped_ns < worker.recv_ns {
            return own;
        }
        let Some(helped) = self.programs.worker(worker.via) else { return own };
        let answered = worker.send_ns >= worker.helped_ns;
        Facts {
            open: helped.open > 0 && !answered && now_ns >= worker.helped_ns,
            recv_ns: worker.helped_ns,
            send_ns: own.send_ns.max(helped.send_ns),
            answers: own.answers.wrapping_add(helped.answers),
            // Its time cannot be told apart as exactly; while it helps, all counts.
            served_ns: own.served_ns.saturating_add(now_ns),
        }
    }

    /// Takes a sample of the load, and switches the programs on or off by it.
    fn sample(&mut self, now_ns: u64) -> Result<(), BoostError> {
        if self.sampled_ns != 0 && now_ns.saturating_sub(self.sampled_ns) < SECOND_NS / 5 {
            return Ok(());
        }
        self.sampled_ns = now_ns;
        let path = Path::new("/proc/loadavg");
        let text = std::fs::read_to_string(path).map_err(|e| BoostError::file("read", path, e))?;
        self.load.sample(now_ns, runnable_of(&text).unwrap_or_default());
        let active = table::is_active(self.load());
        // While somebody is boosted, answers must be seen.
        let active = active || !self.ledger.is_empty();
        if active != self.active {
            self.active = active;
            self.programs.set_live(active, self.interval())?;
        }
        Ok(())
    }

    /// Keeps the daemon's own CPU time below its limit.
    fn watch_oneself(&mut self, now_ns: u64) -> Result<(), BoostError> {
        let wall_ns = now_ns.saturating_sub(self.second_ns);
        if wall_ns < SECOND_NS {
            return Ok(());
        }
        let cpu_ns = process::own_cpu_ns();
        let used = cpu_ns.saturating_sub(self.second_cpu_ns) as f64 / wall_ns as f64;
        (self.second_ns, self.second_cpu_ns, self.totals.own_cpu) = (now_ns, cpu_ns, used);
        let slower = match used {
            _ if used > self.own_limit => (self.slower + 1).min(5),
            _ if used < self.own_limit / 4.0 => self.slower.saturating_sub(1),
            _ => self.slower,
        };
        if slower != self.slower {
            self.slower = slower;
            self.programs.set_live(self.active, self.interval())?;
        }
        self.engine.tidy(now_ns);
        if self.denied.len() > 10_000 {
            self.denied.clear();
        }
        Ok(())
    }

    /// Counters up to now.
    pub fn totals(&self) -> Totals {
        Totals {
            lost: self.programs.lost(),
            boosted: self.ledger.len() - self.waiting.len(),
            waiting: self.waiting.len(),
            load_per_cpu: self.load.per_cpu(self.cpus),
            ..self.totals
        }
    }

    /// Gives everybody back what they had. Returns what did not work.
    pub fn finish(mut self) -> Vec<(u32, Refusal)> {
        self.groups.leave_all();
        self.ledger.release_all()
    }
}
