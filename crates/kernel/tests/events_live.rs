// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings on this machine's kernel. They need root and bpf(2), not sched_ext; without
//! them the tests say that they were skipped, and why. The machine tests run them for sure.

use rota_kernel::events::{Facts, RecordError, RecordOptions, Recorder, Scope};
use rota_measure::{Numbers, Summary};
use rota_trace::{EventKind, Tee};
use rustix::process::{waitid, Pid, WaitId, WaitIdOptions};
use std::collections::HashMap;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Works, sleeps, and has children that do the same.
const LOAD: &str = "work() { i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; }
for n in 1 2 3; do work 60000; sleep 0.02; done
(work 200000) & (work 100000; sleep 0.05; work 50000) &
wait";

/// Begins a recording, or says why that is not possible here.
fn start(options: &RecordOptions) -> Option<Recorder> {
    match Recorder::start(options) {
        Ok(recorder) => Some(recorder),
        Err(error @ (RecordError::Privileges | RecordError::Types(_))) => {
            skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Unlike what print macros write, this is shown of tests that pass, too.
fn skip(why: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(std::io::stderr(), "{name}: skipped: {why}");
}

fn spawn(script: &str) -> Child {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null());
    shell.spawn().expect("a shell")
}

/// Records a command until it has ended; `ended` looks at it while it is a zombie.
fn record(
    mut recorder: Recorder,
    script: &str,
    ended: impl FnOnce(u32),
) -> (Facts, Numbers, Vec<EventKind>) {
    let (mut summary, mut all) = (Summary::new(recorder.cpus()), rota_trace::Recorder::default());
    let mut sinks = Tee::new();
    sinks.push(&mut summary);
    sinks.push(&mut all);
    let mut child = spawn(script);
    let pid = Pid::from_raw(child.id() as i32).expect("a pid");
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while waitid(WaitId::Pid(pid), look).expect("waited").is_none() {
        std::thread::sleep(Duration::from_millis(20));
        recorder.poll(&mut sinks).expect("polled");
    }
    // Its last switch comes after it can be waited for.
    std::thread::sleep(Duration::from_millis(50));
    ended(child.id());
    child.wait().expect("waited");
    let (facts, _) = recorder.finish(&mut sinks).expect("finished");
    drop(sinks);
    let numbers = summary.finish(facts.duration_ns);
    (facts, numbers, all.events.into_iter().map(|event| event.kind).collect())
}

/// Time on the CPU, and number of switches, as the kernel counts them.
fn kernels_account(pid: u32) -> (u64, u64) {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).expect(name);
    let runtime = read("schedstat").split_whitespace().next().and_then(|n| n.parse().ok());
    let status = read("status");
    let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
    let switches = switches.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok());
    (runtime.expect("a time"), switches.sum())
}

/// A tick of `/proc/stat`, whatever the kernel's own is.
const STAT_TICK_NS: u64 = 10_000_000;

/// What interrupts and, of a virtual machine, the host took of all CPUs since the start, to a tick.
/// A kernel that can tell such time from a task's does not charge it; a recording has switches only.
fn taken_from_tasks_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    let all = stat.lines().next().expect("a line of all CPUs");
    // cpu user nice system idle iowait irq softirq steal
    let taken = all.split_whitespace().skip(6).take(3);
    taken.map(|ticks| ticks.parse::<u64>().expect("ticks")).sum::<u64>() * STAT_TICK_NS
}

/// Recordings until one is complete.
const ATTEMPTS: usize = 10;

#[test]
fn a_recording_agrees_with_the_kernels_own_accounts() {
    let options = RecordOptions { scope: Scope::Children, ..RecordOptions::default() };
    for _ in 0..ATTEMPTS {
        let Some(recorder) = start(&options) else { return };
        if agrees(recorder) {
            return;
        }
    }
    // Seen of a hosted machine: whatever follows a thread of its first process has no switch.
    skip("the kernel hides switches of some tasks from tracing");
}

