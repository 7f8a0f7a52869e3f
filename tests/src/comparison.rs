// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison made up for tests of its report: large, regular so that what a picture shows can
//! be told by hand, and with names that would be markup if they could.

use rota_report::html::model::*;

/// CPUs of the machine.
pub const CPUS: u32 = 4;
/// A slice begins on every CPU each time this is over …
pub const PERIOD_NS: u64 = 100_000;
/// … and lasts so long; then the CPU is idle.
pub const SLICE_NS: u64 = 90_000;

const HOSTILE: &str =
    "<img src=x onerror=\"hacked=1\">'&amp;</script><script>hacked=1</script>日本";
const BUCKETS: usize = 500;

/// What runs in the slice of this number on this CPU.
pub fn task_of(tasks: u64, cpu: u64, slice: u64) -> u64 {
    (slice + cpu) % tasks
}

/// The name of a task.
pub fn task_name(task: u64) -> String {
    format!("{}-{task}", kind_of(task))
}

/// What a task is an instance of.
fn kind_of(task: u64) -> String {
    match task % 10 {
        0 => HOSTILE.to_owned(),
        kind => format!("kind{kind}"),
    }
}

/// So many policies, named `policy-0` and so on, on so many tasks, with so many slices of each CPU. Policy n needs n + 1 ms for
/// everything, so the first one is best
/// at that; the last one has the highest throughput.
pub fn comparison(policies: usize, tasks: u64, slices: u64) -> Comparison {
    let task = |task| Task {
        name: task_name(task),
        instance_of: kind_of(task),
        weight: 100,
        instances: 1,
    };
    let workload = Workload {
        name: format!("mix of {HOSTILE}"),
        description: "Every task runs in its turn.".to_owned(),
        findings: vec![Finding {
            about: "latency".to_owned(),
            text: format!("policy-0 is best, whatever {HOSTILE} says."),
        }],
        cpus: CPUS,
        duration_ns: slices * PERIOD_NS,
        warmup_ns: slices * PERIOD_NS / 5,
        seeds: (1..=10).collect(),
        tasks: (0..tasks).map(task).collect(),
        policies: (0..policies)
            .map(|index| policy(index, index + 1 == policies, tasks, slices))
            .collect(),
    };
    let measure = |key: &str, group: &str, unit, better| Measure {
        key: key.to_owned(),
        name: key.replace('_', " "),
        group: group.to_owned(),
        unit,
        better,
        main: key != "throughput",
        definition: format!("The {key} of all tasks."),
    };
    Comparison {
        hardware: None,
        title: String::new(),
        version: "rota test".to_owned(),
        command: format!("rota compare '{HOSTILE}.json' --all --seeds 10 --report report.html"),
        machine: vec![("machine".to_owned(), "4 CPUs at 250 Hz".to_owned())],
        provenance: Provenance {
            date: "2001-09-09 01:46 UTC".to_owned(),
            host: "Linux 6.1, 2 CPUs".to_owned(),
            inputs: vec![Input {
                kind: "workload".to_owned(),
                name: HOSTILE.to_owned(),
                sha256: "0123456789abcdef".repeat(4),
            }],
        },
        baseline: "policy-1".to_owned(),
        advice: None,
        measures: vec![
            measure("wakeup_p99", "latency", Unit::Ns, Better::Lower),
            measure("throughput", "service", Unit::PerSecond, Better::Higher),
            measure("idle", "service", Unit::Fraction, Better::None),
            measure("response_p99", "latency", Unit::Ns, Better::Lower),
        ],
        workloads: vec![workload],
    }
}

fn policy(index: usize, last: bool, tasks: u64, slices: u64) -> PolicyResult {
    let scale = index as f64 + 1.0;
    let cell = |mean: f64, best| Cell {
        mean,
        half_width: Some(mean / 50.0),
        n: 10,
        best,
        relative: (index != 1).then_some(Relative {
            ratio: Some(scale / 2.0),
            difference: mean - mean / scale * 2.0,
            noise: false,
        }),
        few_samples: None,
    };
    PolicyResult {
        name: format!("policy-{index}"),
        settings: vec![("quantum_ns".to_owned(), "2ms".to_owned())],
        outcome: Outcome::Finished,
        cells: vec![
            Some(cell(scale * 1e6, index == 0)),
            Some(cell(scale * 1e3, last)),
            Some(cell(0.1, false)),
            None,
        ],
        figures: Some(figures(index, tasks, slices)),
    }
}

fn figures(index: usize, tasks: u64, slices: u64) -> Figures {
    let slice = |cpu, at| Slice {
        start_ns: at * PERIOD_NS,
        end_ns: at * PERIOD_NS + SLICE_NS,
        task: task_of(tasks, cpu, at) as u32,
    };
    let cpus = (0..u64::from(CPUS)).map(|cpu| (0..slices).map(|at| slice(cpu, at)).collect());
    let duration_ns = slices * PERIOD_NS;
    let bucket_ns = duration_ns / BUCKETS as u64;
    let share = 0.9 / tasks as f32;
    // Lags of tasks grow apart, and policies differ by factors of ten.
    let lag = |task: u64, bucket: usize| {
        let size = (task as i64 - tasks as i64 / 2) * bucket as i64 * 10i64.pow(index as u32 % 4);
        Some(Band { min_ns: size * 100 - 5_000, max_ns: size * 100 + 5_000 })
    };
    let lags = |task| (0..BUCKETS).map(|bucket| lag(task, bucket)).collect();
    let point = |left: f64| {
        let value_ns = ((index as f64 + 1.0) * 1e6 / left.sqrt()) as u64;
        let range_ns = Some((value_ns / 2, value_ns * 2));
        Point { percentile: 100.0 - 100.0 * left, value_ns, range_ns }
    };
    let points = (0..48).map(|step| point(0.75f64.powi(step)));
    let curve = |name: &str| Distribution {
        name: name.to_owned(),
        seeds: 10,
        count: 10_000_000,
        waiting: 2,
        points: points.clone().collect(),
    };
    Figures {
        seed: 1,
        timeline: Slices { from_ns: 0, to_ns: duration_ns, cpus: cpus.collect() },
        shares: Shares { from_ns: 0, bucket_ns, tasks: vec![vec![share; BUCKETS]; tasks as usize] },
        lags: Lags { from_ns: 0, bucket_ns, tasks: (0..tasks).map(lags).collect() },
        latencies: ["wakeup latency", "run delay", "response time"].map(curve).into(),
    }
}
