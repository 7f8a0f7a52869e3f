// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes threads, and takes it back. Threads with a nice value, a slice or a policy of their own
//! are never touched. What a boosted thread sets meanwhile stays, unless it would leave the thread
//! with a better nice value than before the boost: from there every better one is within its reach.

use crate::process;
use crate::saved::{Saved, SavedFile};
use crate::syscalls::{self, Attr, RESET_ON_FORK, SCHED_IDLE, SCHED_OTHER};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

/// Slice of a boosted thread, the shortest that the kernel takes: EEVDF picks the earliest
/// deadline, so a woken thread comes sooner. Nice alone makes lag and deadlines worse.
pub const SHORT_SLICE_NS: u64 = 100_000;

/// Who can be changed, and how. The kernel, or something in its place.
pub trait Threads {
    /// A thread's attributes.
    fn attr(&self, tid: u32) -> io::Result<Attr>;
    /// Sets them.
    fn set(&self, tid: u32, attr: &Attr) -> io::Result<()>;
    /// Sets its nice value alone, which any policy keeps for the time after it.
    fn renice(&self, tid: u32, nice: i32) -> io::Result<()>;
    /// When it began.
    fn started(&self, tid: u32) -> io::Result<u64>;
}

/// The kernel of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel;

impl Threads for Kernel {
    fn attr(&self, tid: u32) -> io::Result<Attr> {
        syscalls::attr(tid)
    }

    fn set(&self, tid: u32, attr: &Attr) -> io::Result<()> {
        syscalls::set_attr(tid, attr)
    }

    fn renice(&self, tid: u32, nice: i32) -> io::Result<()> {
        syscalls::renice(tid, nice)
    }

    fn started(&self, tid: u32) -> io::Result<u64> {
        process::start_time(tid)
    }
}

/// Reads from the kernel, and only remembers what it would have set.
#[derive(Debug, Default)]
pub struct DryRun {
    set: RefCell<HashMap<u32, Attr>>,
}

impl Threads for DryRun {
    fn attr(&self, tid: u32) -> io::Result<Attr> {
        let real = syscalls::attr(tid)?;
        Ok(self.set.borrow().get(&tid).copied().unwrap_or(real))
    }

    fn set(&self, tid: u32, attr: &Attr) -> io::Result<()> {
        match attr.flags & RESET_ON_FORK {
            0 => self.set.borrow_mut().remove(&tid),
            _ => self.set.borrow_mut().insert(tid, *attr),
        };
        Ok(())
    }

    fn renice(&self, tid: u32, nice: i32) -> io::Result<()> {
        if let Some(attr) = self.set.borrow_mut().get_mut(&tid) {
            attr.nice = nice;
        }
        Ok(())
    }

    fn started(&self, tid: u32) -> io::Result<u64> {
        process::start_time(tid)
    }
}

/// Why a thread is not changed.
#[derive(Debug)]
pub enum Refusal {
    /// It has a nice value, slice or policy that is not the default.
    SetByPerson(Attr),
    /// It ended.
    Gone,
    /// The kernel or the file system said no.
    Failed(io::Error),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SetByPerson(attr) if attr.policy != SCHED_OTHER => {
                write!(f, "it was given scheduling policy {}", attr.policy)
            }
            Self::SetByPerson(attr) if attr.nice != 0 => {
                write!(f, "it was given nice {}", attr.nice)
            }
            Self::SetByPerson(attr) => {
                write!(f, "it was given a slice of {} us", attr.slice_ns / 1000)
            }
            Self::Gone => f.write_str("it ended"),
            Self::Failed(error) => write!(f, "{error}"),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            // Of a system call, and of a file below /proc.
            Some(libc::ESRCH | libc::ENOENT) => Self::Gone,
            _ => Self::Failed(error),
        }
    }
}

#[derive(Debug)]
struct Entry {
    saved: Saved,
    slot: Option<u32>,
}

/// The threads that are boosted now.
#[derive(Debug)]
pub struct Ledger<T: Threads> {
    threads: T,
    file: Option<SavedFile>,
    default_slice_ns: u64,
    boosted: HashMap<u32, Entry>,
    /// What could not be taken back yet; it is still in the file.
    owed: Vec<Entry>,
}

impl<T: Threads> Ledger<T> {
    /// `default_slice_ns` is that of a thread that nobody changed; `file` is where to remember
    /// what is to be taken back.
    pub fn new(threads: T, file: Option<SavedFile>, default_slice_ns: u64) -> Self {
        Self { threads, file, default_slice_ns, boosted: HashMap::new(), owed: Vec::new() }
    }

    /// The nice value that a thread was given.
    pub fn nice(&self, tid: u32) -> Option<i32> {
        self.boosted.get(&tid).map(|entry| entry.saved.nice)
    }

    /// How many threads are boosted.
    pub fn len(&self) -> usize {
        self.boosted.len()
    }

    /// Is no thread boosted?
    pub fn is_empty(&self) -> bool {
        self.boosted.is_empty()
    }