/// False for a recording that misses a switch though none was lost.
fn agrees(recorder: Recorder) -> bool {
    let mut account = (0, 0, 0);
    let taken_before_ns = taken_from_tasks_ns();
    let (facts, numbers, events) = record(recorder, LOAD, |pid| {
        let (runtime_ns, switches) = kernels_account(pid);
        account = (pid, runtime_ns, switches);
    });
    let (pid, runtime_ns, switches) = account;

    assert_eq!((facts.counts.lost.total(), facts.counts.late), (0, 0));
    if facts.counts.repaired > 0 {
        return false;
    }
    assert!(numbers.tasks.len() >= 6, "a shell, two children, four sleeps: {numbers:?}");
    let task = numbers.tasks.iter().find(|task| task.pid == pid).expect("the shell");
    assert_eq!(task.switches, switches);
    // Within 1 %, and longer by no more than was taken: sums of ticks, of which one is not yet full.
    let taken_ns = match taken_from_tasks_ns() {
        0 => 0,
        now_ns => now_ns - taken_before_ns + STAT_TICK_NS,
    };
    let (least, most) = (runtime_ns / 100 * 99, runtime_ns / 100 * 101 + taken_ns);
    assert!(
        (least..=most).contains(&task.cpu_ns),
        "{} ns, the kernel says {runtime_ns}; up to {taken_ns} were taken",
        task.cpu_ns
    );
    let sum: u64 = numbers.tasks.iter().map(|task| task.switches).sum();
    assert_eq!(numbers.totals.context_switches, sum);
    assert!(numbers.tasks.iter().all(|task| task.finished_ns.is_some()), "{numbers:?}");

    // The shell made its children, and they woke it when they ended.
    let parents: HashMap<u32, u32> = events
        .iter()
        .filter_map(|kind| match kind {
            EventKind::Fork { pid, parent } => Some((*pid, *parent)),
            _ => None,
        })
        .collect();
    assert!(parents.values().filter(|parent| **parent == pid).count() >= 5, "{parents:?}");
    let by_child = |kind: &EventKind| match kind {
        EventKind::Wakeup { pid: woken, waker } => *woken == pid && parents.contains_key(waker),
        _ => false,
    };
    assert!(events.iter().filter(|kind| by_child(kind)).count() >= 3);
    true
}

#[test]
fn only_the_process_asked_for_is_recorded() {
    let mut child = spawn("sleep 60 & read line; for n in 1 2; do sleep 0.1; done; kill $!");
    let options = RecordOptions { scope: Scope::Process(child.id()), ..RecordOptions::default() };
    let started = start(&options);
    // Its input ends: it goes on.
    drop(child.stdin.take());
    let Some(mut recorder) = started else {
        child.wait().expect("waited");
        return;
    };
    let mut all = rota_trace::Recorder::default();
    let mut other = spawn("sleep 0.1; true");
    while child.try_wait().expect("waited").is_none() {
        std::thread::sleep(Duration::from_millis(20));
        recorder.poll(&mut all).expect("polled");
    }
    other.wait().expect("waited");
    let (facts, traits) = recorder.finish(&mut all).expect("finished");
    let named = all.events.iter().filter_map(|event| match event.kind {
        EventKind::Task { pid, .. } => Some(pid),
        _ => None,
    });
    let named: Vec<u32> = named.collect();
    assert_eq!(facts.counts.lost.total(), 0);
    assert!(named.contains(&child.id()) && !named.contains(&other.id()), "{named:?}");
    assert!(!named.contains(&std::process::id()), "the recorder: {named:?}");
    // One sleep was there already; two more came.
    assert!(traits.len() >= 4, "{traits:?}");
}

#[test]
fn what_finds_no_room_is_counted() {
    let options =
        RecordOptions { scope: Scope::Children, buffer: 4096, ..RecordOptions::default() };
    let Some(recorder) = start(&options) else { return };
    let cpus = u64::from(recorder.cpus());
    let load = format!("i=0; while [ $i -lt {} ]; do i=$((i+1)); (true); done", 100 * cpus);
    let mut child = spawn(&load);
    child.wait().expect("waited");
    let mut all = rota_trace::Recorder::default();
    let (facts, _) = recorder.finish(&mut all).expect("finished");
    // A hundred children for each CPU with some seven events each do not fit into its 4096 bytes.
    assert!(facts.counts.lost.total() > 400 * cpus, "{facts:?}");
    assert!((1..=4096 / 32 * cpus).contains(&facts.counts.records), "{facts:?}");
}

#[test]
fn a_batch_is_given_at_the_end_and_in_order() {
    let options =
        RecordOptions { scope: Scope::Children, batch: 100_000, ..RecordOptions::default() };
    let Some(mut recorder) = start(&options) else { return };
    let mut child = spawn("for n in 1 2 3; do sleep 0.02; done");
    let mut all = rota_trace::Recorder::default();
    for _ in 0..6 {
        std::thread::sleep(Duration::from_millis(30));
        recorder.poll(&mut all).expect("polled");
    }
    child.wait().expect("waited");
    assert_eq!(all.events, []);
    let (facts, _) = recorder.finish(&mut all).expect("finished");
    assert_eq!((facts.counts.lost.total(), facts.counts.late), (0, 0));
    assert!(all.events.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
    let forks = all.events.iter().filter(|event| matches!(event.kind, EventKind::Fork { .. }));
    assert!(forks.count() >= 4, "a shell and three sleeps");
}

#[test]
fn requests_that_cannot_be_met_are_refused() {
    let refused = |options: RecordOptions| match Recorder::start(&options) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{options:?}"),
    };
    let odd = refused(RecordOptions { buffer: 5000, ..RecordOptions::default() });
    assert!(odd.contains("5000") && odd.contains("power of two"), "{odd}");
    let gone = RecordOptions { scope: Scope::Process(u32::MAX), ..RecordOptions::default() };
    assert!(refused(gone).contains("no process 4294967295"));
}
