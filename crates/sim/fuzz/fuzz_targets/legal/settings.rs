// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of tasks and phases. They stay in force from phase to phase, so what may follow what
//! depends on the kind of task.

use super::{member, File};
use libfuzzer_sys::arbitrary::{Result, Unstructured};

/// What the policies of a task may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// The scheduler's only: any nice value and task group.
    Fair,
    /// Any, each time with all that belongs to it, and in no task group.
    Any,
}

/// A group has one weight in all of a file.
const GROUPS: [&str; 7] = [
    r#""""#,
    r#""/""#,
    r#""/a""#,
    r#""/a/b/""#,
    r#"{"path": "/a", "cpu.weight": 300}"#,
    r#"{"path": "/a/b/c", "cpu.weight": 1}"#,
    r#"{"path": "/d", "cpu.weight": 10000}"#,
];

impl File {
    /// Of a task (`explicit`: it must name its policy) or of one of its phases.
    pub(super) fn settings(
        &self,
        u: &mut Unstructured<'_>,
        class: Class,
        explicit: bool,
    ) -> Result<Vec<String>> {
        let mut keys = match class {
            Class::Fair => fair(u, explicit)?,
            Class::Any => any(u)?,
        };
        if u.ratio(1, 6)? {
            keys.push(member("weight", &u.int_in_range(1..=10_000)?.to_string()));
        }
        if u.ratio(1, 4)? {
            // The most that policies take.
            let most = *u.choose(&[3, 100, 1_000_000])?;
            keys.push(member("share", &u.int_in_range(1..=most)?.to_string()));
        }
        // Deadline tasks need all CPUs.
        if class == Class::Fair && u.ratio(1, 5)? {
            let first = u.int_in_range(0..=self.cpus - 1)?;
            let mut cpus: Vec<u32> = (0..self.cpus).filter(|_| u.arbitrary() == Ok(true)).collect();
            cpus.push(first);
            keys.push(member("cpus", &format!("{cpus:?}")));
        }
        if self.smt > 1 && u.ratio(1, 5)? {
            keys.push(super::outside::cookie(u)?);
        }
        // The least is never above the most, whichever a phase changes.
        for (clamp, values) in [("util_min", 0..=400), ("util_max", 400..=1024)] {
            if u.ratio(1, 20)? {
                let value = if u.ratio(1, 5)? { -1 } else { u.int_in_range(values)? };
                keys.push(member(clamp, &value.to_string()));
            }
        }
        if u.ratio(1, 20)? {
            keys.push(member("nodes_membind", "[0, 1]"));
        }
        Ok(keys)
    }
}

fn fair(u: &mut Unstructured<'_>, explicit: bool) -> Result<Vec<String>> {
    let mut keys = Vec::new();
    if explicit || u.ratio(1, 4)? {
        let policy = u.choose(&["OTHER", "BATCH", "IDLE"])?;
        keys.push(format!(r#""policy": "SCHED_{policy}""#));
    }
    if u.ratio(1, 3)? {
        keys.push(member("priority", &u.int_in_range(-20..=19)?.to_string()));
    }
    if u.ratio(1, 8)? {
        keys.push(member("dl-runtime", &u.int_in_range(0..=200_000)?.to_string()));
    }
    if u.ratio(1, 4)? {
        keys.push(member("taskgroup", u.choose(&GROUPS)?));
    }
    Ok(keys)
}

fn any(u: &mut Unstructured<'_>) -> Result<Vec<String>> {
    let policy = *u.choose(&["OTHER", "BATCH", "IDLE", "RR", "FIFO", "DEADLINE"])?;
    let mut keys = vec![format!(r#""policy": "SCHED_{policy}""#)];
    match policy {
        "DEADLINE" => {
            // Small enough for several on one CPU.
            let period = u.int_in_range(1_000..=20_000)?;
            let runtime = u.int_in_range(10..=period / 20)?;
            let deadline = u.int_in_range(runtime..=period)?;
            for (key, us) in
                [("dl-runtime", runtime), ("dl-deadline", deadline), ("dl-period", period)]
            {
                keys.push(member(key, &us.to_string()));
            }
        }
        "RR" | "FIFO" => keys.push(member("priority", &u.int_in_range(1..=99)?.to_string())),
        _ => keys.push(member("priority", &u.int_in_range(-20..=19)?.to_string())),
    }
    Ok(keys)
}
