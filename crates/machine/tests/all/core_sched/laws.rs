// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for every scheduler: tasks with different cookies never run at the same time on
//! CPUs of a core, whatever happens.

use crate::common::plan::{cases, plan, Plan};
use crate::common::script::{is_refusal, lawful, script, scripted, Scripted};
use crate::common::wild::Wild;
use crate::common::{shared_fifo, Tape};
use proptest::prelude::*;
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::ops::Ops;
use rota_machine::run::{Machine, Outcome};
use rota_machine::topology::Topology;
use rota_trace::{Event, EventKind};
use std::collections::BTreeMap;
use std::sync::Arc;

const RUN_NS: u64 = 100_000_000;

/// An even number of CPUs, two or three of which share a core.
fn config(plan: &mut Plan) -> Config {
    let (cpus, smt) = [(2, 2), (4, 2), (4, 2), (3, 3), (4, 4)][plan.shape as usize % 5];
    plan.cpus = cpus;
    // an interrupt that takes time lets the old task run on meanwhile, as in hardware
    plan.delays_ns[0] = 0;
    let mut config = plan.config(RUN_NS);
    config.topology = Topology::new(cpus, smt, cpus, cpus).unwrap();
    config
}

/// Some tasks have a cookie, and some cookies change.
fn with_cookies(plan: &Plan, script: &[Scripted], cookies: &[(u64, usize, usize)]) -> String {
    let mut load = scripted(plan, script);
    let name = |at: usize| ["", "A", "B", "C"][at % 4];
    for task in 0..plan.tasks.len() {
        let (key, cookie) = (format!(r#""t{task}": {{"#), name((plan.seed >> (2 * task)) as usize));
        load = load.replacen(&key, &format!(r#"{key}"core_cookie": "{cookie}", "#), 1);
    }
    let change = |(at_us, task, cookie): &(u64, usize, usize)| {
        let (task, cookie) = (task % plan.tasks.len(), name(*cookie));
        format!(r#", {{"at": {at_us}, "task": "t{task}", "core_cookie": "{cookie}"}}"#)
    };
    let changes: String = cookies.iter().map(change).collect();
    let body = load.strip_suffix("]}").unwrap().trim_end_matches([',', '\n']);
    format!("{body}{changes}]}}")
}

/// The first two that run next to each other for some time with different cookies.
fn apart(events: &[Event], config: &Config) -> Result<(), String> {
    let mut runs: Vec<Option<u32>> = vec![None; config.topology.cpus() as usize];
    let mut cookies: BTreeMap<u32, Arc<str>> = BTreeMap::new();
    let mut now_ns = 0;
    let none: Arc<str> = "".into();
    for event in events {
        if event.time_ns > now_ns {
            for cpu in 0..config.topology.cpus() {
                for other in config.topology.siblings(cpu).iter() {
                    let of = |cpu: u32| runs[cpu as usize];
                    let (Some(one), Some(two)) = (of(cpu), of(other)) else { continue };
                    let cookie = |pid| cookies.get(&pid).unwrap_or(&none);
                    if cookie(one) != cookie(two) {
                        return Err(format!("{one} next to {two} from {now_ns} ns on"));
                    }
                }
            }
            now_ns = event.time_ns;
        }
        match (&event.kind, event.cpu) {
            (EventKind::SwitchIn { pid }, Some(cpu)) => runs[cpu as usize] = Some(*pid),
            (EventKind::SwitchOut { .. }, Some(cpu)) => runs[cpu as usize] = None,
            (EventKind::CoreCookie { pid, cookie }, _) => {
                cookies.insert(*pid, Arc::clone(cookie));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The run, unless the load asks for what a kernel refuses.
fn accepted(config: &Config, load: &str, ops: &mut dyn Ops) -> Option<(Outcome, Tape)> {
    let load = Arc::new(rota_workload::parse("random.json", load).unwrap());
    let btf = rota_object::btf::reference();
    let mut machine = Machine::new(config.clone(), load, &btf).unwrap();
    let mut tape = Tape::default();
    match machine.run(ops, &mut tape) {
        Ok(outcome) => Some((outcome, tape)),
        Err(error) if is_refusal(&error) => None,
        Err(error) => panic!("{error}"),
    }
}

fn changes() -> impl Strategy<Value = Vec<(u64, usize, usize)>> {
    prop::collection::vec((0..RUN_NS / 1000, 0..6usize, 0..4usize), 0..12)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn cookies_never_meet_under_a_plain_scheduler(
        plan in plan(), script in script(RUN_NS / 1000), changes in changes(),
    ) {
        let mut plan = plan;
        let config = config(&mut plan);
        let load = with_cookies(&plan, &script, &changes);
        let Some((outcome, tape)) = accepted(&config, &load, &mut shared_fifo()) else {
            return Ok(());
        };
        // hotplug ejects it, as it has no ops.cpu_offline()
        let fine = [ExitKind::Unreg, ExitKind::UnregKern].contains(&outcome.exit.kind);
        prop_assert!(fine, "{}\n{}", outcome.exit, load);
        prop_assert_eq!(apart(&tape.0, &config), Ok(()), "{}", load);
        prop_assert_eq!(lawful(&plan, &tape.0, RUN_NS), Ok(()), "{}", load);
    }

    #[test]
    fn cookies_never_meet_under_a_wild_scheduler(
        plan in plan(),
        script in script(RUN_NS / 1000),
        changes in changes(),
        seed in any::<u64>(),
        lawless in prop::sample::select(vec![0, 1, 10]),
    ) {
        let mut plan = plan;
        let config = config(&mut plan);
        let load = with_cookies(&plan, &script, &changes);
        let mut wild = Wild::new(seed, lawless, plan.cpus);
        let Some((outcome, tape)) = accepted(&config, &load, &mut wild) else { return Ok(()) };
        let fine = outcome.exit.kind == ExitKind::Unreg;
        prop_assert_eq!(fine, outcome.end_ns == RUN_NS, "{}\n{}", outcome.exit, load);
        prop_assert_eq!(apart(&tape.0, &config), Ok(()), "{}", load);
    }
}
