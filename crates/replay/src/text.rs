// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lives as the text of a workload file, a line for each work and what comes after it.

use crate::cause::Wait;
use crate::flows::{Flow, Streams};
use crate::groups::Groups;
use crate::life::{Life, LifeIx, Step};
use crate::load::Facts;
use crate::select::Chosen;
use crate::settings::{Keys, Settings};
use serde_json::{json, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write as _};
use std::sync::Arc;

/// How much longer than the recording the same work may take on another machine.
const LONGEST: u64 = 20;

/// The file, and the name of each task in it with the one that was recorded.
pub(crate) fn file(
    lives: &[Life],
    chosen: &Chosen,
    (groups, streams): (&Groups, &Streams),
    facts: &Facts,
    end_ns: u64,
) -> (BTreeMap<String, String>, String) {
    let names = names(lives, &chosen.kept);
    let sessions: BTreeSet<u32> = (0..lives.len())
        .filter(|at| chosen.kept[*at] && !chosen.kernels[*at])
        .map(|at| lives[at].session)
        .collect();
    let mentioned = BTreeSet::new();
    let several = sessions.len() > 1;
    let mut writer = Writer { lives, chosen, groups, streams, facts, names, several, mentioned };
    let text = writer.file(end_ns);
    let named = writer.names.into_iter().zip(lives);
    let names = named.filter_map(|(name, life)| Some((name?, plain(&life.name).to_owned())));
    (names.collect(), text)
}

/// A kernel thread's name without the brackets that recordings put around it.
fn plain(name: &str) -> &str {
    name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name)
}

/// Name and pid; a pid that was used again by a task of the same name gets a number.
fn names(lives: &[Life], kept: &[bool]) -> Vec<Option<String>> {
    let mut used = BTreeSet::new();
    let mut name_of = |life: &Life| {
        let first = format!("{}-{}", plain(&life.name), life.pid);
        let others = (2u32..).map(|number| format!("{first}-{number}"));
        std::iter::once(first.clone()).chain(others).find(|name| used.insert(name.clone()))
    };
    let named = lives.iter().zip(kept).map(|(life, kept)| kept.then(|| name_of(life)).flatten());
    named.collect()
}

/// A timer of the task's own.
fn timer(name: &str, period_us: u64) -> String {
    let name = Value::from(format!("unique {name}"));
    format!(r#"{{ "ref" : {name}, "period" : {period_us}, "mode" : "absolute" }}"#)
}

struct Writer<'a> {
    lives: &'a [Life],
    chosen: &'a Chosen,
    groups: &'a Groups,
    streams: &'a Streams,
    facts: &'a Facts,
    /// Of those that are kept.
    names: Vec<Option<String>>,
    /// There are several sessions.
    several: bool,
    /// Groups that a task is in.
    mentioned: BTreeSet<Arc<str>>,
}

