// SPDX-License-Identifier: MIT OR Apache-2.0
//! Goes through a workload file and finds what each of its strings is.

use super::names::{Names, Paths, TaskNames};
use crate::json::{Member, Node, Pos, Value};
use crate::parse::event_word;

/// Why a file cannot be made anonymous.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) at: Pos,
    pub(super) why: String,
}

/// The new strings of a file, in their order.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) strings: Vec<String>,
    tasks: TaskNames,
    phases: Names,
    semaphores: Names,
    barriers: Names,
    mutexes: Names,
    conditions: Names,
    timers: Names,
    buffers: Names,
    resources: Names,
    sockets: Names,
    streams: Names,
    customers: Names,
    cookies: Names,
    events: Names,
    paths: Paths,
}

/// How a timer's name begins that each task has for itself.
const OWN_TIMER: &str = "unique";
/// What a mutex, a condition or a timer is called that has no name.
const UNNAMED: &str = "unknown";

impl Walk {
    pub(super) fn new(root: &Node) -> Self {
        let names = |word| Names::new(word, "");
        let tasks = member(root, "tasks").and_then(|tasks| members(&tasks.node));
        Self {
            strings: Vec::new(),
            tasks: TaskNames::new(tasks.unwrap_or_default()),
            phases: names("phase"),
            semaphores: names("semaphore"),
            barriers: names("barrier"),
            mutexes: Names::new("mutex", UNNAMED),
            conditions: Names::new("condition", UNNAMED),
            timers: Names::new("timer", UNNAMED),
            buffers: names("buffer"),
            resources: names("resource"),
            sockets: names("socket"),
            streams: names("stream"),
            customers: names("customers"),
            cookies: names("cookie"),
            events: names("event"),
            paths: Paths::new(),
        }
    }

