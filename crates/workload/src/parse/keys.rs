// SPDX-License-Identifier: MIT OR Apache-2.0
//! The keys of tasks and phases, and what an unknown one may have meant.

/// Keys a task may have beside its events.
pub(super) const TASK: [&str; 13] = [
    "instance",
    "delay",
    "arrive",
    "thread_of",
    "phases",
    "loop",
    "policy",
    "priority",
    "weight",
    "share",
    "cpus",
    "taskgroup",
    "dl-runtime",
];

/// The first keys of [`TASK`]: those that only a whole task has.
pub(super) const TASK_ONLY: [&str; 5] = ["instance", "delay", "arrive", "thread_of", "phases"];

/// Known to rt-app or planned, but without meaning in this version.
const NOT_YET: [&str; 11] = [
    "dl-period",
    "dl-deadline",
    "period",
    "deadline",
    "util_min",
    "util_max",
    "nodes_membind",
    "parent",
    "uid",
    "gid",
    "kthread",
];

/// Events that have no simulation yet and are not rt-app's own.
const NOT_YET_EVENTS: [&str; 3] = ["send", "recv", "reply"];

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKey {
    Sleep,
    Runtime,
    Run,
    Timer,
    Yield,
    Fork,
    Suspend,
    Resume,
    SemPost,
    SemWait,
    Barrier,
}

/// Prefixes of events in the order rt-app tries them: "runtime1" is `runtime`, "run1" `run`.
const EVENTS: [(&str, Kind); 20] = [
    ("lock", Kind::NotYet),
    ("unlock", Kind::NotYet),
    ("wait", Kind::NotYet),
    ("signal", Kind::NotYet),
    ("broad", Kind::NotYet),
    ("sync", Kind::NotYet),
    ("sleep", Kind::Event(EventKey::Sleep)),
    ("runtime", Kind::Event(EventKey::Runtime)),
    ("run", Kind::Event(EventKey::Run)),
    ("timer", Kind::Event(EventKey::Timer)),
    ("suspend", Kind::Event(EventKey::Suspend)),
    ("resume", Kind::Event(EventKey::Resume)),
    ("memrun", Kind::NotYet),
    ("mem", Kind::NotYet),
    ("iorun", Kind::NotYet),
    ("yield", Kind::Event(EventKey::Yield)),
    ("barrier", Kind::Event(EventKey::Barrier)),
    ("fork", Kind::Event(EventKey::Fork)),
    ("sem_post", Kind::Event(EventKey::SemPost)),
    ("sem_wait", Kind::Event(EventKey::SemWait)),
];

/// What a key of a task or phase is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One of [`TASK`].
    Setting,
    Event(EventKey),
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
        None if NOT_YET_EVENTS.iter().any(|prefix| key.starts_with(prefix)) => Kind::NotYet,
        None => Kind::Unknown,
    }
}

/// Every key a task or phase can have, for suggestions.
pub(super) fn all(in_phase: bool) -> impl Iterator<Item = &'static str> + Clone {
    let settings = if in_phase { &TASK[TASK_ONLY.len()..] } else { &TASK[..] };
    let events = EVENTS.iter().filter(|(_, kind)| *kind != Kind::NotYet);
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
        assert_eq!(kind("run1"), Kind::Event(EventKey::Run));
        assert_eq!(kind("run_a"), Kind::Event(EventKey::Run));
        assert_eq!(kind("runtime2"), Kind::Event(EventKey::Runtime));
        assert_eq!(kind("timer_x"), Kind::Event(EventKey::Timer));
        assert_eq!(kind("memrun1"), Kind::NotYet);
        assert_eq!(kind("sem_post1"), Kind::Event(EventKey::SemPost));
        assert_eq!(kind("sync"), Kind::NotYet);
        assert_eq!(kind("recv0"), Kind::NotYet);
        assert_eq!(kind("loops"), Kind::Unknown);
        assert_eq!(kind("loop"), Kind::Setting);
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
