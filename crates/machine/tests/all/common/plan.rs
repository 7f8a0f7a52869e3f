// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines and workloads: without overheads, and random ones.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rota_machine::config::{Config, Costs};
use rota_machine::topology::Topology;

/// A config without overheads and with exact slices.
pub(crate) fn ideal(cpus: u32, duration_ns: u64) -> Config {
    Config::new(Topology::flat(cpus).unwrap(), duration_ns).ideal()
}

/// This many cases, the same ones in each run of the tests. For a longer search:
/// `ROTA_TEST_EFFORT=100 ROTA_TEST_SEED=7` tries a hundred times as many other ones.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    ProptestConfig {
        cases: cases * number("ROTA_TEST_EFFORT").unwrap_or(1),
        rng_seed: RngSeed::Fixed(number("ROTA_TEST_SEED").unwrap_or(1).into()),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// One step of a task.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Run(u32),
    Runtime(u32),
    Sleep(u32),
    RandomSleep(u32),
    Timer { shared: bool, period: u32 },
    Yield,
}

/// One phase of a task.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) acts: Vec<Act>,
    /// Keeps a loop of the phase from being empty.
    pub(crate) run: u32,
    /// One bit per CPU; none of the machine's: all.
    pub(crate) cpus: Option<u32>,
    pub(crate) group: Option<u32>,
    pub(crate) share: Option<u32>,
    pub(crate) nice: Option<i32>,
    /// The least and the most utilization that it asks for.
    pub(crate) clamps: Option<(i32, i32)>,
}

/// One task definition.
#[derive(Clone, Debug)]
pub(crate) struct TaskPlan {
    pub(crate) instances: u32,
    pub(crate) loops: Option<u32>,
    pub(crate) weight: u32,
    pub(crate) delay: u32,
    pub(crate) phases: Vec<Phase>,
    /// Of the first task: it forks one in each loop.
    pub(crate) forks: bool,
}

/// A machine and its load.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) cpus: u32,
    pub(crate) shape: u32,
    pub(crate) ideal: bool,
    pub(crate) shuffle_ties: bool,
    pub(crate) hz: u32,
    pub(crate) detail: bool,
    /// Of an interrupt to another CPU, a fork, an exit.
    pub(crate) delays_ns: [u64; 3],
    pub(crate) seed: u64,
    /// CPUs that others have: which, from when on, how long.
    pub(crate) others: Vec<(u32, u64, u64)>,
    pub(crate) tasks: Vec<TaskPlan>,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..8_000u32).prop_map(Act::Run),
        1 => (0..3_000u32).prop_map(Act::Runtime),
        2 => (0..9_000u32).prop_map(Act::Sleep),
        1 => (1..5_000u32).prop_map(Act::RandomSleep),
        1 => (any::<bool>(), 0..9_000u32)
            .prop_map(|(shared, period)| Act::Timer { shared, period }),
        1 => Just(Act::Yield),
    ]
}

fn phase() -> impl Strategy<Value = Phase> {
    let rarely = |p| prop::option::weighted(p, any::<u32>());
    let settings = (rarely(0.3), rarely(0.3), prop::option::weighted(0.3, 1..7u32));
    let nice = prop::option::weighted(0.2, -20..20);
    let clamps = prop::option::weighted(0.2, (-1..=400, 400..=1024));
    (prop::collection::vec(act(), 0..5), 50..9_000u32, settings, nice, clamps).prop_map(
        |(acts, run, (cpus, group, share), nice, clamps)| Phase {
            acts,
            run,
            cpus,
            group,
            share,
            nice,
            clamps,
        },
    )
}

fn task() -> impl Strategy<Value = TaskPlan> {
    let phases = prop::collection::vec(phase(), 1..4);
    let loops = prop::option::weighted(0.4, 1..10u32);
    (1..3u32, loops, 1..7u32, 0..30_000u32, phases, any::<bool>()).prop_map(
        |(instances, loops, weight, delay, phases, forks)| {
            let delay = delay.saturating_sub(15_000);
            TaskPlan { instances, loops, weight, delay, phases, forks }
        },
    )
}

/// Up to twelve tasks on one to four CPUs.
pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let machine = (1..5u32, any::<u32>(), any::<(bool, bool)>());
    let hz = prop::sample::select(vec![100, 250, 1000]);
    let other = (0..4u32, 0..100_000_000u64, 0..3_000_000u64);
    let others = prop::collection::vec(other, 0..4);
    let delays = prop_oneof![Just((0, 0, 0)), (0..60_000u64, 0..400_000u64, 0..400_000u64)];
    (machine, hz, (any::<(bool, u64)>(), delays), others, prop::collection::vec(task(), 1..7))
        .prop_map(
            |(
                (cpus, shape, (ideal, shuffle_ties)),
                hz,
                ((detail, seed), delays),
                others,
                tasks,
            )| Plan {
                cpus,
                shape,
                ideal,
                shuffle_ties,
                hz,
                detail,
                delays_ns: delays.into(),
                seed,
                others,
                tasks,
            },
        )
}