    /// The whole file, which is a valid one.
    pub(super) fn file(&mut self, root: &Node) -> Result<(), Refused> {
        for top in members(root).unwrap_or_default() {
            self.strings.push(top.key.clone());
            let parts = members(&top.node).unwrap_or_default();
            match top.key.as_str() {
                "tasks" => {
                    for task in parts {
                        let name = self.tasks.of(&task.key);
                        self.strings.push(name);
                        self.task(&task.node);
                    }
                }
                "global" => parts.iter().for_each(|part| self.global(part)),
                "machine" => self.machine(&top.node)?,
                "$schema" => self.empty(&top.node),
                "sockets" => {
                    for socket in parts {
                        let name = self.sockets.of(&socket.key);
                        self.strings.push(name);
                        self.keep(&socket.node);
                    }
                }
                "streams" => self.streams(parts),
                "customers" => {
                    for customers in parts {
                        let name = self.customers.of(&customers.key);
                        self.strings.push(name);
                        for part in members(&customers.node).unwrap_or_default() {
                            self.customers_key(part)?;
                        }
                    }
                }
                "events" => {
                    let Value::Array(events) = &top.node.value else { continue };
                    for part in events.iter().flat_map(|event| members(event).unwrap_or_default()) {
                        self.outside(part);
                    }
                }
                // Resources.
                _ => {
                    for resource in parts {
                        let name = self.resources.of(&resource.key);
                        self.strings.push(name);
                        for part in members(&resource.node).unwrap_or_default() {
                            self.strings.push(part.key.clone());
                            match (part.key.as_str(), text(&part.node)) {
                                ("target", Some(old)) => {
                                    let new = self.resources.of(old);
                                    self.strings.push(new);
                                }
                                ("target", None) => self.empty(&part.node),
                                _ => self.keep(&part.node),
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps all strings of a value.
    fn keep(&mut self, node: &Node) {
        match &node.value {
            Value::String(text) => self.strings.push(text.clone()),
            Value::Array(nodes) => nodes.iter().for_each(|node| self.keep(node)),
            Value::Object(members) => {
                for member in members {
                    self.strings.push(member.key.clone());
                    self.keep(&member.node);
                }
            }
            _ => {}
        }
    }

    /// Empties all strings of a value that means nothing.
    fn empty(&mut self, node: &Node) {
        match &node.value {
            Value::String(_) => self.strings.push(String::new()),
            Value::Array(nodes) => nodes.iter().for_each(|node| self.empty(node)),
            Value::Object(members) => {
                for member in members {
                    self.strings.push(String::new());
                    self.empty(&member.node);
                }
            }
            _ => {}
        }
    }

    /// Objects that have streams for keys.
    fn streams(&mut self, streams: &[Member]) {
        for stream in streams {
            let name = self.streams.of(&stream.key);
            self.strings.push(name);
            self.keep(&stream.node);
        }
    }

    fn global(&mut self, part: &Member) {
        self.strings.push(part.key.clone());
        match (part.key.as_str(), text(&part.node)) {
            ("io_device", Some(device)) if device != "/dev/null" => {
                self.strings.push("/dev/device".into());
            }
            // They have no effect.
            ("logdir" | "log_basename" | "ftrace", Some(_)) => self.strings.push(String::new()),
            _ => self.keep(&part.node),
        }
    }

    fn machine(&mut self, node: &Node) -> Result<(), Refused> {
        if let Some(name) = text(node) {
            if name.contains(['/', '.']) {
                let why = format!(
                    "the machine is in a file of its own, {name:?}: expected its keys here, so that \
                     names in them can be replaced"
                );
                return Err(Refused { at: node.at, why });
            }
            self.strings.push(name.to_owned());
            return Ok(());
        }
        for part in members(node).unwrap_or_default() {
            self.strings.push(part.key.clone());
            match (part.key.as_str(), text(&part.node)) {
                ("name", Some(_)) => self.strings.push("machine".into()),
                ("source", Some(_)) => self.strings.push("recorded".into()),
                _ => self.keep(&part.node),
            }
        }
        Ok(())
    }

    fn customers_key(&mut self, part: &Member) -> Result<(), Refused> {
        self.strings.push(part.key.clone());
        match (part.key.as_str(), text(&part.node)) {
            ("to", Some(socket)) => {
                let new = self.sockets.of(socket);
                self.strings.push(new);
            }
            ("at", Some(file)) => {
                let why = format!(
                    "arrivals are in a file of their own, {file:?}: expected an array of their times \
                     here, so that all of the workload is in one file"
                );
                return Err(Refused { at: part.node.at, why });
            }
            _ => self.keep(&part.node),
        }
        Ok(())
    }

    /// What happens from outside.
    fn outside(&mut self, part: &Member) {
        self.strings.push(part.key.clone());
        let Some(old) = text(&part.node) else { return self.keep(&part.node) };
        let new = match part.key.as_str() {
            "name" | "after" => self.events.of(old),
            "task" => self.tasks.of(old),
            "cgroup" | "move" => self.paths.of(old),
            "core_cookie" => self.cookies.of(old),
            _ => old.to_owned(),
        };
        self.strings.push(new);
    }

    /// A task or a phase of one.
    fn task(&mut self, node: &Node) {
        for (number, part) in members(node).unwrap_or_default().iter().enumerate() {
            match event_word(&part.key) {
                Some(word) => {
                    // Only a number may stand behind the word.
                    let rest = &part.key[word.len()..];
                    self.strings.push(match rest.bytes().all(|byte| byte.is_ascii_digit()) {
                        true => part.key.clone(),
                        false => format!("{word}{}", number + 1),
                    });
                    self.event(word, &part.node);
                }
                None => self.setting(part),
            }
        }
    }

    fn setting(&mut self, part: &Member) {
        self.strings.push(part.key.clone());
        match (part.key.as_str(), text(&part.node)) {
            ("phases", _) => {
                for phase in members(&part.node).unwrap_or_default() {
                    let name = self.phases.of(&phase.key);
                    self.strings.push(name);
                    self.task(&phase.node);
                }
            }
            ("thread_of", Some(old)) => {
                let new = self.tasks.of(old);
                self.strings.push(new);
            }
            ("core_cookie", Some(old)) => {
                let new = self.cookies.of(old);
                self.strings.push(new);
            }
            ("taskgroup", Some(old)) => {
                let new = self.paths.of(old);
                self.strings.push(new);
            }
            ("taskgroup", None) => {
                for part in members(&part.node).unwrap_or_default() {
                    self.strings.push(part.key.clone());
                    match (part.key.as_str(), text(&part.node)) {
                        ("path", Some(old)) => {
                            let new = self.paths.of(old);
                            self.strings.push(new);
                        }
                        _ => self.keep(&part.node),
                    }
                }
            }
            _ => self.keep(&part.node),
        }
    }

    fn event(&mut self, word: &str, node: &Node) {
        if word == "yield" {
            return self.empty(node);
        }
        if let Some(old) = text(node) {
            let new = match word {
                "fork" | "resume" | "suspend" => match old {
                    "" => String::new(),
                    old => self.tasks.of(old),
                },
                "exit" if old.is_empty() => String::new(),
                "sem_post" | "sem_wait" | "exit" => self.semaphores.of(old),
                "barrier" => self.barriers.of(old),
                "lock" | "unlock" => self.mutexes.of(old),
                "signal" | "broad" => self.conditions.of(old),
                "send" | "recv" | "reply" => self.sockets.of(old),
                // No other event has a text for its value.
                _ => old.to_owned(),
            };
            return self.strings.push(new);
        }
        let Some(parts) = members(node) else { return self.keep(node) };
        for part in parts {
            self.strings.push(part.key.clone());
            let Some(old) = text(&part.node) else {
                match (word, members(&part.node)) {
                    ("flow", Some(streams)) => self.streams(streams),
                    _ => self.keep(&part.node),
                }
                continue;
            };
            let new = match (word, part.key.as_str()) {
                ("timer", "ref") => match old.strip_prefix(OWN_TIMER) {
                    Some("") => old.to_owned(),
                    Some(_) => format!("{OWN_TIMER} {}", self.timers.of(old)),
                    None => self.timers.of(old),
                },
                ("memrun", "ref") => self.buffers.of(old),
                ("wait" | "sync", "ref") => self.conditions.of(old),
                ("wait" | "sync", "mutex") => self.mutexes.of(old),
                ("vfork", "fork") => self.tasks.of(old),
                ("vfork", "sem_wait") => self.semaphores.of(old),
                ("send", "to") => self.sockets.of(old),
                // Words of the grammar: modes, types, distributions.
                _ => old.to_owned(),
            };
            self.strings.push(new);
        }
    }
}

fn members(node: &Node) -> Option<&[Member]> {
    match &node.value {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

fn member<'a>(node: &'a Node, key: &str) -> Option<&'a Member> {
    members(node)?.iter().find(|member| member.key == key)
}

fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::String(text) => Some(text),
        _ => None,
    }
}