impl Writer<'_> {
    fn file(&mut self, end_ns: u64) -> String {
        let longest = if self.facts.ends_itself { LONGEST } else { 1 };
        let seconds = end_ns.div_ceil(1_000_000_000).max(1) * longest;
        let mut text = String::new();
        for (line, about) in self.facts.about.iter().enumerate() {
            let about = about.replace("*/", "* /");
            let _ = writeln!(text, "{} {about}", if line == 0 { "/*" } else { " *" });
        }
        if !self.facts.about.is_empty() {
            text.push_str(" */\n");
        }
        let ends = if self.facts.ends_itself { ", \"ends_with_tasks\" : true" } else { "" };
        let _ = writeln!(text, "{{\n\t\"global\" : {{ \"duration\" : {seconds}{ends} }},");
        if let Some(machine) = &self.facts.machine {
            let _ = writeln!(text, "\t\"machine\" : {machine},");
        }
        self.streams(&mut text);
        text.push_str("\t\"tasks\" : {\n");
        let mut order: Vec<usize> =
            (0..self.lives.len()).filter(|at| self.chosen.kept[*at]).collect();
        order.sort_by_key(|at| (self.lives[*at].start_ns, self.lives[*at].pid, *at));
        for (number, at) in order.iter().enumerate() {
            self.task(&mut text, *at);
            text.push_str(if number + 1 == order.len() { "\n" } else { ",\n" });
        }
        text.push_str("\t}");
        self.parent_groups(&mut text);
        text.push_str("\n}\n");
        text
    }

    /// What tasks give to each other through.
    fn streams(&self, text: &mut String) {
        let lines = self.streams.values().map(|stream| {
            let mut keys = Keys::new();
            keys.extend(stream.capacity.map(|bytes| ("capacity", json!(bytes))));
            if stream.holds > 0 {
                keys.push(("holds", json!(stream.holds)));
            }
            if stream.refill > 1 {
                keys.push(("refill", json!(stream.refill)));
            }
            format!("\t\t{} : {{ {} }}", Value::from(stream.name.as_str()), listed(&keys))
        });
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            let _ = writeln!(text, "\t\"streams\" : {{\n{}\n\t}},", lines.join(",\n"));
        }
    }

    /// Groups that have groups only: no task tells what their files hold.
    fn parent_groups(&self, text: &mut String) {
        let above = self.groups.above(&self.mentioned);
        let lines = above.iter().map(|(path, key, value)| {
            let path = Value::from(path.as_str());
            format!("\t\t{{ \"at\" : 0, \"cgroup\" : {path}, \"{key}\" : {value} }}")
        });
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            let _ = write!(text, ",\n\t\"events\" : [\n{}\n\t]", lines.join(",\n"));
        }
    }

    fn task(&mut self, text: &mut String, at: LifeIx) {
        let life = &self.lives[at];
        let mut keys = Keys::new();
        match self.chosen.parents[at] {
            Some(_) => keys.push(("instance", json!(0))),
            None => {
                let delay_us = life.start_ns.unwrap_or(0) / 1000;
                if delay_us > 0 {
                    keys.push(("delay", json!(delay_us)));
                }
            }
        }
        let phases = phases(life);
        let first = phases[0].0;
        let is_kernels = self.chosen.kernels[at];
        if is_kernels {
            keys.push(("kthread", json!(true)));
            // It may be bound to them, which no phase can change.
            keys.extend(self.cpus(&life.now));
        } else if let Some(leader) = self.chosen.leaders[at] {
            keys.push(("thread_of", json!(self.names[leader])));
        } else if self.several && life.session != self.inherited(at) {
            keys.push(("session", json!(life.session.max(1))));
        }
        keys.extend(self.settings(at, first, &Settings::default(), phases.len() == 1));
        keys.push(("loop", json!(1)));
        let name = self.names[at].as_deref().unwrap_or_default();
        let _ = write!(text, "\t\t{} : {{\n\t\t\t{}", Value::from(name), listed(&keys));
        let mut events = Events::default();
        if let [(_, steps)] = phases.as_slice() {
            self.events(text, &mut events, at, steps, 3);
        } else {
            text.push_str(",\n\t\t\t\"phases\" : {\n");
            let mut before = first;
            for (number, (settings, steps)) in phases.iter().enumerate() {
                let keys = self.settings(at, settings, before, true);
                before = settings;
                let comma = if number == 0 { "" } else { ",\n" };
                let _ = write!(text, "{comma}\t\t\t\t\"{}\" : {{\n\t\t\t\t\t", number + 1);
                let keys = if keys.is_empty() { "\"loop\" : 1".to_owned() } else { listed(&keys) };
                text.push_str(&keys);
                self.events(text, &mut events, at, steps, 5);
                text.push_str("\n\t\t\t\t}");
            }
            text.push_str("\n\t\t\t}");
        }
        text.push_str("\n\t\t}");
    }

    /// The session that a task has from the task that forks it.
    fn inherited(&self, at: LifeIx) -> u32 {
        let parent = self.chosen.parents[at];
        // A thread has that of its process.
        parent.map_or(0, |parent| self.lives[self.chosen.leaders[parent].unwrap_or(parent)].session)
    }

    /// What differs from before; `cpus` do not last from one phase to the next.
    fn settings(&mut self, at: LifeIx, now: &Settings, before: &Settings, cpus: bool) -> Keys {
        let mut keys = now.keys_after(before);
        if self.chosen.kernels[at] {
            return keys;
        }
        if cpus {
            keys.extend(self.cpus(now));
        }
        let group = now.group();
        if group != before.group() {
            let group = match group {
                Some(path) => self.groups.mention(path, &mut self.mentioned),
                None => json!("/"),
            };
            keys.push(("taskgroup", group));
        }
        keys
    }

    /// CPUs as the machine of the file numbers them.
    fn cpus(&self, settings: &Settings) -> Option<(&'static str, Value)> {
        let own = settings.cpus.as_deref()?;
        let cpus: Vec<u32> = match &self.facts.cpus {
            Some(all) => {
                (0..).zip(all).filter(|(_, cpu)| own.contains(cpu)).map(|(at, _)| at).collect()
            }
            None => own.to_vec(),
        };
        let all = self.facts.cpus.as_ref().map_or(self.facts.nr_cpus as usize, Vec::len);
        // All of them, or none that the machine has: it is tied to none.
        let tied = !cpus.is_empty() && (all == 0 || cpus.len() < all);
        tied.then(|| ("cpus", json!(cpus)))
    }

    /// Microseconds, with what rounding left over in the next one, so that sums stay.
    fn events(
        &self,
        text: &mut String,
        state: &mut Events,
        at: LifeIx,
        steps: &[Step],
        indent: usize,
    ) {
        let mut any = false;
        let mut number = state.number;
        let mut event = |text: &mut String, key: &str, value: &dyn Display| {
            if std::mem::replace(&mut any, true) && key != "run" {
                text.push_str(", ");
            } else {
                let _ = write!(text, ",\n{}", "\t".repeat(indent));
            }
            number += 1;
            let _ = write!(text, "\"{key}{number}\" : {value}");
        };
        let mut left = steps;
        while let [step, rest @ ..] = left {
            left = rest;
            match step {
                Step::Run(ns) => {
                    state.run_ns += ns;
                    if state.run_ns >= 1000 {
                        event(text, "run", &(state.run_ns / 1000));
                        state.run_ns %= 1000;
                    }
                }
                Step::Sleep(ns) => {
                    state.sleep_ns += ns;
                    if state.sleep_ns >= 1000 {
                        event(text, "sleep", &(state.sleep_ns / 1000));
                        state.sleep_ns %= 1000;
                    }
                }
                Step::Tick { timer: name, to_ns } => {
                    let last_us = state.ticks.entry(Arc::clone(name)).or_default();
                    let period_us = (to_ns / 1000).saturating_sub(*last_us);
                    if period_us > 0 {
                        *last_us += period_us;
                        let name = if name.is_empty() { "timer" } else { name };
                        event(text, "timer", &timer(name, period_us));
                    }
                }
                Step::Until(ns) if *ns >= 1000 => {
                    let us = ns / 1000;
                    event(text, "timer", &timer(&format!("until {us}"), us));
                }
                Step::Until(_) => {}
                Step::Wait(wait) => event(text, "sem_wait", &self.semaphore(at, wait)),
                Step::Post { to, wait } if self.chosen.kept[*to] => {
                    event(text, "sem_post", &self.semaphore(*to, wait));
                }
                Step::Exit { to, wait } if self.chosen.kept[*to] => {
                    event(text, "exit", &self.semaphore(*to, wait));
                }
                Step::Fork(_) | Step::Vfork(_) if self.chosen.kernels[at] => {}
                Step::Fork(child) | Step::Vfork(child) => {
                    let Some(child) = &self.names[*child] else { continue };
                    let (fork, in_call) = (Value::from(child.as_str()), call(step, rest));
                    let Some((work_ns, wait, after)) = in_call else {
                        event(text, "fork", &fork);
                        continue;
                    };
                    left = after;
                    state.run_ns += work_ns;
                    let (run, wait) = (run(state.run_ns / 1000), self.semaphore(at, wait));
                    state.run_ns %= 1000;
                    event(
                        text,
                        "vfork",
                        &format!("{{ \"fork\" : {fork}, {run}\"sem_wait\" : {wait} }}"),
                    );
                }
                Step::Flow(flow) => {
                    state.run_ns += flow.work_ns;
                    event(text, "flow", &self.flow(flow, state.run_ns / 1000));
                    state.run_ns %= 1000;
                }
                Step::Yield => event(text, "yield", &"\"\""),
                // Those are settled, and these the beginnings of phases.
                Step::Timed { .. } | Step::Set(_) | Step::Post { .. } | Step::Exit { .. } => {}
            }
        }
        state.number = number;
        if !any {
            // A task must do something.
            let _ = write!(text, ",\n{}\"run\" : 0", "\t".repeat(indent));
        }
    }

    fn flow(&self, flow: &Flow, run_us: u64) -> String {
        let amounts = flow.parts.iter().filter_map(|(stream, (bytes, calls))| {
            let name = Value::from(self.streams.get(stream)?.name.as_str());
            Some(match calls {
                1 => format!("{name} : {bytes}"),
                calls => format!("{name} : [{bytes}, {calls}]"),
            })
        });
        let amounts = amounts.collect::<Vec<_>>().join(", ");
        let run = run(run_us);
        let word = if flow.puts { "put" } else { "take" };
        format!("{{ {run}\"{word}\" : {{ {amounts} }} }}")
    }

    /// What a task waits at in one call.
    fn semaphore(&self, at: LifeIx, wait: &str) -> Value {
        let wait = if wait.is_empty() { "wait" } else { wait };
        json!(format!("{} {wait}", self.names[at].as_deref().unwrap_or_default()))
    }
}

