// SPDX-License-Identifier: MIT OR Apache-2.0
//! The new names, each for one old one of its kind.

use crate::json::{Member, Node, Value};
use std::collections::HashMap;

/// Names that are replaced by a word and a number.
#[derive(Debug)]
pub(super) struct Names {
    word: &'static str,
    /// One that the grammar gives to what has no name.
    kept: &'static str,
    known: HashMap<String, String>,
}

impl Names {
    pub(super) fn new(word: &'static str, kept: &'static str) -> Self {
        Self { word, kept, known: HashMap::new() }
    }

    /// The new name of an old one; none and the grammar's own stay.
    pub(super) fn of(&mut self, old: &str) -> String {
        if old.is_empty() || old == self.kept {
            return old.to_owned();
        }
        let next = self.known.len() + 1;
        let new = || format!("{}-{next}", self.word);
        self.known.entry(old.to_owned()).or_insert_with(new).clone()
    }
}

/// Names of tasks.
#[derive(Debug)]
pub(super) struct TaskNames {
    known: HashMap<String, String>,
    /// Of what a resume of rt-app 1.0 can name besides tasks.
    others: Names,
}

/// A task as written, as far as its name needs it.
struct Written<'a> {
    name: &'a str,
    leader: Option<&'a str>,
    kernels: bool,
}

impl TaskNames {
    /// Names all tasks of a file. The number at the end of a name, as a pid, is not part of its kind.
    pub(super) fn new(tasks: &[Member]) -> Self {
        let written: Vec<Written<'_>> = tasks.iter().map(Written::of).collect();
        let mut names = Self { known: HashMap::new(), others: Names::new("name", "") };
        let (mut kinds, mut next) = (HashMap::new(), HashMap::new());
        // Threads are named after their processes.
        for threads in [false, true] {
            for task in written.iter().filter(|task| task.leader.is_some() == threads) {
                let (within, word) = match task.leader {
                    Some(leader) => {
                        let (process, _) = numbered(leader);
                        let process = kinds.get(&(String::new(), process.to_owned(), false));
                        (process.map_or("process", String::as_str).to_owned(), "thread")
                    }
                    None if task.kernels => (String::new(), "kthread"),
                    None => (String::new(), "process"),
                };
                let (kind, has_number) = numbered(task.name);
                let kind = (within.clone(), kind.to_owned(), task.kernels);
                let new_kind = kinds.entry(kind).or_insert_with(|| {
                    let number: &mut u32 = next.entry((within.clone(), word)).or_default();
                    *number += 1;
                    let slash = if within.is_empty() { "" } else { "/" };
                    format!("{within}{slash}{word}-{number}")
                });
                // Of one that had none: 0. So no task has the name of another one's instance.
                let number = match has_number {
                    true => {
                        let number: &mut u32 = next.entry((new_kind.clone(), "")).or_default();
                        *number += 1;
                        *number
                    }
                    false => 0,
                };
                names.known.insert(task.name.to_owned(), format!("{new_kind}-{number}"));
            }
        }
        names
    }

    /// The new name of a task, of one of its instances, or of what no task has.
    pub(super) fn of(&mut self, old: &str) -> String {
        if let Some(new) = self.known.get(old) {
            return new.clone();
        }
        let instance = old.rsplit_once('-').filter(|(_, number)| is_number(number));
        match instance.and_then(|(of, number)| Some((self.known.get(of)?, number))) {
            Some((of, number)) => format!("{of}-{number}"),
            None => self.others.of(old),
        }
    }
}

impl<'a> Written<'a> {
    fn of(member: &'a Member) -> Self {
        let mut task = Self { name: &member.key, leader: None, kernels: false };
        let Value::Object(members) = &member.node.value else { return task };
        for Member { key, node: Node { value, .. }, .. } in members {
            match (key.as_str(), value) {
                ("thread_of", Value::String(leader)) => task.leader = Some(leader),
                ("kthread", Value::Bool(kernels)) => task.kernels = *kernels,
                _ => {}
            }
        }
        task
    }
}

/// A name without the number at its end, and whether there was one.
fn numbered(name: &str) -> (&str, bool) {
    match name.rsplit_once('-') {
        Some((kind, number)) if !kind.is_empty() && is_number(number) => (kind, true),
        _ => (name, false),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Paths of cgroups: each part has its name, so that what is in another one stays there.
#[derive(Debug)]
pub(super) struct Paths {
    parts: Names,
}

impl Paths {
    pub(super) fn new() -> Self {
        Self { parts: Names::new("cgroup", "") }
    }

    pub(super) fn of(&mut self, old: &str) -> String {
        let parts: Vec<String> = old.split('/').map(|part| self.parts.of(part)).collect();
        parts.join("/")
    }
}
