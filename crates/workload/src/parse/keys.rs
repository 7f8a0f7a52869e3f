// SPDX-License-Identifier: MIT OR Apache-2.0
//! The keys of tasks and phases, and what an unknown one may have meant.

use super::events::{flows, locks, meetings, memory, sockets, tasks, time, Read};

/// Keys of a file. The last one is for editors: where the schema of the file is.
pub(super) const FILE: [&str; 9] = [
    "tasks",
    "global",
    "resources",
    "sockets",
    "customers",
    "events",
    "machine",
    "streams",
    "$schema",
];

/// Keys a task may have beside its events.
pub(super) const TASK: [&str; 28] = [
    "instance",
    "delay",
    "arrive",
    "thread_of",
    "uid",
    "session",
    "kthread",
    "phases",
    "period",
    "deadline",
    "loop",
    "policy",
    "priority",
    "weight",
    "share",
    "cpus",
    "migrate_disable",
    "core_cookie",
    "taskgroup",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "work_class",
    "working_set_kib",
    "dram_share",
    "util_min",
    "util_max",
    "nodes_membind",
];

/// The first keys of [`TASK`]: those that only a whole task has.
pub(super) const TASK_ONLY: [&str; 10] = [
    "instance",
    "delay",
    "arrive",
    "thread_of",
    "uid",
    "session",
    "kthread",
    "phases",
    "period",
    "deadline",
];

/// Known to rt-app or planned, but without meaning in this version.
const NOT_YET: [&str; 2] = ["parent", "gid"];

/// Prefixes of events in the order rt-app tries them: "runtime1" is `runtime`, "run1" `run`.
static EVENTS: [(&str, Kind); 26] = [
    ("lock", Kind::Event(locks::lock)),
    ("unlock", Kind::Event(locks::unlock)),
    ("wait", Kind::Event(locks::wait)),
    ("signal", Kind::Event(locks::signal)),
    ("broad", Kind::Event(locks::broad)),
    ("sync", Kind::Event(locks::sync)),
    ("sleep", Kind::Event(time::sleep)),
    ("runtime", Kind::Event(time::runtime)),
    ("run", Kind::Event(time::run)),
    ("timer", Kind::Event(time::timer)),
    ("suspend", Kind::Event(tasks::suspend)),
    ("resume", Kind::Event(tasks::resume)),
    ("memrun", Kind::Event(memory::memrun)),
    ("mem", Kind::Event(memory::mem)),
    ("iorun", Kind::Event(memory::iorun)),
    ("yield", Kind::Event(time::yields)),
    ("barrier", Kind::Event(meetings::barrier)),
    ("fork", Kind::Event(tasks::fork)),
    ("sem_post", Kind::Event(meetings::sem_post)),
    ("sem_wait", Kind::Event(meetings::sem_wait)),
    // Not rt-app's.
    ("send", Kind::Event(sockets::send)),
    ("recv", Kind::Event(sockets::recv)),
    ("reply", Kind::Event(sockets::reply)),
    ("flow", Kind::Event(flows::flow)),
    ("vfork", Kind::Event(tasks::vfork)),
    ("exit", Kind::Event(tasks::exit)),
];

/// What a key of a task or phase is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// One of [`TASK`].
    Setting,
    /// An event and what reads it.
    Event(Read),
    /// Known, but not simulated by this version.
    NotYet,
    Unknown,
}

/// Classifies a key: settings by their full name, events by their prefix.
pub(super) fn kind(key: &str) -> Kind {
    if TASK.contains(&key) {
        return Kind::Setting;
    }
    match EVENTS.iter().find(|(prefix, _)| key.starts_with(prefix)) {
        Some((_, kind)) => *kind,
        None if NOT_YET.contains(&key) => Kind::NotYet,
        None => Kind::Unknown,
    }
}

/// The word of the grammar that the key of an event begins with; `None`: it is no event.
pub(crate) fn event_word(key: &str) -> Option<&'static str> {
    match kind(key) {
        Kind::Event(_) => EVENTS.iter().map(|(word, _)| *word).find(|word| key.starts_with(word)),
        _ => None,
    }
}

/// Every key a task or phase can have, for suggestions.
pub(super) fn all(in_phase: bool) -> impl Iterator<Item = &'static str> + Clone {
    let settings = if in_phase { &TASK[TASK_ONLY.len()..] } else { &TASK[..] };
    let events = EVENTS.iter().filter(|(_, kind)| matches!(kind, Kind::Event(_)));
    events.map(|(prefix, _)| *prefix).chain(settings.iter().copied())
}

/// `unknown key "rnu" (did you mean "run"?)`; without a near one, the known ones.
pub(super) fn unknown<'k>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> String {
    let distance = |known: &str| strsim::damerau_levenshtein(name, known);
    // One slip, and one more for every four letters.
    let near = 1 + name.chars().count() / 4;
    match known.clone().min_by_key(|k| distance(k)).filter(|k| distance(k) <= near) {
        Some(nearest) => format!("unknown {what} {name:?} (did you mean {nearest:?}?)"),
        None => {
            let known: Vec<&str> = known.take(24).collect();
            format!("unknown {what} {name:?}; known: {}", known.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_match_by_prefix_in_order() {
        assert_eq!(event_word("run1"), Some("run"));
        assert_eq!(event_word("run_a"), Some("run"));
        assert_eq!(event_word("runtime2"), Some("runtime"));
        assert_eq!(event_word("timer_x"), Some("timer"));
        assert_eq!(event_word("sem_post1"), Some("sem_post"));
        assert_eq!(event_word("memrun1"), Some("memrun"));
        assert_eq!(event_word("mem_run"), Some("mem"));
        assert_eq!(event_word("lock2"), Some("lock"));
        assert_eq!(event_word("recv0"), Some("recv"));
        assert_eq!(event_word("flow12"), Some("flow"));
        assert!(matches!(kind("loops"), Kind::Unknown));
        assert!(matches!(kind("loop"), Kind::Setting));
    }

    #[test]
    fn suggestions_are_near_or_a_list() {
        let text = |name| unknown("key", name, ["run", "sleep", "loop"].into_iter());
        assert_eq!(text("rnu"), "unknown key \"rnu\" (did you mean \"run\"?)");
        assert_eq!(text("slepp"), "unknown key \"slepp\" (did you mean \"sleep\"?)");
        assert_eq!(text("colour"), "unknown key \"colour\"; known: run, sleep, loop");
    }

    #[test]
    fn task_only_keys_lead_the_list() {
        assert_eq!(TASK[..TASK_ONLY.len()], TASK_ONLY);
    }
}