    /// Gives a thread a nice value and a short slice, or another nice value.
    pub fn boost(&mut self, tid: u32, nice: i32) -> Result<(), Refusal> {
        if self.boosted.contains_key(&tid) {
            return self.change(tid, nice);
        }
        let before = self.threads.attr(tid)?;
        let started = self.threads.started(tid)?;
        if before.policy != SCHED_OTHER
            || before.nice != 0
            || before.slice_ns != self.default_slice_ns
        {
            return Err(Refusal::SetByPerson(before));
        }
        let saved = Saved { tid, started, before, nice };
        // First the note, then the change: killed in between, nothing is lost.
        let slot = match &mut self.file {
            Some(file) => Some(file.add(&saved).map_err(Refusal::Failed)?),
            None => None,
        };
        let entry = Entry { saved, slot };
        if let Err(error) = self.threads.set(tid, &boosted(before, nice)) {
            self.forget(&entry)?;
            return Err(error.into());
        }
        self.boosted.insert(tid, entry);
        Ok(())
    }

    fn change(&mut self, tid: u32, nice: i32) -> Result<(), Refusal> {
        let Some(entry) = self.boosted.get_mut(&tid) else { return Err(Refusal::Gone) };
        if entry.saved.nice == nice {
            return Ok(());
        }
        let now = self.threads.attr(tid).map_err(Refusal::from);
        let refusal = match now {
            Ok(now) if is_ours(&now, &entry.saved) => {
                let next = Saved { nice, ..entry.saved };
                if let (Some(file), Some(slot)) = (&self.file, entry.slot) {
                    file.write(slot, &next).map_err(Refusal::Failed)?;
                }
                entry.saved = next;
                let slice_ns = if now.slice_ns == 0 { SHORT_SLICE_NS } else { now.slice_ns };
                let next = Attr { slice_ns, ..boosted(entry.saved.before, nice) };
                match self.threads.set(tid, &next) {
                    Ok(()) => return Ok(()),
                    Err(error) => error.into(),
                }
            }
            Ok(now) => Refusal::SetByPerson(now),
            Err(refusal) => refusal,
        };
        self.release(tid)?;
        Err(refusal)
    }

    /// Gives a thread back what it had; see [`restore`] for what changed meanwhile.
    pub fn release(&mut self, tid: u32) -> Result<(), Refusal> {
        let Some(entry) = self.boosted.remove(&tid) else { return Ok(()) };
        self.give_back(entry)
    }

    /// What failed is owed: [`Self::retry`] tries again, and the file keeps it for a repair.
    fn give_back(&mut self, entry: Entry) -> Result<(), Refusal> {
        match restore(&self.threads, &entry.saved) {
            Ok(_) | Err(Refusal::Gone) => self.forget(&entry),
            Err(refusal) => {
                self.owed.push(entry);
                Err(refusal)
            }
        }
    }

    /// Tries again what could not be given back. Returns what still does not work.
    pub fn retry(&mut self) -> Vec<(u32, Refusal)> {
        let owed = std::mem::take(&mut self.owed);
        let again = |entry: Entry| (entry.saved.tid, self.give_back(entry));
        let results: Vec<_> = owed.into_iter().map(again).collect();
        results.into_iter().filter_map(|(tid, result)| Some((tid, result.err()?))).collect()
    }

    fn forget(&mut self, entry: &Entry) -> Result<(), Refusal> {
        match (&mut self.file, entry.slot) {
            (Some(file), Some(slot)) => file.remove(slot).map_err(Refusal::Failed),
            _ => Ok(()),
        }
    }

    /// Gives all threads back what they had; returns what did not work.
    pub fn release_all(&mut self) -> Vec<(u32, Refusal)> {
        self.owed.extend(self.boosted.drain().map(|(_, entry)| entry));
        self.retry()
    }
}

/// As a thread is while it is boosted. Its children are not.
fn boosted(before: Attr, nice: i32) -> Attr {
    let slice_ns = SHORT_SLICE_NS;
    Attr { nice, slice_ns, flags: before.flags | RESET_ON_FORK, ..before }
}

/// Is the nice value still the one that we gave?
fn is_ours(now: &Attr, saved: &Saved) -> bool {
    now.policy == saved.before.policy && now.nice == saved.nice
}

/// Takes a boost back. `false` if the thread has another nice value or policy than the boost gave
/// it. That one stays, but for a nice value that is better than the one before the boost: a thread
/// at -15 may set -14 itself, under whatever policy, and the kernel does not tell who set it.
pub fn restore<T: Threads>(threads: &T, saved: &Saved) -> Result<bool, Refusal> {
    let Saved { tid, before, .. } = *saved;
    if threads.started(tid)? != saved.started {
        return Err(Refusal::Gone);
    }
    let now = threads.attr(tid)?;
    let nice = now.nice.max(before.nice);
    if !now.takes_nice() {
        threads.renice(tid, nice)?;
    }
    // A real-time or deadline thread keeps the flag: without privileges it must have asked for it.
    if now.takes_nice() || now.policy == SCHED_IDLE {
        let slice_ns = own_slice_ns(&now, &before);
        threads.set(tid, &Attr { policy: now.policy, flags: before.flags, nice, slice_ns })?;
    }
    Ok(is_ours(&now, saved))
}

/// The slice that a thread set while it was boosted; 0, which asks for the kernel's own, if none.
fn own_slice_ns(now: &Attr, before: &Attr) -> u64 {
    match now.slice_ns {
        SHORT_SLICE_NS => 0,
        slice_ns if slice_ns == before.slice_ns => 0,
        slice_ns => slice_ns,
    }
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
