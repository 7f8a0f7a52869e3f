// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers in cid form on machines whose CPUs are not numbered topologically
//! (`kernel/sched/ext_cid.c`): they say and hear cids, and the machine means CPUs.

use crate::common::{run, Native};
use rota_machine::config::Config;
use rota_machine::consts::{DSQ_LOCAL, DSQ_LOCAL_ON};
use rota_machine::ops::Op;
use rota_machine::topology::{Place, Topology};

const MS: u64 = 1_000_000;

/// Cores of CPUs 0 and 2, 1 and 3: cids 0, 1, 2, 3 are CPUs 0, 2, 1, 3.
fn config() -> Config {
    let place = |core| Place { core, cluster: core, ..Place::default() };
    let places = [place(0), place(1), place(0), place(1)];
    Config::new(Topology::of_places(&places, &[]).expect("a machine"), 20 * MS).ideal()
}

#[test]
fn the_cpu_that_a_callback_chooses_and_hears_of_is_a_cid() {
    let load = r#"{"tasks": {"a": {"run": 1000, "sleep": 1000}}}"#;
    let ops = [Op::SelectCpu, Op::Enqueue, Op::Dispatch];
    let mut native = Native::new("cids", &ops, |me, system, op, args| match op {
        Op::SelectCpu => {
            me.log.push(format!("prev {}", args[1]));
            Ok(1)
        }
        Op::Enqueue => system.native_insert(args[0], DSQ_LOCAL, me.slice_ns, args[1]).map(|()| 0),
        _ => {
            me.log.push(format!("dispatch {}", args[0]));
            Ok(0)
        }
    })
    .cid_form();
    let (_, tape) = run(config(), load, &mut native);

    let starts = tape.starts(1001);
    assert!(starts.len() > 5 && starts.iter().all(|(_, cpu)| *cpu == 2), "{starts:?}");
    assert_eq!(native.log.iter().rfind(|line| line.starts_with("prev")).unwrap(), "prev 1");
    assert_eq!(native.log.last().unwrap(), "dispatch 1");
}

#[test]
fn a_local_queue_of_a_cid_is_that_of_its_cpu() {
    let load = r#"{"tasks": {"a": {"run": 1000, "sleep": 1000}}}"#;
    let mut native =
        Native::new("cids", &[Op::SelectCpu, Op::Enqueue], |me, system, op, args| match op {
            Op::SelectCpu => Ok(args[1]),
            _ => system.native_insert(args[0], DSQ_LOCAL_ON | 2, me.slice_ns, args[1]).map(|()| 0),
        })
        .cid_form();
    let (outcome, tape) = run(config(), load, &mut native);

    let starts = tape.starts(1001);
    assert!(
        !starts.is_empty() && starts.iter().all(|(_, cpu)| *cpu == 1),
        "{starts:?} {outcome:?}"
    );
}
