// SPDX-License-Identifier: MIT OR Apache-2.0
//! The steps of a scenario. `docs/vm-tests.md` explains them to those who write scenarios.

use crate::span::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One thing to do or to find out. `do = "…"` in a scenario file names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Starts tasks that only compute.
    Hogs {
        /// By name.
        tasks: BTreeMap<String, Hog>,
    },
    /// Starts `rota run POLICY` and waits until the kernel has enabled it.
    Load {
        /// Instead of the scenario's policy: a name, or an object's path in the guest.
        #[serde(default)]
        policy: Option<String>,
        /// More arguments for `rota run`.
        #[serde(default)]
        with: Vec<String>,
        /// `false`: does not wait for the policy to be enabled.
        #[serde(default = "yes")]
        wait: bool,
    },
    /// Starts a scheduler's own program, and waits until the kernel has enabled what it loads.
    Start {
        /// Program and arguments.
        command: Vec<String>,
    },
    /// Runs a program to its end and checks what it said.
    Run(Command),
    /// Measures the CPU time of the hogs and checks their shares.
    Measure(Measure),
    /// Plays a workload file and records what the scheduler does.
    Play(Play),
    /// Lets time pass.
    Wait {
        /// How much.
        #[serde(rename = "for")]
        time: Span,
    },
    /// Changes hogs: their nice value, share, the CPUs they may use, their control group.
    Change {
        /// One of the hogs' names.
        task: String,
        /// New nice value.
        #[serde(default)]
        nice: Option<i32>,
        /// New share, by `rota set --share`.
        #[serde(default)]
        share: Option<u64>,
        /// New set of allowed CPUs.
        #[serde(default)]
        cpus: Option<Vec<usize>>,
        /// Control group to move to.
        #[serde(default)]
        group: Option<String>,
    },
    /// Makes a control group, unless it is there, and sets its weight.
    Group {
        /// As `/a/b`.
        path: String,
        /// Its `cpu.weight`.
        weight: u32,
    },
    /// Kills hogs with SIGKILL.
    Kill {
        /// Their names; all hogs if none is given.
        #[serde(default)]
        tasks: Vec<String>,
    },
    /// Takes a CPU offline or brings it back.
    Cpu {
        /// Its number.
        cpu: u32,
        /// Whether it shall be online.
        online: bool,
    },
    /// Sends a signal to `rota run`.
    Signal {
        /// Which one.
        signal: Signal,
    },
    /// Waits until `rota run` has ended, and checks how.
    Ended(Ended),
    /// Waits for a state of sched_ext.
    State {
        /// `enabled` or `disabled`, as in `/sys/kernel/sched_ext/state`.
        is: String,
        /// The longest it may take.
        #[serde(default = "state_time")]
        within: Span,
    },
    /// Does the steps in it again and again, and looks for what they leave behind.
    Repeat {
        /// How often.
        times: u32,
        /// What.
        step: Vec<Step>,
        /// BPF programs, maps and kernel memory must return to where they were.
        #[serde(default)]
        leaks: bool,
    },
}

/// Tasks that only compute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hog {
    /// Nice value.
    #[serde(default)]
    pub nice: i32,
    /// Given to the policy with `--share`. Such a hog waits until a policy is loaded.
    #[serde(default)]
    pub share: Option<u64>,
    /// CPUs it may use; all if none is given.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// Control group, which a step made; the root's if none is given.
    #[serde(default)]
    pub group: Option<String>,
    /// So many of the same kind, called `name.0`, `name.1` …
    #[serde(default)]
    pub count: Option<usize>,
    /// Threads that compute in each.
    #[serde(default = "one")]
    pub threads: u32,
    /// What becomes of its threads before it is as it stays, or all the time.
    #[serde(default)]
    pub life: Option<Life>,
    /// User that it runs as.
    #[serde(default)]
    pub user: Option<u32>,
    /// It leads a session of its own.
    #[serde(default)]
    pub session: bool,
}

impl Default for Hog {
    fn default() -> Self {
        Self {
            nice: 0,
            share: None,
            cpus: Vec::new(),
            group: None,
            count: None,
            threads: one(),
            life: None,
            user: None,
            session: false,
        }
    }
}

