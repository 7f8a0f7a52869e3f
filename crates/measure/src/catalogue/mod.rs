// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measures that runs are compared by: one number of a run each, with its name, its unit, and
//! its definition in a sentence. `docs/measures.md` has formulas and sources.

mod deadlines;
mod locks;
mod requests;
mod samples;
mod tasks;

pub use samples::{is_few, samples};
pub use tasks::{find_of_tasks, of_tasks, TaskMeasure};

use requests::sockets;

use crate::numbers::{LatencyNumbers, Numbers};
use crate::requests::RequestsNumbers;
use crate::slowdown::SlowdownNumbers;
use crate::statistics::Better::{self, Higher, Lower, Neither};
use crate::totals::Totals;

/// What a measure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// A part of 1.
    Fraction,
    /// A number without a unit.
    Number,
    /// How many.
    Count,
    /// How many a second.
    PerSecond,
    /// Instructions of the policy.
    Instructions,
}

impl Unit {
    /// As JSON and CSV have it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Fraction => "fraction",
            Unit::Number => "number",
            Unit::Count => "count",
            Unit::PerSecond => "per_second",
            Unit::Instructions => "instructions",
        }
    }
}

/// What a measure is taken from.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The run's numbers.
    pub numbers: &'a Numbers,
    /// What became of its requests.
    pub requests: &'a RequestsNumbers,
    /// CPUs of the machine.
    pub cpus: u32,
}

/// One number of a run.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Name in JSON and CSV.
    pub key: &'static str,
    /// Name for people, the same on the terminal and in reports; the key is this name in other
    /// letters.
    pub name: &'static str,
    /// Other words for it, by which it is found.
    pub also: &'static str,
    /// What it says something about.
    pub group: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// Which of two values is the better one.
    pub better: Better,
    /// Whether a table shows it that nobody asked for more.
    pub shown: bool,
    /// What it is.
    pub definition: &'static str,
    of: fn(Run<'_>) -> Option<f64>,
}

impl Measure {
    /// Its value; `None`: this run has no such number.
    pub fn of(&self, run: Run<'_>) -> Option<f64> {
        (self.of)(run)
    }
}

const FAIRNESS: &str = "fairness";
const LATENCY: &str = "latency";
const PROGRESS: &str = "progress";
const REQUESTS: &str = "requests";
const DEADLINES: &str = "deadlines";
const LOCKS: &str = "locks";
const COST: &str = "cost";

/// All of them, in the order in which they are shown.
pub fn measures() -> &'static [Measure] {
    MEASURES
}

/// The measure of this key.
pub fn find(key: &str) -> Option<&'static Measure> {
    MEASURES.iter().find(|measure| measure.key == key)
}

/// Those that a narrow table shows, the most telling first: of each line the first that is there.
const HEADLINES: [&[&str]; 10] = [
    &["response_p99"],
    &["wakeup_p99"],
    &["answered_per_s", "bursts_per_s"],
    &["lag_max"],
    &["miss_rate"],
    &["slowdown_mean"],
    &["instructions_mean"],
    &["wakeup_p50"],
    &["jain"],
    &["context_switches"],
];

/// At most so many measures that tell most of runs in which `is_there` holds for them, in the
/// order in which they are shown.
pub fn headlines(most: usize, is_there: impl Fn(&Measure) -> bool) -> Vec<&'static Measure> {
    let first = |keys: &&[&str]| keys.iter().filter_map(|key| find(key)).find(|m| is_there(m));
    let keys: Vec<&str> = HEADLINES.iter().filter_map(first).take(most).map(|m| m.key).collect();
    MEASURES.iter().filter(|measure| keys.contains(&measure.key)).collect()
}

/// Names of the groups, in the order in which they are shown.
pub fn groups() -> Vec<&'static str> {
    let mut groups: Vec<&str> = MEASURES.iter().map(|measure| measure.group).collect();
    groups.dedup();
    groups
}

macro_rules! measures {
    ($($key:literal, $name:literal, $also:literal, $group:ident, $unit:ident, $better:ident,
       $shown:literal, $definition:literal, $of:expr;)*) => {
        &[$(Measure {
            key: $key,
            name: $name,
            also: $also,
            group: $group,
            unit: Unit::$unit,
            better: $better,
            shown: $shown,
            definition: $definition,
            of: $of,
        }),*]
    };
}

