// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measures themselves.

use super::parts::{mean, ns, part, slowdown, totals, turnaround, wakeups};
use super::{deadlines, locks, requests, Measure, Run, Unit};
use crate::statistics::Better::{Higher, Lower, Neither};

const FAIRNESS: &str = "fairness";
const LATENCY: &str = "latency";
const PROGRESS: &str = "progress";
pub(super) const REQUESTS: &str = "requests";
pub(super) const DEADLINES: &str = "deadlines";
pub(super) const LOCKS: &str = "locks";
pub(super) const ENERGY: &str = "energy";
const COST: &str = "cost";

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

/// All of them, in the order in which they are shown.
pub(super) const MEASURES: &[Measure] = measures![
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

    "work_rate", "work rate", "work for CPU time, speed", PROGRESS, Fraction, Higher, true,
    "Work got done divided by the CPU time for it, as a part of the fastest CPU's speed: what slow \
     cores, busy siblings, cold caches, far memory and low frequencies leave.",
    |run| totals(run).work?.rate;

    "work_per_s", "work/s", "throughput, work", PROGRESS, Number, Higher, false,
    "Work got done per second, in seconds of the fastest CPU at full speed.",
    |run| part(totals(run).work?.full_speed_ns as f64, totals(run).measured_ns as f64);

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

    "energy", "energy", "energy of busy CPUs, joules", ENERGY, Joules, Lower, true,
    "Energy that busy CPUs took, by the power that the machine file gives; idle ones take none.",
    joules;

    "energy_per_work", "energy per work", "joules for a second of work", ENERGY, Joules, Lower, false,
    "Energy for as much work as the fastest CPU does in a second at full speed.",
    |run| part(joules(run)?, totals(run).work?.full_speed_ns as f64 / 1e9);

    "power", "power", "power of busy CPUs, watts", ENERGY, Watts, Lower, false,
    "Energy that busy CPUs took, per second.",
    |run| part(joules(run)?, totals(run).measured_ns as f64 / 1e9);

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

fn joules(run: Run<'_>) -> Option<f64> {
    Some(totals(run).work?.energy_nj? as f64 / 1e9)
}
