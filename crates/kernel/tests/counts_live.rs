// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of this machine's kernel beside a recording of the same time. They need root and bpf(2);
//! without them the tests say that they were skipped, and why.

use rota_kernel::counts::{CountOptions, Counter, Does, STEP_NS};
use rota_kernel::events::{RecordError, RecordOptions, Recorder, Scope};
use rota_measure::{Latencies, Numbers, Summary, TaskNumbers};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Works, sleeps and wakes, alone and in turns with others.
const LOAD: &str = "work() { i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; }
for n in 1 2 3 4 5 6; do (for m in 1 2 3 4 5 6 7 8; do work 20000; sleep 0.01; done) & done
wait";
const HALF_NS: u64 = 5_000_000_000;
/// Times are rounded to this by who compares: a virtual machine's CPU can stop anywhere.
const APART_NS: u64 = 2_000_000;
/// Attempts until the kernel shows all switches to the recording.
const ATTEMPTS: usize = 5;

/// Unlike what print macros write, this is shown of tests that pass, too.
fn skip(why: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(std::io::stderr(), "{name}: skipped: {why}");
}

fn start() -> Option<(Counter, Recorder)> {
    let counter = Counter::start(&CountOptions { scope: Scope::System, kernel_threads: true });
    let counter = match counter {
        Ok(counter) => counter,
        Err(error @ (RecordError::Privileges | RecordError::Types(_))) => {
            skip(&error.to_string());
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    Some((counter, Recorder::start(&RecordOptions::default()).expect("records")))
}

/// What was counted of a task.
#[derive(Debug, Default)]
struct Counted {
    run_ns: u64,
    delay_ns: u64,
    switches: u64,
    latencies: Latencies,
    ended: bool,
}

/// Busy, wasted and longest time in steps, and the number of steps, of each CPU.
type Cpus = Vec<(u64, u64, u64, u64)>;

/// What both saw of the load.
struct Watched {
    tasks: BTreeMap<u32, Counted>,
    cpus: Cpus,
    /// Of the recording.
    numbers: Numbers,
    /// What was not counted.
    lost: u64,
    /// Events that the recording lacks.
    missing: u64,
}

/// The load, which does not outlive the test.
struct Load(Child);

impl Load {
    fn start() -> Self {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", LOAD]).stdout(Stdio::null());
        Self(shell.spawn().expect("a shell"))
    }

    fn is_over(&mut self) -> bool {
        self.0.try_wait().expect("waited").is_some()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn watch() -> Option<Watched> {
    let (mut counter, mut recorder) = start()?;
    let mut summary = Summary::new(recorder.cpus());
    let (mut pids, mut tasks) = (BTreeMap::new(), BTreeMap::<u32, Counted>::new());
    let mut cpus = vec![(0, 0, 0, 0); counter.cpus()];
    let mut load = Load::start();
    let begin = Instant::now();
    let mut lost = 0;
    let mut over = false;
    while !over {
        over = load.is_over();
        assert!(begin.elapsed() < Duration::from_secs(120), "it never ends");
        std::thread::sleep(Duration::from_millis(50));
        recorder.poll(&mut summary).expect("polled");
        let look = counter.look(HALF_NS);
        for task in look.tasks {
            if let Some(about) = &task.about {
                pids.insert(task.place, about.pid);
            }
            let of = tasks.entry(pids[&task.place]).or_default();
            of.run_ns += task.run_ns;
            of.delay_ns += task.delay_ns;
            of.switches += task.switches;
            of.ended |= task.ended;
            for (ns, times) in task.latencies {
                of.latencies.record_many(ns, times);
            }
            if let Does::Waits { since_ns } = task.does {
                assert!(since_ns <= look.now_ns, "{since_ns}");
            }
        }
        for (of, steps) in cpus.iter_mut().zip(&look.steps) {
            for step in steps {
                *of = (of.0 + step.busy_ns, of.1 + step.wasted_ns, of.2 + step.top_ns, of.3 + 1);
                assert!(step.busy_ns + step.wasted_ns <= STEP_NS, "{step:?}");
                assert!(step.top_ns <= step.busy_ns, "{step:?}");
            }
        }
        lost = look.lost;
    }
    let (facts, _) = recorder.finish(&mut summary).expect("finished");
    let numbers = summary.finish(facts.duration_ns);
    let missing = facts.counts.repaired + facts.counts.lost.total();
    Some(Watched { tasks, cpus, numbers, lost, missing })
}

/// Those that began and ended while both watched.
fn whole<'a>(
    tasks: &'a BTreeMap<u32, Counted>,
    numbers: &'a Numbers,
) -> Vec<(&'a Counted, &'a TaskNumbers)> {
    let lives = |task: &&TaskNumbers| task.started_ns > 0 && task.finished_ns.is_some();
    let both = numbers.tasks.iter().filter(lives);
    both.filter_map(|of| Some((tasks.get(&of.pid).filter(|task| task.ended)?, of))).collect()
}

/// What differs.
fn differences(of: &Watched) -> Vec<String> {
    let mut found = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            found.push(what);
        }
    };
    let both = whole(&of.tasks, &of.numbers);
    expect(both.len() >= 6 * 9, format!("six shells with eight sleeps each: {}", both.len()));
    for (counted, recorded) in both {
        let near = |a: u64, b: u64| a.abs_diff(b) <= APART_NS + b / 50;
        let (ours, theirs) = (counted.latencies.numbers(0), &recorded.wakeup_latency_ns);
        let is_same = near(counted.run_ns, recorded.cpu_ns)
            && near(counted.delay_ns, recorded.run_delay_ns)
            && counted.switches == recorded.switches
            && ours.count == theirs.count
            && near(ours.max.unwrap_or(0), theirs.max.unwrap_or(0));
        expect(is_same, format!("{counted:?} {recorded:?}"));
    }
    // Tasks ran as long as CPUs were busy, but for the last steps.
    let busy_ns: u64 = of.cpus.iter().map(|cpu| cpu.0).sum();
    let run_ns: u64 = of.tasks.values().map(|task| task.run_ns).sum();
    let apart_ns = of.cpus.len() as u64 * 3 * STEP_NS + run_ns / 50;
    expect(busy_ns.abs_diff(run_ns) <= apart_ns, format!("busy {busy_ns}, run {run_ns}"));
    let is_even = of.cpus.iter().all(|cpu| cpu.3 == of.cpus[0].3);
    expect(is_even, format!("steps: {:?}", of.cpus));
    found
}

#[test]
fn counts_agree_with_a_recording_of_the_same_time() {
    for _ in 0..ATTEMPTS {
        let Some(watched) = watch() else { return };
        assert_eq!(watched.lost, 0);
        let found = differences(&watched);
        if found.is_empty() {
            return;
        }
        // Where events are missing the recording may be what is wrong.
        assert!(watched.missing > 0, "{}", found.join("\n"));
    }
    skip("the kernel hides switches of some tasks from the recording");
}
