// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the paper leaves out, each thing with a name, a default, and other values that are run to
//! see what hangs on it. Reasons for the defaults are in docs/reproduce.md.

use super::workload::{Late, Tasks, TASKS};

pub(super) type Tunables = &'static [(&'static str, &'static str)];

/// Ticks and costs of the computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Computer {
    /// So many ticks per second, and the default costs.
    Ticking(u32),
    /// Slices end exactly, and nothing but the tasks takes time.
    Ideal,
}

/// How a latency is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Scheduling,
    AsInterbench,
}

/// A value of everything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) tasks: Tasks,
    pub(super) computer: Computer,
    pub(super) counted: Counted,
    pub(super) o1: Tunables,
    pub(super) cfs: Tunables,
}

const DEFAULT: Setting = Setting {
    tasks: TASKS,
    computer: Computer::Ticking(250),
    counted: Counted::Scheduling,
    o1: &[],
    cfs: &[],
};

/// A setting that differs from the default in one thing, said with the default.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) setting: Setting,
}

/// Row of the defaults.
pub(super) const NO_CHANGE: &str = "the defaults";

/// Row of CFS's placement of who slept, as the paper prints it.
pub(super) const BY_LOAD: &str = "credit of CFS's sleepers: by load (2.6.24's)";

/// All that is run under O(1) and CFS; the defaults come first.
pub(super) fn rows() -> Vec<Row> {
    let tasks = |tasks| Setting { tasks, ..DEFAULT };
    let step = |step_us| tasks(Tasks { step_us, ..TASKS });
    let computer = |computer| Setting { computer, ..DEFAULT };
    let row = |(name, setting)| Row { name, setting };
    [
        (NO_CHANGE, DEFAULT),
        ("step of X: 50 ms (100 ms)", step(50_000)),
        ("step of X: 20 ms (100 ms)", step(20_000)),
        ("step of X: 10 ms (100 ms)", step(10_000)),
        ("late X: hurries on (rests)", tasks(Tasks { late: Late::HurriesOn, ..TASKS })),
        ("busy threads: 4 (1)", tasks(Tasks { busy: 4, ..TASKS })),
        ("counted: as Interbench does (scheduling latency)", COUNTED),
        ("ticks per second: 100 (250)", computer(Computer::Ticking(100))),
        ("ticks per second: 1000 (250)", computer(Computer::Ticking(1000))),
        ("computer: ideal (ticks and costs)", computer(Computer::Ideal)),
        ("run queue credit of O(1): 0 % (30 %)", o1(&[("runqueue_credit_percent", "0")])),
        ("run queue credit of O(1): 100 % (30 %)", o1(&[("runqueue_credit_percent", "100")])),
        ("decay of O(1)'s average sleep: full (by the bonus)", o1(&[("no_slow_decay", "true")])),
        ("ceiling of O(1) for one sleep: none (2.6.22's)", o1(&[("no_sleep_ceiling", "true")])),
        ("wakeup granularity of CFS: 0 (10 ms)", cfs(&[("sched_wakeup_granularity_ns", "0")])),
        ("times of CFS: of four CPUs (of one)", cfs(&FOUR_CPUS)),
        (BY_LOAD, cfs(&[("sleeper_credit", "load")])),
    ]
    .map(row)
    .into()
}

const COUNTED: Setting = Setting { counted: Counted::AsInterbench, ..DEFAULT };

/// 1 + log2(4) times as long: the kernel computed them when it booted.
const FOUR_CPUS: [(&str, &str); 3] = [
    ("sched_latency_ns", "60000000"),
    ("sched_min_granularity_ns", "12000000"),
    ("sched_wakeup_granularity_ns", "30000000"),
];

fn o1(o1: Tunables) -> Setting {
    Setting { o1, ..DEFAULT }
}

fn cfs(cfs: Tunables) -> Setting {
    Setting { cfs, ..DEFAULT }
}
