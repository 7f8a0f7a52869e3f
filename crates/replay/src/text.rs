// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lives as the text of a workload file, a line for each work and what comes after it.

use crate::life::{Birth, Life, Step};
use crate::load::{Facts, Known, Replay, Waits};
use serde_json::{json, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write as _};

/// How much longer than the recording the same work may take on another machine.
const LONGEST: u64 = 20;

/// The file; `None` if no task worked.
pub(crate) fn replay(
    lives: &[Life],
    kept: &[bool],
    facts: &Facts,
    end_ns: u64,
    waits: Waits,
) -> Option<Replay> {
    if !lives.iter().zip(kept).any(|(life, kept)| *kept && life.work_ns > 0) {
        return None;
    }
    let writer = Writer { lives, kept, facts, names: names(lives, kept), leaders: BTreeMap::new() };
    let left_out = lives.iter().zip(kept).filter(|(life, kept)| !**kept && life.work_ns > 0);
    let names = writer
        .names
        .iter()
        .zip(lives)
        .filter_map(|(name, life)| Some((name.clone()?, plain(&life.name).to_owned())));
    Some(Replay {
        names: names.collect(),
        left_out: left_out.count() as u64,
        waits,
        text: writer.led().file(end_ns),
    })
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

/// A timer of its own that ends so long after the task's birth.
fn until(us: u64) -> String {
    format!(r#"{{ "ref" : "unique until {us}", "period" : {us}, "mode" : "absolute" }}"#)
}

struct Writer<'a> {
    lives: &'a [Life],
    kept: &'a [bool],
    facts: &'a Facts,
    /// Of those that are kept.
    names: Vec<Option<String>>,
    /// By process: the thread that was there first.
    leaders: BTreeMap<u32, usize>,
}

impl Writer<'_> {
    fn known(&self, at: usize) -> Option<&Known> {
        self.facts.tasks.get(&self.lives[at].pid)
    }

    /// Whether it belongs to the kernel: then it forks nothing.
    fn is_kernels(&self, at: usize) -> bool {
        self.known(at).is_some_and(|known| known.kernel_thread)
    }

    /// The task that forks it; `None`: it starts by itself.
    fn parent(&self, at: usize) -> Option<usize> {
        match self.lives[at].birth {
            Birth::By(parent) if self.kept[parent] && !self.is_kernels(parent) => Some(parent),
            _ => None,
        }
    }

    /// Finds who leads each process. Only a task that starts by itself can.
    fn led(mut self) -> Self {
        for (at, life) in self.lives.iter().enumerate().filter(|(at, _)| self.kept[*at]) {
            let Some(known) = self.known(at).filter(|known| !known.kernel_thread) else { continue };
            let (process, begins) = (known.process, life.start_ns.unwrap_or(0));
            let earlier = |other: &usize| self.lives[*other].start_ns.unwrap_or(0) <= begins;
            if process != 0 && !self.leaders.get(&process).is_some_and(earlier) {
                self.leaders.insert(process, at);
            }
        }
        let forked: BTreeSet<usize> =
            (0..self.lives.len()).filter(|at| self.parent(*at).is_some()).collect();
        self.leaders.retain(|_, at| !forked.contains(at));
        self
    }

    fn file(&self, end_ns: u64) -> String {
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
        text.push_str("\t\"tasks\" : {\n");
        let mut order: Vec<usize> = (0..self.lives.len()).filter(|at| self.kept[*at]).collect();
        order.sort_by_key(|at| (self.lives[*at].start_ns, self.lives[*at].pid, *at));
        for (number, at) in order.iter().enumerate() {
            self.task(&mut text, *at);
            text.push_str(if number + 1 == order.len() { "\n" } else { ",\n" });
        }
        text.push_str("\t}\n}\n");
        text
    }

    fn task(&self, text: &mut String, at: usize) {
        let life = &self.lives[at];
        let name = self.names[at].as_deref().unwrap_or_default();
        let mut settings = Vec::new();
        match self.parent(at) {
            Some(_) => settings.push(("instance", json!(0))),
            None => {
                let delay_us = life.start_ns.unwrap_or(0) / 1000;
                if delay_us > 0 {
                    settings.push(("delay", json!(delay_us)));
                }
            }
        }
        if let Some(known) = self.known(at) {
            if known.kernel_thread {
                settings.push(("kthread", json!(true)));
            } else if let Some(leader) = self.leaders.get(&known.process).filter(|l| **l != at) {
                settings.push(("thread_of", json!(self.names[*leader])));
            }
            if let Some(cpus) = &known.cpus {
                settings.push(("cpus", json!(cpus)));
            }
        }
        if life.weight != 100 {
            settings.push(("weight", json!(life.weight)));
        }
        settings.push(("loop", json!(1)));
        let _ = write!(text, "\t\t{} : {{\n\t\t\t", Value::from(name));
        let settings = settings.iter().map(|(key, value)| format!("\"{key}\" : {value}"));
        text.push_str(&settings.collect::<Vec<_>>().join(", "));
        self.events(text, at);
        text.push_str("\n\t\t}");
    }

    /// Microseconds, with what rounding left over in the next one, so that sums stay.
    fn events(&self, text: &mut String, at: usize) {
        let (mut run_ns, mut sleep_ns, mut number, mut any) = (0, 0, 0u64, false);
        let mut event = |text: &mut String, key: &str, value: &dyn Display| {
            if std::mem::replace(&mut any, true) && key != "run" {
                text.push_str(", ");
            } else {
                text.push_str(",\n\t\t\t");
            }
            number += 1;
            let _ = write!(text, "\"{key}{number}\" : {value}");
        };
        for step in &self.lives[at].steps {
            match step {
                Step::Run(ns) => {
                    run_ns += ns;
                    if run_ns >= 1000 {
                        event(text, "run", &(run_ns / 1000));
                        run_ns %= 1000;
                    }
                }
                Step::Sleep(ns) => {
                    sleep_ns += ns;
                    if sleep_ns >= 1000 {
                        event(text, "sleep", &(sleep_ns / 1000));
                        sleep_ns %= 1000;
                    }
                }
                Step::Until(ns) if *ns >= 1000 => {
                    event(text, "timer", &until(ns / 1000));
                }
                Step::Until(_) => {}
                Step::Wait(wait) => event(text, "sem_wait", &self.semaphore(at, wait)),
                Step::Post { to, wait } if self.kept[*to] => {
                    event(text, "sem_post", &self.semaphore(*to, wait));
                }
                Step::Fork(_) if self.is_kernels(at) => {}
                Step::Fork(child) => {
                    if let Some(child) = &self.names[*child] {
                        event(text, "fork", &Value::from(child.as_str()));
                    }
                }
                Step::Post { .. } => {}
            }
        }
        if !any {
            // A task must do something.
            text.push_str(",\n\t\t\t\"run\" : 0");
        }
    }

    /// What a task waits at in one call.
    fn semaphore(&self, at: usize, wait: &str) -> Value {
        let wait = if wait.is_empty() { "wait" } else { wait };
        json!(format!("{} {wait}", self.names[at].as_deref().unwrap_or_default()))
    }
}
