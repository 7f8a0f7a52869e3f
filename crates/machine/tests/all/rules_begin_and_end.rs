// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the first tasks begin, and where a task waits that is preempted while it ends
//! (`do_exit()`, `do_enqueue_task()`).

use crate::common::{run, shared_fifo, Native};
use rota_machine::config::{Config, Costs};
use rota_machine::consts::*;
use rota_machine::lab::Lab;
use rota_machine::ops::Op;
use rota_machine::topology::Topology;

const MS: u64 = 1_000_000;

/// CPUs with a tick each 4 ms and no costs.
fn ticking(cpus: u32, duration_ns: u64) -> Config {
    let costs = Costs::none();
    Config { costs, ..Config::new(Topology::flat(cpus).unwrap(), duration_ns) }
}

fn in_lab(config: Config, lab: Lab) -> Config {
    Config { lab: Some(lab), ..config }
}

#[test]
fn who_is_preempted_while_it_ends_waits_for_its_cpu_and_not_in_the_queue() {
    // Slices of 6 ms. A has used its up at 6, works to 7 and ends at 7.5; 0.25 before that it is
    // put back, and B goes first, from 7.25 to 13.25, so to the tick at 16. do_enqueue_task(): A,
    // PF_EXITING, is in its CPU's own queue, and goes on before C. A scheduler with
    // SCX_OPS_ENQ_EXITING puts it behind C, which has 16 to 22, so to 24.
    let a_runs = |flags, enq_exiting| {
        let mut config = ticking(1, 32 * MS);
        config.costs.exit_ns = MS / 2;
        let moves_at_exit_ns = Some(MS / 4);
        let config = in_lab(config, Lab { moves_at_exit_ns, enq_exiting, ..Lab::default() });
        let load = r#"{"tasks": {
            "A": {"loop": 1, "run": 7000}, "B": {"run": 1000000}, "C": {"run": 1000000}}}"#;
        let mut fifo = shared_fifo().flags(flags);
        fifo.slice_ns = 6 * MS;
        run(config, load, &mut fifo).1.spans("A-0")
    };
    assert_eq!(a_runs(0, false), [(0, 7_250), (16_000, 16_250)]);
    let behind_c = [(0, 7_250), (24_000, 24_250)];
    assert_eq!(a_runs(OPS_ENQ_EXITING, false), behind_c);
    assert_eq!(a_runs(0, true), behind_c);
}

#[test]
fn whoever_runs_first_is_charged_once_the_interrupt_of_the_start_is_over() {
    // A slice of 8 ms from 0 on is used up at the second tick. 0.07 ms later there are 0.07 ms left,
    // and it ends at the third.
    let a_leaves = |start_ns| {
        let load = r#"{"tasks": {"A": {"run": 1000000}, "B": {"run": 1000000}}}"#;
        let mut fifo = shared_fifo();
        fifo.slice_ns = 8 * MS;
        let config = in_lab(ticking(1, 20 * MS), Lab { start_ns, ..Lab::default() });
        run(config, load, &mut fifo).1.spans("A-0")[0]
    };
    assert_eq!(a_leaves(0), (0, 8_000));
    assert_eq!(a_leaves(70_000), (0, 12_000));
}

#[test]
fn tasks_that_were_there_before_are_woken_at_the_start_and_others_made() {
    // select_task_rq(): asked where a task has a choice of CPUs
    let wake_flags = |starts_are_wakeups| {
        let load = r#"{"tasks": {"A": {"loop": 1, "run": 1000, "fork": "B"},
            "B": {"instance": 0, "loop": 1, "run": 1000}}}"#;
        let ops = [Op::SelectCpu, Op::Enqueue];
        let mut native = Native::new("test", &ops, |me, system, op, args| match op {
            Op::SelectCpu => {
                me.held.push(args[2]);
                Ok(0)
            }
            _ => system.native_insert(args[0], DSQ_GLOBAL, MS, 0).map(|()| 0),
        });
        let lab = Lab { starts_are_wakeups, ..Lab::default() };
        run(in_lab(ticking(2, 10 * MS), lab), load, &mut native);
        native.held
    };
    assert_eq!(wake_flags(false), [WAKE_FORK, WAKE_FORK]);
    assert_eq!(wake_flags(true), [WAKE_TTWU, WAKE_FORK]);
}
