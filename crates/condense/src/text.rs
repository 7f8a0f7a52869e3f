// SPDX-License-Identifier: MIT OR Apache-2.0
//! The small workload as the text of a file.

use crate::fit::{Begin, Fit, Program, Request};
use crate::life::{LifeIx, What};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Settings that the tasks of the small workload have from those of the long one.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Keys of a workload file with their values.
    pub keys: Vec<(&'static str, Value)>,
    /// The task that it is a thread of.
    pub thread_of: Option<String>,
}

/// The task that makes the posts of the first round that come from nowhere.
const STARTER: &str = "first posts";
/// Work at a stretch of a task that never sleeps, in microseconds.
const BUSY_US: u64 = 100_000;

/// The file.
pub(crate) fn file(
    fit: &Fit<'_>,
    settings: &dyn Fn(&str) -> Settings,
    request: &Request,
) -> String {
    let mut writer = Writer { fit, settings, names: BTreeMap::new(), next: BTreeMap::new() };
    for program in &fit.programs {
        let name = writer.name(program.life);
        writer.names.insert(program.life, name);
    }
    writer.file(request)
}

struct Writer<'a> {
    fit: &'a Fit<'a>,
    settings: &'a dyn Fn(&str) -> Settings,
    /// Of the tasks of the part.
    names: BTreeMap<LifeIx, String>,
    /// The last number of each kind.
    next: BTreeMap<usize, u64>,
}

impl Writer<'_> {
    /// A new name for a task of the kind of one.
    fn name(&mut self, life: LifeIx) -> String {
        let kind = self.fit.watched.lives[life].kind;
        let number = self.next.entry(kind).or_default();
        *number += 1;
        format!("{}-{number}", self.fit.watched.kinds[kind])
    }

    fn file(&mut self, request: &Request) -> String {
        let mut text = String::new();
        for (line, about) in request.about.iter().enumerate() {
            let about = about.replace("*/", "* /");
            let _ = writeln!(text, "{} {about}", if line == 0 { "/*" } else { " *" });
        }
        if !request.about.is_empty() {
            text.push_str(" */\n");
        }
        let _ = writeln!(text, "{{\n\t\"global\" : {{ \"duration\" : {} }},", request.seconds);
        if let Some(machine) = &request.machine {
            let _ = writeln!(text, "\t\"machine\" : {machine},");
        }
        text.push_str("\t\"tasks\" : {\n");
        let mut tasks = Vec::new();
        let first = &self.fit.edges.first;
        if !first.is_empty() {
            let posts = first.iter().flat_map(|(to, count)| {
                let post = ("sem_post", Value::from(self.names[to].as_str()));
                std::iter::repeat_n(post, *count as usize)
            });
            tasks.push(task(STARTER, &[("loop", json!(1))], &posts.collect::<Vec<_>>()));
        }
        for program in &self.fit.programs {
            tasks.push(self.program(program));
        }
        for filler in &self.fit.fillers {
            let name = self.name(filler.life);
            let mut keys = vec![("instance", json!(filler.tasks))];
            keys.extend(self.settings_of(filler.life, None));
            keys.push(("loop", json!(-1)));
            let events =
                [("run", json!(filler.run_ns / 1000)), ("sleep", json!(filler.sleep_ns / 1000))];
            tasks.push(task(&name, &keys, &events));
        }
        text.push_str(&tasks.join(",\n"));
        text.push_str("\n\t}\n}\n");
        text
    }

    /// Settings of a task; of a thread with the task that it is one of, if that is there.
    fn settings_of(&self, life: LifeIx, own: Option<&Program>) -> Vec<(&'static str, Value)> {
        let settings = (self.settings)(&self.fit.watched.lives[life].of);
        let mut keys = settings.keys;
        if let Some(leader) = settings.thread_of.filter(|_| own.is_some()) {
            // Only one that starts by itself can be it.
            let leads = |program: &&Program| {
                program.begin != Begin::Forked
                    && self.fit.watched.lives[program.life].of == leader
                    && program.life != life
            };
            if let Some(program) = self.fit.programs.iter().find(leads) {
                keys.push(("thread_of", Value::from(self.names[&program.life].as_str())));
            }
        }
        keys
    }

    fn program(&self, program: &Program) -> String {
        let name = &self.names[&program.life];
        let mut keys = Vec::new();
        if program.begin == Begin::Forked {
            keys.push(("instance", json!(0)));
        }
        keys.extend(self.settings_of(program.life, Some(program)));
        keys.push(("loop", json!(if program.begin == Begin::Forked { 1 } else { -1 })));
        let mut events = Events::default();
        if let Begin::Each { after_ns } = program.begin {
            let period = self.fit.part.len_ns().div_ceil(1000);
            events.push(
                "timer",
                json!({ "ref": "unique round", "period": period, "mode": "absolute" }),
            );
            events.time("sleep", after_ns);
        }
        for at in program.steps.clone() {
            self.step(program, at, &mut events);
        }
        if program.begin == Begin::Busy && !events.all.iter().any(|(key, _)| *key == "run") {
            events.push("run", json!(BUSY_US));
        }
        if events.all.is_empty() {
            events.push("run", json!(0));
        }
        if program.begin != Begin::Forked && !events.any_time() {
            // A loop for ever must take time.
            events.push("sleep", json!(self.fit.part.len_ns().div_ceil(1000)));
        }
        task(name, &keys, &events.all)
    }

    fn step(&self, program: &Program, at: usize, events: &mut Events) {
        let step = self.fit.watched.lives[program.life].steps[at];
        let length = |ns| self.fit.lengths.of(program.life, at).unwrap_or(ns);
        match step.what {
            What::Run(ns) => events.time("run", length(ns)),
            What::Sleep(ns) => events.time("sleep", length(ns)),
            What::Wait { edge, ns } => match self.fit.edges.is_waited(edge) {
                true => events.push("sem_wait", json!(self.names[&program.life])),
                false => events.time("sleep", ns),
            },
            What::Post { edge } => {
                if let Some(to) = self.fit.edges.post(edge) {
                    events.push("sem_post", json!(self.names[&to]));
                }
            }
            What::Fork(child) => {
                if let Some(name) = self.names.get(&child) {
                    events.push("fork", json!(name));
                }
            }
        }
    }
}

