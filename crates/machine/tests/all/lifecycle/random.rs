// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever the load and however often schedulers come and go: the machine's books agree at each
//! instant, no CPU idles while a task waits, no time is lost, and a run is the same again.

use super::{fair, play};
use crate::common::plan::{cases, plan, Plan};
use crate::common::replay::obeys;
use crate::common::wild::Wild;
use crate::common::{Native, Tape};
use proptest::prelude::*;
use rota_machine::consts::{KICK_IDLE, OPS_SWITCH_PARTIAL};
use rota_machine::ops::{Op, Ops};
use rota_machine::run::Outcome;
use rota_vm::host::Host;

const RUN_NS: u64 = 120_000_000;

fn script() -> impl Strategy<Value = Vec<(u64, bool)>> {
    let at = prop_oneof![1 => Just(0), 4 => 0..RUN_NS];
    prop::collection::vec((at, any::<bool>()), 0..7)
}

/// Some tasks ask for sched_ext.
fn marked(plan: &Plan, marks: u32) -> String {
    let text = plan.workload();
    let (mut marked, mut rest) = (String::new(), text.as_str());
    let mut number = 0;
    while let Some(at) = rest.find(r#"{"instance":"#) {
        let (before, after) = rest.split_at(at + 1);
        marked += before;
        if marks >> (number % 32) & 1 == 1 {
            marked += r#""policy": "SCHED_EXT", "#;
        }
        (rest, number) = (after, number + 1);
    }
    marked + rest
}

/// A scheduler that takes the marks off CPUs that are busy when it comes, as it would rely on them.
fn conserving(flags: u64) -> Native {
    Native::new("fifo", &[Op::Init, Op::Enqueue, Op::Dispatch], |me, system, op, args| match op {
        Op::Init => {
            for cpu in 0..system.nr_cpus() {
                system.native_test_and_clear_idle(cpu as i32);
            }
            system.native_create_dsq(0).map(|ret| ret as u64)
        }
        Op::Enqueue => {
            system.native_insert(args[0], 0, me.slice_ns, args[1])?;
            let idle = system.native_pick_idle(args[0], 0)?;
            if idle >= 0 {
                system.native_kick(idle as i32, KICK_IDLE);
            }
            Ok(0)
        }
        Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
        _ => Ok(0),
    })
    .flags(flags)
}

fn run<E: Ops>(
    plan: &Plan,
    tasks: &str,
    script: &[(u64, bool)],
    load: impl FnMut() -> E,
) -> (Outcome, Tape) {
    let mut config = plan.config(RUN_NS);
    config.lifecycle = script.to_vec();
    let tasks = tasks.trim().strip_prefix(r#"{"tasks": {"#).unwrap();
    let tasks = tasks.strip_suffix("}}").unwrap();
    let (outcome, tape, _) = play(config, tasks, load, &mut fair());
    (outcome, tape)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn schedulers_come_and_go(plan in plan(), script in script(), marks in any::<u32>(), partial in any::<bool>()) {
        let load = marked(&plan, marks);
        let flags = if partial { OPS_SWITCH_PARTIAL } else { 0 };
        let new = || conserving(flags);
        let (outcome, tape) = run(&plan, &load, &script, new);
        let again = run(&plan, &load, &script, new);
        prop_assert_eq!(&tape.0, &again.1 .0);
        prop_assert!(!outcome.exit.kind.is_error(), "{}\n{}", outcome.exit, load);
        prop_assert_eq!(outcome.end_ns, RUN_NS);
        // below the fair class, a task can wait on the queue of a CPU that was idle
        let mut plan = plan;
        if partial {
            plan.delays_ns[0] = RUN_NS;
        }
        prop_assert_eq!(obeys(&plan, &tape.0, RUN_NS), Ok(()), "{}", load);
    }

    #[test]
    fn no_scheduler_upsets_the_fair_class(
        plan in plan(),
        script in script(),
        marks in any::<u32>(),
        (seed, partial) in any::<(u64, bool)>(),
        lawless in prop::sample::select(vec![0, 1, 10, 100, 1000]),
    ) {
        let load = marked(&plan, marks);
        let cpus = plan.cpus;
        let mut number = seed;
        let new = || {
            number += 1;
            let wild = Wild::new(number, lawless, cpus);
            if partial { wild.flags(OPS_SWITCH_PARTIAL) } else { wild }
        };
        let (outcome, _) = run(&plan, &load, &script, new);
        prop_assert_eq!(outcome.end_ns, RUN_NS);
    }
}
