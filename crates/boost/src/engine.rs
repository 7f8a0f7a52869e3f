// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decides who is boosted and how far, from events and looks at the boosted threads. It touches
//! nothing itself.

use crate::conduct::{Conduct, Offence, Spell};
use crate::process::Times;
use crate::record::Event;
use crate::request::{Facts, Limits, Phase, Request};
use crate::table;
use std::collections::HashMap;
use std::fmt;

/// Who was refused by its own settings is not asked again for this time.
const SETTINGS_HOLD_NS: u64 = 10_000_000_000;

/// What a user may set.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// CPU time of one request, without an answer and without sleep.
    pub request_cpu_ns: u64,
    /// Ends of requests.
    pub limits: Limits,
}

/// Why a thread is not boosted, or no longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// The load is too low for it.
    LowLoad,
    /// It is barred for some more milliseconds.
    Barred(u64),
    /// Its own settings forbid it.
    Settings,
    /// As many threads are watched as the daemon has descriptors for.
    Room,
    /// Its last request was answered, and the elevation has decayed.
    Decayed,
    /// It does not behave like a server.
    Offence(Offence),
    /// It ended.
    Ended,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LowLoad => f.write_str("the load is low"),
            Self::Barred(ms) => write!(f, "barred for another {}.{} s", ms / 1000, ms / 100 % 10),
            Self::Settings => f.write_str("a person set its nice value, slice or policy"),
            Self::Room => f.write_str(
                "its user has as many boosted threads as there is room for: see LimitNOFILE",
            ),
            Self::Decayed => f.write_str("answered and decayed"),
            Self::Offence(offence) => write!(f, "{offence}"),
            Self::Ended => f.write_str("it ended"),
        }
    }
}

/// A boosted thread.
#[derive(Clone, Debug)]
struct Boosted {
    event: Event,
    request: Request,
    times: Times,
    looked_ns: u64,
    answers: u32,
    served_ns: u64,
    phase: Phase,
    nice: i32,
}

/// What follows from a look at a boosted thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// It shall have this nice value.
    Nice(i32),
    /// It shall have its own again.
    Release(Why),
}

/// Decides.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    boosted: HashMap<u32, Boosted>,
    conduct: HashMap<u32, Conduct>,
    /// Answers that offenders had given.
    owing: HashMap<u32, u32>,
    refused_until: HashMap<u32, u64>,
}

impl Engine {
    /// With nobody boosted.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            boosted: HashMap::new(),
            conduct: HashMap::new(),
            owing: HashMap::new(),
            refused_until: HashMap::new(),
        }
    }

    /// A thread received from a customer, or was handed a request: the nice value for it, or
    /// why it gets none. `load` is per CPU, in units of [`table::LOAD_ONE`].
    pub fn event(
        &mut self,
        now_ns: u64,
        event: Event,
        load: u32,
        times: Times,
        facts: Facts,
    ) -> Result<i32, Why> {
        let elevation = table::elevation(load, event.family).ok_or(Why::LowLoad)?;
        if self.is_refused(now_ns, event.tid) {
            return Err(Why::Settings);
        }
        let Facts { answers, served_ns, .. } = facts;
        let at_offence = self.owing.get(&event.tid).copied();
        if at_offence.is_some_and(|before| before != answers) {
            self.owing.remove(&event.tid);
            self.conduct.entry(event.tid).or_default().answered();
        }
        let barred_ns = self.conduct.get(&event.tid).map_or(0, Conduct::barred_until_ns);
        if barred_ns > now_ns {
            return Err(Why::Barred((barred_ns - now_ns) / 1_000_000));
        }
        self.boosted.entry(event.tid).or_insert_with(|| Boosted {
            event,
            request: Request::begin(elevation, event.time_ns),
            times,
            looked_ns: now_ns,
            answers,
            served_ns,
            phase: Phase::Open,
            nice: elevation.nice,
        });
        Ok(elevation.nice)
    }

    /// Was it refused lately, as a person set it up?
    pub fn is_refused(&self, now_ns: u64, tid: u32) -> bool {
        self.refused_until.get(&tid).is_some_and(|until| now_ns < *until)
    }

    /// The thread could not be boosted, as a person set it up.
    pub fn refused(&mut self, now_ns: u64, tid: u32) {
        self.boosted.remove(&tid);
        self.refused_until.insert(tid, now_ns + SETTINGS_HOLD_NS);
    }

    /// The thread is not boosted any more, for a reason of its own.
    pub fn forget(&mut self, tid: u32) {
        self.boosted.remove(&tid);
    }

    /// A look at a boosted thread; `None` for facts or times of one that ended.
    pub fn look(
        &mut self,
        now_ns: u64,
        tid: u32,
        facts: Option<Facts>,
        times: Option<Times>,
        load: u32,
    ) -> Step {
        let step = self.step(now_ns, tid, facts, times, load);
        if let Step::Release(_) = step {
            self.boosted.remove(&tid);
        }
        step
    }

    fn step(
        &mut self,
        now_ns: u64,
        tid: u32,
        facts: Option<Facts>,
        times: Option<Times>,
        load: u32,
    ) -> Step {
        let (Some(b), Some(facts), Some(times)) = (self.boosted.get_mut(&tid), facts, times) else {
            self.conduct.remove(&tid);
            self.owing.remove(&tid);
            return Step::Release(Why::Ended);
        };
        let spell = Spell {
            wall_ns: now_ns.saturating_sub(b.looked_ns),
            cpu_ns: times.cpu_ns.saturating_sub(b.times.cpu_ns),
            wait_ns: times.wait_ns.saturating_sub(b.times.wait_ns),
            served_ns: facts.served_ns.saturating_sub(b.served_ns),
            open: facts.open,
            answered: facts.answers != b.answers,
        };
        (b.times, b.looked_ns) = (times, now_ns);
        (b.answers, b.served_ns) = (facts.answers, facts.served_ns);
        let conduct = self.conduct.entry(tid).or_default();
        if let Some(offence) = conduct.account(now_ns, spell, self.settings.request_cpu_ns) {
            self.owing.insert(tid, facts.answers);
            return Step::Release(Why::Offence(offence));
        }
        let full = table::elevation(load, b.event.family);
        (b.phase, b.nice) = b.request.observe(now_ns, facts, full, self.settings.limits);
        match b.phase {
            Phase::Over => Step::Release(Why::Decayed),
            _ => Step::Nice(b.nice),
        }
    }

    /// The threads that are boosted.
    pub fn boosted(&self) -> Vec<u32> {
        self.boosted.keys().copied().collect()
    }

    /// The event that boosted a thread, and where its request stands.
    pub fn standing(&self, tid: u32) -> Option<(&Event, Phase, i32)> {
        self.boosted.get(&tid).map(|b| (&b.event, b.phase, b.nice))
    }

    /// For how many more milliseconds a thread is barred.
    pub fn barred_ms(&self, tid: u32, now_ns: u64) -> u64 {
        let until = self.conduct.get(&tid).map_or(0, Conduct::barred_until_ns);
        until.saturating_sub(now_ns) / 1_000_000
    }

    /// Forgets what does not matter any more. To be called now and then.
    pub fn tidy(&mut self, now_ns: u64) {
        let boosted = &self.boosted;
        self.conduct.retain(|tid, conduct| boosted.contains_key(tid) || !conduct.is_clean(now_ns));
        let conduct = &self.conduct;
        self.owing.retain(|tid, _| conduct.contains_key(tid));
        self.refused_until.retain(|_, until| *until > now_ns);
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