/// What a hog does with threads and processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Life {
    /// Of twice as many threads one that does not lead the process becomes the hog.
    Exec,
    /// The thread that leads the process ends.
    LeaderEnds,
    /// Three times as many threads, of which two in three end.
    ThreadsEnd,
    /// One thread more starts programs that end at once, a hundred a second.
    Forks,
    /// As many threads more start others, one after the other, which end at once.
    Storm,
    /// It starts a process with as many threads, `name.child`.
    Parent,
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Program and arguments; `{policy}` stands for the policy.
    pub command: Vec<String>,
    /// The exit code it must have.
    #[serde(default)]
    pub code: i32,
    /// The longest it may take.
    #[serde(default = "command_time")]
    pub within: Span,
    /// User and group to run it as.
    #[serde(default)]
    pub user: Option<u32>,
    /// Files and folders that are empty while it runs.
    #[serde(default)]
    pub hide: Vec<String>,
    /// Each of these must be in what it prints.
    #[serde(default)]
    pub says: Vec<String>,
    /// It must print so many lines on standard error.
    #[serde(default)]
    pub messages: Option<usize>,
    /// sched_ext, its policy, and BPF objects must be as before.
    #[serde(default)]
    pub changes_nothing: bool,
    /// What it prints goes into the record, as `output`.
    #[serde(default)]
    pub keep: bool,
}

impl Command {
    /// A program that ends well, and whose output is kept.
    pub fn measuring<W: AsRef<str>>(words: impl IntoIterator<Item = W>, within: Span) -> Self {
        Self {
            command: words.into_iter().map(|word| word.as_ref().to_owned()).collect(),
            code: 0,
            within,
            user: None,
            hide: Vec::new(),
            says: Vec::new(),
            messages: None,
            changes_nothing: false,
            keep: true,
        }
    }
}

/// A measurement of shares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// How long.
    #[serde(rename = "for")]
    pub time: Span,
    /// Time that passes before.
    #[serde(default = "settle_time")]
    pub settle: Span,
    /// What each hog's CPU time must be in proportion to. A name that stands for several hogs
    /// gives each of them this weight.
    #[serde(default)]
    pub weights: BTreeMap<String, f64>,
    /// How far the CPU time of a hog may be from what is due to it: 0.02 is two percent of that …
    #[serde(default = "share_error")]
    pub within: f64,
    /// … and this: a quantum or two that it had just before the end, or just missed.
    #[serde(default = "share_slack")]
    pub slack: Span,
    /// The part of the time that all hogs could use which they must have had together. Timer
    /// ticks and the kernel's own threads take the rest.
    #[serde(default = "busy_part")]
    pub busy: f64,
}

/// A workload to play, by tasks of `SCHED_EXT` under a policy that was loaded with `--partial` or
/// under a scheduler that its own program has loaded, or by ordinary ones of the kernel's own fair class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// A workload file's path in the guest.
    pub workload: String,
    /// How long.
    #[serde(rename = "for")]
    pub time: Span,
    /// No policy is loaded: the fair class schedules the tasks.
    #[serde(default)]
    pub fair: bool,
    /// The policy schedules the tasks of `SCHED_EXT` only, the fair class the others.
    #[serde(default)]
    pub partial: bool,
    /// How often CPUs go or come: each time a task may leave its CPU without a record.
    #[serde(default)]
    pub plugs: u64,
    /// Tell all that happened, too.
    #[serde(default)]
    pub traced: bool,
    /// CPUs of a core, if it is to be told whether two tasks share one although another is idle.
    #[serde(default)]
    pub core: Option<u32>,
}

/// How `rota run` must end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// Its exit code; absent if a signal killed it.
    #[serde(default)]
    pub code: Option<i32>,
    /// Each of these must be in what it printed.
    #[serde(default)]
    pub says: Vec<String>,
    /// The longest it may take.
    #[serde(default = "end_time")]
    pub within: Span,
}

/// Signals that `rota run` knows, and the one that nobody can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs, reason = "their names say it")]
pub enum Signal {
    Int,
    Term,
    Kill,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn state_time() -> Span {
    Span::from_ms(5_000)
}

fn command_time() -> Span {
    Span::from_ms(30_000)
}

fn settle_time() -> Span {
    Span::from_ms(200)
}

fn end_time() -> Span {
    Span::from_ms(5_000)
}

fn share_error() -> f64 {
    0.02
}

fn share_slack() -> Span {
    Span::from_ms(10)
}

fn busy_part() -> f64 {
    0.85
}

impl Step {
    /// The word after `do =`.
    pub fn name(&self) -> &'static str {
        match self {
            Step::Hogs { .. } => "hogs",
            Step::Load { .. } => "load",
            Step::Start { .. } => "start",
            Step::Run(_) => "run",
            Step::Measure(_) => "measure",
            Step::Play(_) => "play",
            Step::Wait { .. } => "wait",
            Step::Change { .. } => "change",
            Step::Group { .. } => "group",
            Step::Kill { .. } => "kill",
            Step::Cpu { .. } => "cpu",
            Step::Signal { .. } => "signal",
            Step::Ended(_) => "ended",
            Step::State { .. } => "state",
            Step::Repeat { .. } => "repeat",
        }
    }
}