/// What a task that creates another one does next in the same call: so much work, and the wait. With what
/// comes after that.
fn call<'a>(step: &Step, mut after: &'a [Step]) -> Option<(u64, &'a Wait, &'a [Step])> {
    let mut work_ns = 0;
    while let (Step::Vfork(_), [next, rest @ ..]) = (step, after) {
        match next {
            Step::Run(ns) => work_ns += ns,
            Step::Wait(wait) => return Some((work_ns, wait, rest)),
            _ => break,
        }
        after = rest;
    }
    None
}

/// Work that is part of an event, if any.
fn run(us: u64) -> String {
    if us > 0 {
        format!("\"run\" : {us}, ")
    } else {
        String::new()
    }
}

/// What is left over from the events of a task that are written.
#[derive(Default)]
struct Events {
    run_ns: u64,
    sleep_ns: u64,
    number: u64,
    /// When each timer expired last.
    ticks: BTreeMap<Arc<str>, u64>,
}

/// The steps of a life between changes of its settings.
fn phases(life: &Life) -> Vec<(&Settings, &[Step])> {
    let mut phases = Vec::new();
    let (mut settings, mut begin) = (&life.first, 0);
    for (end, step) in life.steps.iter().enumerate() {
        let Step::Set(next) = step else { continue };
        // Settings under which nothing happens never hold.
        if end > begin {
            phases.push((settings, &life.steps[begin..end]));
        }
        (settings, begin) = (&**next, end + 1);
    }
    if begin < life.steps.len() || phases.is_empty() {
        phases.push((settings, &life.steps[begin..]));
    }
    phases
}

fn listed(keys: &Keys) -> String {
    let keys = keys.iter().map(|(key, value)| format!("\"{key}\" : {value}"));
    keys.collect::<Vec<_>>().join(", ")
}
