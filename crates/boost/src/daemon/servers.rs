// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that answer requests.

use super::looks::Found;
use super::{Daemon, SHORT_SLICE_US};
use crate::apply::Threads;
use crate::engine::{Step, Why};
use crate::process::{self, Clock};
use crate::programs::Level;
use crate::record::{Event, Kind, Worker};
use crate::request::Facts;

/// Why a server has no nice value.
const HAD_ITS_SHARE: &str = "its user has used up its share and its part of the pool";

impl<T: Threads> Daemon<T> {
    pub(super) fn event(&mut self, now_ns: u64, event: Event) {
        let Event { tid, tgid, .. } = event;
        if event.kind == Kind::Answer {
            return self.answered(now_ns, &event);
        }
        let Some(clock) = self.clock(now_ns, &event) else { return };
        let Some(times) = clock.read() else { return };
        let was_boosted = self.engine.standing(tid).is_some();
        let worker = self.programs.worker(tid);
        let facts = worker.map(|w| self.facts(now_ns, &w, times.wait_ns)).unwrap_or_default();
        match self.engine.event(now_ns, event, self.load(), times, facts) {
            Ok(_) if was_boosted => {}
            Ok(nice) => {
                let nice = self.allowed(event.uid, nice);
                match self.ledger.boost(tid, nice) {
                    Ok(()) => {
                        self.totals.boosts += 1;
                        self.waiting.forget(tid);
                        self.programs.set_level(tid, Level::Elevated);
                        self.watch(now_ns, &event, clock, times, worker.as_ref());
                        let name = process::name(tid).unwrap_or_default();
                        self.names.insert(tid, (tgid, name));
                        self.denied.remove(&tid);
                        let why = self.reason(&event);
                        let what = match nice {
                            0 => format!("slice -> {SHORT_SLICE_US} us: {why}; {HAD_ITS_SHARE}"),
                            nice => {
                                let group = self.groups.enter(tid, tgid, nice, event.autogroup);
                                format!("nice 0 -> {nice}: {why}; {group}")
                            }
                        };
                        self.change(now_ns, tid, what);
                    }
                    Err(refusal) => self.refuse(now_ns, &event, &refusal.to_string()),
                }
            }
            Err(why) => self.deny(now_ns, &event, why, &why.to_string()),
        }
    }

    /// What the times of an event's thread are read from; `None` if it ended, or is denied one.
    pub(super) fn clock(&mut self, now_ns: u64, event: &Event) -> Option<Clock> {
        if !self.watched.has_room(event.tid, event.uid) {
            self.deny(now_ns, event, Why::Room, &Why::Room.to_string());
            return None;
        }
        match Clock::open(event.tid) {
            Ok(clock) => Some(clock),
            Err(error) => {
                if !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) {
                    let text = format!("its times cannot be read: {error}");
                    self.deny(now_ns, event, Why::Room, &text);
                }
                None
            }
        }
    }

    /// The nice value that a server of this user gets, where its request is worth this one.
    fn allowed(&self, uid: u32, nice: i32) -> i32 {
        if self.accounts.may_serve(uid) {
            nice
        } else {
            0
        }
    }

    /// Looks at a server.
    pub(super) fn look_at_server(&mut self, now_ns: u64, found: Found) {
        let Found { tid, uid, worker, times } = found;
        let wait_ns = times.map_or(0, |times| times.wait_ns);
        let facts = worker.map(|w| self.facts(now_ns, &w, wait_ns));
        let was = self.ledger.nice(tid).unwrap_or_default();
        match self.engine.look(now_ns, tid, facts, times, self.load()) {
            Step::Nice(worth) => {
                let nice = self.allowed(uid, worth);
                match self.ledger.boost(tid, nice) {
                    Ok(()) if nice == was => {}
                    Ok(()) => {
                        self.regroup(tid, was, nice);
                        let why = match (was, nice) {
                            (_, 0) => format!(": {HAD_ITS_SHARE}"),
                            (0, _) => ": its user may use more again".into(),
                            _ => String::new(),
                        };
                        self.change(now_ns, tid, format!("nice {was} -> {nice}{why}"));
                    }
                    Err(refusal) => {
                        self.engine.refused(now_ns, tid);
                        self.drop_thread(now_ns, tid, &refusal.to_string());
                    }
                }
            }
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

    /// Its group is raised as long as the thread is.
    fn regroup(&mut self, tid: u32, was: i32, nice: i32) {
        match self.engine.standing(tid) {
            Some((event, ..)) if was == 0 && nice < 0 => {
                self.groups.enter(tid, event.tgid, nice, event.autogroup);
            }
            _ if nice == 0 => self.groups.leave(tid),
            _ => {}
        }
    }

    fn drop_thread(&mut self, now_ns: u64, tid: u32, why: &str) {
        self.programs.set_level(tid, Level::None);
        self.groups.leave(tid);
        self.change(now_ns, tid, format!("nice 0: {why}"));
        self.unwatch(tid);
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
}