/// Events of a task, with what rounding to microseconds left over in the next one.
#[derive(Default)]
struct Events {
    all: Vec<(&'static str, Value)>,
    run_ns: u64,
    sleep_ns: u64,
}

impl Events {
    fn push(&mut self, key: &'static str, value: Value) {
        self.all.push((key, value));
    }

    fn time(&mut self, key: &'static str, ns: u64) {
        let left_ns = if key == "run" { &mut self.run_ns } else { &mut self.sleep_ns };
        *left_ns += ns;
        let us = *left_ns / 1000;
        *left_ns %= 1000;
        if us > 0 {
            self.push(key, json!(us));
        }
    }

    fn any_time(&self) -> bool {
        self.all.iter().any(|(key, _)| matches!(*key, "run" | "sleep" | "timer" | "sem_wait"))
    }
}

/// A task with its settings in one line, and a line for each work with what comes after it.
fn task(name: &str, keys: &[(&str, Value)], events: &[(&str, Value)]) -> String {
    let mut text = format!("\t\t{} : {{\n\t\t\t", Value::from(name));
    let keys: Vec<String> =
        keys.iter().map(|(key, value)| format!("\"{key}\" : {value}")).collect();
    text.push_str(&keys.join(", "));
    for (number, (key, value)) in events.iter().enumerate() {
        text.push_str(if number == 0 || *key == "run" { ",\n\t\t\t" } else { ", " });
        let _ = write!(text, "\"{key}{}\" : {value}", number + 1);
    }
    text.push_str("\n\t\t}");
    text
}