impl Phase {
    fn mask(&self, cpus: u32) -> Option<Vec<u32>> {
        let mask = self.cpus?;
        let list: Vec<u32> = (0..cpus).filter(|c| mask >> c & 1 == 1).collect();
        (!list.is_empty()).then_some(list)
    }

    fn text(&self, plan: &Plan, forks: bool) -> String {
        let mut parts = Vec::new();
        if let Some(list) = self.mask(plan.cpus) {
            parts.push(format!(r#""cpus": {list:?}"#));
        }
        let group = |g: u32| ["/", "/g1", "/g1/x", "/g2"][g as usize % 4];
        parts.extend(self.group.map(|g| format!(r#""taskgroup": "{}""#, group(g))));
        parts.extend(self.share.map(|s| format!(r#""share": {s}"#)));
        parts.extend(self.nice.map(|n| format!(r#""priority": {n}"#)));
        let clamps = |(least, most)| format!(r#""util_min": {least}, "util_max": {most}"#);
        parts.extend(self.clamps.map(clamps));
        let event = |act: &Act| match act {
            Act::Run(us) => format!(r#""run": {us}"#),
            Act::Runtime(us) => format!(r#""runtime": {us}"#),
            Act::Sleep(us) => format!(r#""sleep": {us}"#),
            Act::RandomSleep(us) => format!(r#""sleep": {{"dist": "exp", "mean": {us}}}"#),
            Act::Timer { shared, period } => {
                let timer = if *shared { "tick" } else { "unique" };
                format!(r#""timer": {{"ref": "{timer}", "period": {period}}}"#)
            }
            Act::Yield => r#""yield": """#.to_string(),
        };
        parts.extend(self.acts.iter().map(event));
        parts.push(format!(r#""run": {}"#, self.run));
        if forks {
            parts.push(r#""fork": "child""#.to_string());
        }
        format!("{{{}}}", parts.join(", "))
    }
}

impl Plan {
    /// Whether CPUs of its machine share cores.
    pub(crate) fn has_siblings(&self) -> bool {
        !self.config(1).topology.siblings(0).is_empty()
    }

    /// The machine.
    pub(crate) fn config(&self, duration_ns: u64) -> Config {
        let even = self.cpus % 2 == 0;
        let shapes: &[[u32; 3]] = match (even, self.cpus) {
            (true, 4) => &[[1, 4, 4], [2, 4, 4], [1, 2, 4], [2, 2, 4], [1, 2, 2], [1, 1, 4]],
            (true, _) => &[[1, 2, 2], [2, 2, 2], [1, 1, 2]],
            (false, cpus) => &[[1, cpus, cpus]],
        };
        let [smt, llc, node] = shapes[self.shape as usize % shapes.len()];
        let topology = Topology::new(self.cpus, smt, llc, node).unwrap();
        let mut config = Config::new(topology, duration_ns);
        if self.ideal {
            config = config.ideal();
        }
        let [ipi_ns, fork_ns, exit_ns] = self.delays_ns;
        config.costs = Costs { ipi_ns, fork_ns, exit_ns, ..config.costs };
        config.hz = self.hz;
        config.seed = self.seed;
        config.shuffle_ties = self.shuffle_ties;
        config.detail = self.detail;
        config.audit = true;
        config
    }

    /// The workload file.
    pub(crate) fn workload(&self) -> String {
        let child = r#""child": {"instance": 0, "weight": 2, "loop": 2, "run": 700, "sleep": 300}"#;
        let mut tasks = vec![child.to_string()];
        for (at, task) in self.tasks.iter().enumerate() {
            let forks = at == 0 && task.forks;
            let phase = |(n, p): (usize, &Phase)| format!(r#""p{n}": {}"#, p.text(self, forks));
            let phases: Vec<String> = task.phases.iter().enumerate().map(phase).collect();
            // rt-app allows 1024 forks
            let loops = if forks { task.loops.or(Some(5)) } else { task.loops };
            let loops = loops.map_or(-1, i64::from);
            tasks.push(format!(
                r#""t{at}": {{"instance": {}, "weight": {}, "delay": {}, "loop": {loops}, "phases": {{{}}}}}"#,
                task.instances,
                task.weight,
                task.delay,
                phases.join(", ")
            ));
        }
        format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(",\n"))
    }

    /// Whether a task may use a CPU in `all` of its phases, or in any.
    pub(crate) fn may_use(&self, name: &str, cpu: u32, all: bool) -> bool {
        let at = name.strip_prefix('t').and_then(|n| n.split('-').next()?.parse::<usize>().ok());
        let Some(task) = at.and_then(|at| self.tasks.get(at)) else { return true };
        let mut allowed =
            task.phases.iter().map(|p| p.mask(self.cpus).is_none_or(|m| m.contains(&cpu)));
        if all {
            allowed.all(|ok| ok)
        } else {
            allowed.any(|ok| ok)
        }
    }
}
