// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a line's event says: as the kernel prints it, or as trace-cmd's plugin does.

use super::line::Line;
use crate::record::{comm, Named, Waker, What};
use crate::tracepoint::of_letters;

/// The record that a line is; `None`: of another event.
pub(super) fn read(line: &Line<'_>) -> Result<Option<What>, String> {
    let by = Waker { pid: line.pid, interrupt: line.interrupt };
    let text = line.text;
    Ok(Some(match line.event {
        "sched_switch" => switch(text).ok_or_else(|| {
            format!("\"{text}\": expected prev_comm=… prev_state=… ==> next_comm=…")
        })?,
        "sched_waking" => What::Waking { task: woken(text)?, by },
        "sched_wakeup" => What::Wakeup { task: woken(text)?, by },
        "sched_wakeup_new" => What::WakeupNew { task: woken(text)?, by },
        "sched_process_fork" => What::Fork {
            // Later kernels and perf's text differ in nothing but the first two.
            parent: number(text, "pid=").or_else(|_| number(text, "parent_pid="))?,
            child: number(text, "child_pid=")?,
            comm: comm(between(text, "child_comm=", " child_pid=")?.as_bytes()),
        },
        "sched_process_exit" => What::Exit { pid: number(text, "pid=")? },
        "sched_migrate_task" => What::Migrate { pid: number(text, "pid=")? },
        "task_rename" => What::Name {
            pid: number(text, "pid=")?,
            comm: comm(between(text, "newcomm=", " oom_score_adj=")?.as_bytes()),
        },
        _ => return Ok(None),
    }))
}

/// What is between two words.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Result<&'a str, String> {
    let found = text.split_once(from).and_then(|(_, rest)| rest.split_once(to));
    found.map(|(found, _)| found).ok_or_else(|| format!("\"{text}\": expected {from}…{to}"))
}

/// The number behind a word that begins the text or follows a blank.
fn number(text: &str, name: &str) -> Result<u32, String> {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(name)) {
        let begin = from + at;
        from = begin + name.len();
        if begin > 0 && text.as_bytes()[begin - 1] != b' ' {
            continue;
        }
        let digits = text[from..].split(' ').next().unwrap_or_default();
        // Beside a task's name that looks like this.
        if let Ok(number) = digits.parse() {
            return Ok(number);
        }
    }
    Err(format!("\"{text}\": expected {name} and a number"))
}

fn switch(text: &str) -> Option<What> {
    let (prev, next) = text.rsplit_once(" ==> ")?;
    if let Some(prev) = prev.strip_prefix("prev_comm=") {
        let (name, prev) = prev.rsplit_once(" prev_pid=")?;
        let (pid, prev) = prev.split_once(" prev_prio=")?;
        let (prio, state) = prev.split_once(" prev_state=")?;
        let prev = named(name, pid, prio)?;
        let (name, next) = next.strip_prefix("next_comm=")?.rsplit_once(" next_pid=")?;
        let (pid, prio) = next.split_once(" next_prio=")?;
        // perf adds nothing; others may.
        let next = named(name, pid, prio.split(' ').next()?)?;
        return Some(What::Switch { prev, left: of_letters(state)?, next });
    }
    let (prev, state) = prev.rsplit_once(' ')?;
    Some(What::Switch { prev: plugin(prev)?, left: of_letters(state)?, next: plugin(next)? })
}

fn named(name: &str, pid: &str, prio: &str) -> Option<Named> {
    let (pid, prio) = (pid.parse().ok()?, prio.parse().ok()?);
    Some(Named { pid, comm: comm(name.as_bytes()), prio: Some(prio) })
}

/// `name:12 [120]`, as trace-cmd's plugin writes it.
fn plugin(text: &str) -> Option<Named> {
    let (task, prio) = text.trim().strip_suffix(']')?.rsplit_once(" [")?;
    let (name, pid) = task.rsplit_once(':')?;
    named(name, pid, prio)
}

fn woken(text: &str) -> Result<Named, String> {
    let kernel = |text: &str| -> Option<Named> {
        let (name, rest) = text.strip_prefix("comm=")?.rsplit_once(" pid=")?;
        let (pid, rest) = rest.split_once(" prio=")?;
        named(name, pid, rest.split(' ').next()?)
    };
    // `name:12 [120] success=1 CPU:001`
    let plugged = |text: &str| -> Option<Named> {
        let end = text.rfind(']')?;
        plugin(&text[..=end])
    };
    kernel(text)
        .or_else(|| plugged(text))
        .ok_or_else(|| format!("\"{text}\": expected comm=… pid=… prio=…"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Left;

    fn read_text(event: &str, text: &str) -> Result<Option<What>, String> {
        read(&Line { pid: 9, cpu: 0, interrupt: Some(false), time_ns: 0, event, text })
    }

    fn task(name: &str, pid: u32, prio: i32) -> Named {
        Named { pid, comm: comm(name.as_bytes()), prio: Some(prio) }
    }

    #[test]
    fn the_kernels_and_the_plugins_switches_are_the_same() {
        let kernel = "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=x:y \
                      next_pid=8 next_prio=98";
        let plugin = "a b:7 [120] R+ ==> x:y:8 [98]";
        let left = Left::Runnable;
        let expected = What::Switch { prev: task("a b", 7, 120), left, next: task("x:y", 8, 98) };
        assert_eq!(read_text("sched_switch", kernel), Ok(Some(expected)));
        assert_eq!(read_text("sched_switch", plugin), Ok(Some(expected)));
    }

    #[test]
    fn wakeups_of_all_kernels_are_read() {
        let task = task("a pid=3", 7, 120);
        let by = Waker { pid: 9, interrupt: Some(false) };
        for text in [
            "comm=a pid=3 pid=7 prio=120 target_cpu=001",
            "comm=a pid=3 pid=7 prio=120 success=1 target_cpu=001",
            "a pid=3:7 [120] CPU:001",
            "a pid=3:7 [120] success=1 CPU:001",
        ] {
            assert_eq!(
                read_text("sched_wakeup", text),
                Ok(Some(What::Wakeup { task, by })),
                "{text}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let error = read_text("sched_switch", "prev_comm=a prev_pid=x").unwrap_err();
        assert!(error.contains("prev_pid=x") && error.contains("==>"), "{error}");
        let error = read_text("sched_process_fork", "comm=a pid=1 child_comm=b").unwrap_err();
        assert!(error.contains("child_pid="), "{error}");
        assert_eq!(read_text("sched_stat_runtime", "x"), Ok(None));
    }
}
