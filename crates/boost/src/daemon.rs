// SPDX-License-Identifier: MIT OR Apache-2.0
//! The daemon: takes events from the programs, asks the engine, changes threads.

mod clients;
mod explain;
mod limits;
mod looks;
mod reasons;
mod servers;

use crate::account::{Accounts, Extra};
use crate::apply::{self, Ledger, Refusal, Threads, SHORT_SLICE_NS};
use crate::control::Listener;
use crate::customers::{Clients, Customers};
use crate::engine::{Engine, Settings, Why};
use crate::error::BoostError;
use crate::groups::{self, Allowed, Groups};
use crate::load::Load;
use crate::log::{Change, History};
use crate::people::People;
use crate::process;
use crate::programs::Programs;
use crate::saved::SavedFile;
use crate::syscalls::{self, Attr};
use crate::waiting::Waiting;
use crate::watched::Watched;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often boosted threads are looked at, and the longest time between two events of one.
const LOOK: Duration = Duration::from_millis(50);
/// How often the load is looked at while nobody is boosted.
const IDLE_LOOK: Duration = Duration::from_millis(250);
const SECOND_NS: u64 = 1_000_000_000;
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
    /// Limits of a request.
    pub settings: Settings,
    /// What servers may use beyond their users' fair share.
    pub extra: Extra,
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
    accounts: Accounts,
    ledger: Ledger<T>,
    groups: Groups,
    listener: Option<Listener>,
    history: History,
    load: Load,
    cpus: u32,
    active: bool,
    watched: Watched,
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
    let (mut repaired, mut failed) = (0, Vec::new());
    for saved in &left {
        match apply::restore(threads, saved) {
            Ok(_) => repaired += 1,
            Err(Refusal::Failed(e)) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(BoostError::Privileges);
            }
            // The next repair tries again.
            Err(Refusal::Failed(_)) => failed.push(saved),
            // It ended, or will.
            Err(_) => {}
        }
    }
    file.clear()?;
    for saved in failed {
        file.add(saved).map_err(|e| BoostError::file("write", path, e))?;
    }
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
        // Before the programs, which take seconds to load on a machine that has much to do.
        if file.is_some() {
            let own = Attr { nice: OWN_NICE, slice_ns: SHORT_SLICE_NS, ..ordinary };
            syscalls::set_attr(0, &own).map_err(|_| BoostError::Privileges)?;
        }
        let programs = Programs::start(&options.customers, options.clients)?;
        let now_ns = process::monotonic_ns();
        let mut daemon = Self {
            programs,
            engine: Engine::new(options.settings),
            waiting: Waiting::default(),
            accounts: Accounts::new(People::of_machine(), options.extra, now_ns),
            ledger: Ledger::new(threads, file, ordinary.slice_ns),
            groups: Groups::new(options.groups, options.saved.as_deref().map(groups_file)),
            listener,
            history: History::default(),
            load: Load::new(options.load_window_ns),
            cpus: process::cpus(),
            active: false,
            watched: Watched::new(process::room_for_threads()),
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
            self.sample(now_ns)?;
            self.watch_oneself(now_ns)?;
            self.answer(now_ns);
        }
        let changes = std::mem::take(&mut self.changes);
        changes.iter().for_each(|change| self.history.remember(change));
        Ok(changes)
    }

    fn interval(&self) -> Duration {
        LOOK * (1 << self.slower)
    }

    fn load(&self) -> u32 {
        self.load.avenrun_per_cpu(self.cpus)
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