const MEASURES: &[Measure] = measures![
    "jain", "Jain", "Jain's index", FAIRNESS, Number, Higher, true,
    "Jain's fairness index of service by share or weight, over tasks that never slept: 1 if all \
     are served alike, 1/n if one task gets everything.",
    |run| run.numbers.totals.jain;

    "lag_max", "lag max", "lag, largest", FAIRNESS, Ns, Lower, true,
    "The largest lag of any task: how far it was behind an ideal machine which serves all tasks \
     at the same time by weight.",
    |run| run.numbers.totals.lag_ns.map(|lag| lag.max as f64);

    "lag_min", "lag min", "lag, smallest", FAIRNESS, Ns, Higher, false,
    "The smallest lag of any task: how far it was ahead of that ideal machine, as a negative \
     number.",
    |run| run.numbers.totals.lag_ns.map(|lag| lag.min as f64);

    "lag_mean", "lag mean", "lag, mean absolute", FAIRNESS, Ns, Lower, false,
    "How far tasks were behind or ahead of that ideal machine, mean over all tasks and times.",
    |run| run.numbers.totals.lag_ns.map(|lag| lag.mean_abs);

    "wakeup_mean", "wakeup mean", "wakeup latency, mean", LATENCY, Ns, Lower, false,
    "Time from a wakeup until the task runs, mean over all wakeups of all tasks.",
    |run| wakeups(run).mean;

    "wakeup_p50", "wakeup p50", "wakeup latency, median", LATENCY, Ns, Lower, true,
    "Time from a wakeup until the task runs: half of all wakeups are at or below this.",
    |run| ns(wakeups(run).p50);

    "wakeup_p95", "wakeup p95", "wakeup latency, p95", LATENCY, Ns, Lower, false,
    "Time from a wakeup until the task runs: 95 % of all wakeups are at or below this.",
    |run| ns(wakeups(run).p95);

    "wakeup_p99", "wakeup p99", "wakeup latency, p99", LATENCY, Ns, Lower, true,
    "Time from a wakeup until the task runs: 99 % of all wakeups are at or below this.",
    |run| ns(wakeups(run).p99);

    "wakeup_p999", "wakeup p99.9", "wakeup latency, p99.9", LATENCY, Ns, Lower, false,
    "Time from a wakeup until the task runs: 99.9 % of all wakeups are at or below this.",
    |run| ns(wakeups(run).p999);

    "wakeup_max", "wakeup max", "wakeup latency, longest", LATENCY, Ns, Lower, true,
    "Time from a wakeup until the task runs: the longest.",
    |run| ns(wakeups(run).max);

    "wakeups", "wakeups", "wakeups", LATENCY, Count, Neither, false,
    "Number of wakeups, including those unanswered at the end.",
    |run| Some(wakeups(run).count as f64);

    "wakeups_unanswered", "wakeups unanswered", "tasks that wait at the end", LATENCY, Count, Lower,
    false,
    "Number of tasks that were woken and had not run yet when the run ended.",
    |run| Some(wakeups(run).waiting as f64);

    "run_delay_mean", "run delay mean", "run delay, mean", LATENCY, Ns, Lower, false,
    "Time that a task was ready to run but waited, in the whole run: mean over all tasks.",
    |run| mean(run.numbers.load().map(|task| task.run_delay_ns as f64));

    "run_delay_max", "run delay max", "run delay, worst task", LATENCY, Ns, Lower, false,
    "Time that a task was ready to run but waited, in the whole run: the longest of all tasks.",
    |run| ns(run.numbers.load().map(|task| task.run_delay_ns).max());

    "wait_max", "wait max", "wait, longest", LATENCY, Ns, Lower, false,
    "The longest that a task was ready to run at a stretch without running, after a wakeup or after \
     it lost its CPU.",
    |run| ns(run.numbers.load().map(|task| task.wait_max_ns).max());

    "turnaround_mean", "turnaround mean", "turnaround, mean", PROGRESS, Ns, Lower, false,
    "Time from a wakeup until the task slept again or exited, mean over all of them.",
    |run| turnaround(run).mean;

    "turnaround_p50", "turnaround p50", "turnaround, median", PROGRESS, Ns, Lower, false,
    "Time from a wakeup until the task slept again or exited: half are at or below this.",
    |run| ns(turnaround(run).p50);

    "turnaround_p99", "turnaround p99", "turnaround, p99", PROGRESS, Ns, Lower, false,
    "Time from a wakeup until the task slept again or exited: 99 % are at or below this.",
    |run| ns(turnaround(run).p99);

    "turnaround_max", "turnaround max", "turnaround, longest", PROGRESS, Ns, Lower, false,
    "Time from a wakeup until the task slept again or exited: the longest.",
    |run| ns(turnaround(run).max);

    "slowdown_mean", "slowdown mean", "slowdown, mean", PROGRESS, Number, Lower, true,
    "Turnaround divided by the CPU time in it, mean over all of them: 1 if no task ever waited.",
    |run| slowdown(run).mean;

    "slowdown_p99", "slowdown p99", "slowdown, p99", PROGRESS, Number, Lower, false,
    "Turnaround divided by the CPU time in it: 99 % are at or below this.",
    |run| slowdown(run).p99;

    "slowdown_max", "slowdown max", "slowdown, greatest", PROGRESS, Number, Lower, false,
    "Turnaround divided by the CPU time in it: the greatest.",
    |run| slowdown(run).max;

    "bursts_per_s", "bursts/s", "throughput, bursts", PROGRESS, PerSecond, Higher, false,
    "Bursts per second. A burst ends when the task sleeps again or exits.",
    |run| run.numbers.totals.bursts_per_s;

    "exits", "exits", "tasks that exited", PROGRESS, Count, Higher, false,
    "Number of tasks that exited.",
    |run| Some(run.numbers.totals.completion_ns.count as f64);

    "completion_mean", "completion mean", "completion time, mean", PROGRESS, Ns, Lower, false,
    "Time from creation to exit, mean over the tasks that exited.",
    |run| run.numbers.totals.completion_ns.mean;

    "makespan", "makespan", "time until all tasks have exited", PROGRESS, Ns, Lower, false,
    "When the last task exited, if all did.",
    |run| ns(run.numbers.totals.makespan_ns);

    "response_mean", "response mean", "response time, mean", REQUESTS, Ns, Lower, true,
    "Time from a request's arrival at its socket to its answer, mean over all requests.",
    requests::response_mean;

    "response_p99", "response p99", "response time, p99", REQUESTS, Ns, Lower, true,
    "Time from a request's arrival at its socket to its answer: 99 % of the requests to the \
     slowest socket are at or below this.",
    requests::response_p99;

    "response_max", "response max", "response time, longest", REQUESTS, Ns, Lower, false,
    "Time from a request's arrival at its socket to its answer: the longest.",
    requests::response_max;

    "answered_per_s", "answered/s", "throughput, requests", REQUESTS, PerSecond, Higher, true,
    "Number of requests answered per second, over all sockets.",
    requests::answered_per_s;

    "requests_open", "requests open", "requests unanswered", REQUESTS, Count, Lower, false,
    "Number of requests without an answer when the run ended.",
    requests::open;

    "requests_dropped", "requests dropped", "requests lost", REQUESTS, Count, Lower, false,
    "Number of requests that found the queue of their socket full.",
    requests::dropped;

    "jobs", "jobs", "jobs", DEADLINES, Count, Neither, false,
    "Number of jobs of tasks with a timer or a reservation: those that ended, and others \
     with a deadline that was over when the run ended.",
    deadlines::jobs;

    "misses", "misses", "jobs that missed their deadline", DEADLINES, Count, Lower, false,
    "Number of jobs that ended after their deadline, or had not ended when the run did.",
    deadlines::misses;

    "miss_rate", "miss rate", "jobs that missed, fraction", DEADLINES, Fraction, Lower, true,
    "Fraction of jobs that missed their deadline.",
    deadlines::miss_rate;

    "tardiness_mean", "tardiness mean", "tardiness, mean", DEADLINES, Ns, Lower, false,
    "Time from a job's deadline to its end, 0 if it ended before: mean over all jobs.",
    deadlines::tardiness_mean;

    "tardiness_p99", "tardiness p99", "tardiness, p99", DEADLINES, Ns, Lower, false,
    "Time from a job's deadline to its end, 0 if it ended before: 99 % of jobs are at or below this.",
    deadlines::tardiness_p99;

    "tardiness_max", "tardiness max", "tardiness, longest", DEADLINES, Ns, Lower, true,
    "Time from a job's deadline to its end, 0 if it ended before: the longest.",
    deadlines::tardiness_max;

    "slack_mean", "slack mean", "slack, mean", DEADLINES, Ns, Higher, false,
    "Time from a job's end to its deadline, negative if it was late: mean over jobs that ended.",
    deadlines::slack_mean;

    "slack_min", "slack min", "slack, least", DEADLINES, Ns, Higher, false,
    "Time from a job's end to its deadline, negative if it was late: the least.",
    deadlines::slack_min;

    "lock_waits", "lock waits", "waits for mutexes", LOCKS, Count, Neither, false,
    "Number of times that a task had to wait for a mutex.",
    locks::waits;

    "lock_wait_mean", "lock wait mean", "time blocked on a lock, mean", LOCKS, Ns, Lower, false,
    "Time from when a task had to wait for a mutex until it had it and ran: mean over all waits.",
    locks::wait_mean;

    "lock_wait_p99", "lock wait p99", "time blocked on a lock, p99", LOCKS, Ns, Lower, false,
    "Time from when a task had to wait for a mutex until it had it and ran: 99 % of the waits are \
     at or below this.",
    locks::wait_p99;

    "lock_wait_max", "lock wait max", "time blocked on a lock, longest", LOCKS, Ns, Lower, true,
    "Time from when a task had to wait for a mutex until it had it and ran: the longest.",
    locks::wait_max;

    "lock_blocked", "lock blocked", "time blocked on locks", LOCKS, Ns, Lower, false,
    "Time that tasks waited for mutexes, summed over tasks.",
    locks::blocked;

    "holder_delay", "holder delay", "blocked on a lock while its holder waited", LOCKS, Ns, Lower, true,
    "Time that tasks waited for mutexes while the holder was ready to run and did not, summed over \
     tasks.",
    locks::holder_delay;

    "context_switches", "context switches", "switches", COST, Count, Lower, true,
    "Number of times that a CPU began to run a task after another task or idleness.",
    |run| Some(totals(run).context_switches as f64);

    "migrations", "migrations", "migrations", COST, Count, Lower, false,
    "Number of times that a task started to run on a CPU other than its last.",
    |run| Some(totals(run).migrations as f64);

    "decisions", "decisions", "decisions", COST, Count, Neither, false,
    "Number of slices that were started, also those of the same task again.",
    |run| Some(totals(run).decisions as f64);

    "idle", "idle", "idle", COST, Fraction, Neither, true,
    "Fraction of the machine's CPU time in which no task ran.",
    |run| part(totals(run).idle_ns as f64, run.cpus as f64 * totals(run).measured_ns as f64);

    "wasted_idle", "wasted idle", "idle while tasks wait", COST, Fraction, Lower, true,
    "Fraction of the machine's CPU time in which a CPU was idle while a task that could have used \
     it waited.",
    |run| part(totals(run).wasted_idle_ns as f64, run.cpus as f64 * totals(run).measured_ns as f64);

    "forced_idle", "forced idle", "idle for core scheduling", COST, Fraction, Lower, false,
    "Fraction of the machine's CPU time in which a CPU was idle because its tasks have another \
     core scheduling cookie than what the rest of its core runs.",
    |run| part(totals(run).forced_idle_ns? as f64, run.cpus as f64 * totals(run).measured_ns as f64);

    "instructions_mean", "insns mean", "instructions per decision", COST, Instructions, Lower,
    true,
    "Instructions of the policy's callbacks from one slice of a CPU to its next, mean.",
    |run| totals(run).instructions_per_decision.mean;

    "instructions_max", "insns max", "instructions, most expensive decision", COST, Instructions,
    Lower, false,
    "Instructions of the policy's callbacks from one slice of a CPU to its next, the most.",
    |run| ns(totals(run).instructions_per_decision.max);

    "nonvoluntary_per_s", "nonvoluntary/s", "nonvoluntary switches", COST, PerSecond, Lower, false,
    "Number per second of switches from a task that could go on: its slice was used up, it was \
     preempted, or it yielded.",
    |run| totals(run).nonvoluntary_per_s;
];

fn totals(run: Run<'_>) -> &Totals {
    &run.numbers.totals
}

fn wakeups(run: Run<'_>) -> LatencyNumbers {
    run.numbers.totals.wakeup_latency_ns
}

fn turnaround(run: Run<'_>) -> LatencyNumbers {
    run.numbers.totals.turnaround_ns
}

fn slowdown(run: Run<'_>) -> SlowdownNumbers {
    run.numbers.totals.slowdown
}

fn ns(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

fn part(of: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then_some(of / whole)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    part(sum, count as f64)
}

#[cfg(test)]
mod tests;
