// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done in the machine: the paper's four tasks on one CPU, under each scheduler.

use super::numbers::{Measured, Task, TASKS, WINDOW_NS};
use crate::guest::Guest;
use crate::kernel::Role;
use crate::plan::Boot;
use crate::qemu::Pace;
use crate::verdict;
use anyhow::{Context, Result};
use rota_guest::job::Job;
use rota_guest::record::Record;
use rota_guest::span::Span;
use rota_guest::step::{Command, Step};
use serde::Deserialize;

/// A scheduler of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// In tables.
    pub name: &'static str,
    /// Of its job and its picture.
    pub id: &'static str,
    /// None: the kernel's own.
    policy: Option<&'static str>,
    set: &'static [&'static str],
}

/// The paper's three, and what there is now.
pub const ENTRIES: [Entry; 5] = [
    Entry { name: "PBS, alpha 2", id: "pbs", policy: Some("pbs"), set: &["alpha=2", "beta=+inf"] },
    Entry {
        name: "PBS, alpha 2, gamma 0.07",
        id: "pbs-gamma",
        policy: Some("pbs"),
        set: &["alpha=2", "beta=+inf", "gamma=0.07"],
    },
    Entry { name: "O(1)", id: "o1", policy: Some("o1"), set: &[] },
    Entry { name: "EEVDF, policy", id: "eevdf", policy: Some("eevdf"), set: &[] },
    Entry { name: "EEVDF, the kernel's own", id: "kernel", policy: None, set: &[] },
];

/// The tasks are tied to one CPU, and all else is on the other.
pub fn boot() -> Boot {
    Boot {
        kernel: Role::Newest,
        cpus: 2,
        guest: Guest::Bare,
        pace: Pace::Counted,
        part: 1,
        jobs: ENTRIES.iter().map(job).collect(),
    }
}

fn name(entry: &Entry) -> String {
    format!("shares/{}", entry.id)
}

fn job(entry: &Entry) -> Job {
    let us = |seconds: f64| (seconds * 1e6).round() as u64;
    let task = |(begins, work): &(f64, f64)| format!("{}us:{}us", us(*begins), us(*work));
    let tasks = TASKS.iter().map(task).collect::<Vec<_>>().join(",");
    let window = format!("{WINDOW_NS}ns");
    let bench = ["/bin/rota", "bench", "shares", "--json", "--cpu", "1"];
    let plan = ["--task", &tasks, "--window", &window];
    let join = entry.policy.map(|_| ["/bin/rota-guest", "join"]);
    let words = join.iter().flatten().chain(&bench).chain(&plan);
    let run = Command::measuring(words, Span::from_ms(60_000));
    // Only the four are clients. A kernel's thread that wakes up among them would be one, too, and
    // who runs when it sleeps again is not the one that ran before: gamma would come to nothing.
    let partial = || vec!["--partial".into()];
    let load = entry.policy.map(|_| Step::Load { policy: None, with: partial(), wait: true });
    Job {
        name: name(entry),
        policy: entry.policy.map(str::to_owned),
        set: entry.set.iter().map(|set| (*set).to_owned()).collect(),
        steps: load.into_iter().chain([Step::Run(run)]).collect(),
    }
}

/// What is of use here of what `rota bench shares --json` prints.
#[derive(Deserialize)]
struct Bench {
    window_ns: u64,
    tasks: Vec<Task>,
}

/// What was measured under each scheduler, in the order of [`ENTRIES`].
pub fn measured(records: &[Record]) -> Result<Vec<Measured>> {
    let of_entry = |entry: &Entry| {
        let own = name(entry);
        let output = verdict::output_of(records, &own)?;
        let bench: Bench =
            serde_json::from_str(output).with_context(|| format!("{own}: it printed {output}"))?;
        Measured::new(bench.tasks, bench.window_ns).with_context(|| own)
    };
    ENTRIES.iter().map(of_entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(output: &str) -> Vec<Record> {
        let step = |entry: &Entry| Record::Step {
            job: name(entry),
            step: "2".into(),
            does: "run".into(),
            at_ns: 0,
            saw: serde_json::json!({ "output": output }),
        };
        ENTRIES.iter().map(step).collect()
    }

    fn output(tasks: usize, window_ns: u64) -> String {
        let task = "{\"start_ns\":0,\"work_ns\":1,\"end_ns\":60000000,\"windows_ns\":[1,2],\
                    \"turns\":[1,1]}";
        let tasks = vec![task; tasks].join(",");
        format!("{{\"window_ns\":{window_ns},\"tasks\":[{tasks}]}}")
    }

    #[test]
    fn shares_come_from_what_the_bench_printed() {
        let all = measured(&records(&output(4, WINDOW_NS))).unwrap();
        assert_eq!(all.len(), ENTRIES.len());
        assert_eq!(all[0].tasks[3].windows_ns, [1, 2]);
    }

    #[test]
    fn what_the_bench_did_not_print_is_told() {
        for (records, part) in [
            (records("nothing"), "shares/pbs: it printed nothing"),
            (records(&output(3, WINDOW_NS)), "there are 3 tasks"),
            (records(&output(4, 1)), "windows of 1 ns"),
            (Vec::new(), "shares/pbs: nothing was run"),
        ] {
            let error = format!("{:#}", measured(&records).unwrap_err());
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn the_command_has_the_tasks_of_the_paper() {
        let Some(Step::Run(run)) = boot().jobs[4].steps.pop() else { panic!("it runs nothing") };
        let tasks = "0us:4500000us,1000000us:2500000us,3000000us:3000000us,5000000us:2000000us";
        assert!(run.command.iter().any(|word| word == tasks), "{:?}", run.command);
        assert_eq!(boot().jobs[4].steps.len(), 1, "nothing is loaded for the kernel's own");
    }
}
