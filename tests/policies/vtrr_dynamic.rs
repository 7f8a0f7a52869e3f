// SPDX-License-Identifier: MIT OR Apache-2.0
//! What VTRR promises while clients sleep, exit and change their shares at random, on one
//! ideal CPU [VTRR §3.1, §3.2]. The queue is read from the policy's memory after each decision.

use crate::common::hosted::Hosted;
use crate::common::plan::cases;
use crate::common::vtrr_queue::{Queue, Watched};
use crate::common::{ideal, Tape};
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_machine::ops::Op;

const MS: u64 = 1_000_000;
const QUANTUM_NS: u64 = 10 * MS;
const RUN_NS: u64 = 4_000 * MS;

/// A client that comes and goes: shares of its two phases, what it runs and sleeps in each,
/// when it comes, how often it does all that before it exits.
#[derive(Clone, Debug)]
struct Guest {
    shares: (u32, u32),
    runs_us: (u32, u32),
    sleeps_us: (u32, u32),
    delay_us: u32,
    rounds: u32,
}

fn guest() -> impl Strategy<Value = Guest> {
    let two = |most: u32| (1..most, 1..most);
    (two(30), two(45_000), two(60_000), 0..400_000u32, 1..12u32).prop_map(
        |(shares, runs_us, sleeps_us, delay_us, rounds)| Guest {
            shares,
            runs_us,
            sleeps_us,
            delay_us,
            rounds,
        },
    )
}

/// Hogs with these shares, named h0, h1 …, and guests.
fn load(hogs: &[u32], guests: &[Guest]) -> String {
    let hog =
        |(at, share): (usize, &u32)| format!(r#""h{at}": {{"share": {share}, "run": 1000000000}}"#);
    let guest = |(at, g): (usize, &Guest)| {
        let phase =
            |share, run, sleep| format!(r#"{{"share": {share}, "run": {run}, "sleep": {sleep}}}"#);
        format!(
            r#""g{at}": {{"delay": {}, "loop": {}, "phases": {{"a": {}, "b": {}}}}}"#,
            g.delay_us,
            g.rounds,
            phase(g.shares.0, g.runs_us.0, g.sleeps_us.0),
            phase(g.shares.1, g.runs_us.1, g.sleeps_us.1),
        )
    };
    let hogs = hogs.iter().enumerate().map(hog);
    let tasks: Vec<String> = hogs.chain(guests.iter().enumerate().map(guest)).collect();
    format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "))
}

/// Runs the load and returns the queue after each decision, and all events.
fn watch(load: &str, run_ns: u64) -> (Vec<Queue>, Tape) {
    let mut hosted = Hosted::new("vtrr", &[], ideal(1, run_ns), load);
    let (mut queues, mut tape) = (Vec::new(), Tape::default());
    let mut look = |queue: Queue| {
        if queue.now_ns < run_ns {
            queues.push(queue);
        }
    };
    let mut watched = Watched { ops: &mut hosted.ops, look: &mut look };
    let outcome = hosted.machine.run(&mut watched, &mut tape).unwrap();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    (queues, tape)
}

/// When each cycle begins: at its first decision.
fn begins(queues: &[Queue]) -> Vec<u64> {
    queues.chunk_by(|a, b| a.cycle == b.cycle).map(|cycle| cycle[0].now_ns).collect()
}

fn hogs_and_guests() -> impl Strategy<Value = (Vec<u32>, Vec<Guest>)> {
    (prop::collection::vec(1..30u32, 2..6), prop::collection::vec(guest(), 1..8))
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn counters_never_grow_along_the_queue_whoever_comes(
        hogs in prop::collection::vec((1..30u32, 0..400_000u32), 2..12),
    ) {
        // The time counter invariant [VTRR §3.1]. The client just picked may be one ahead of the
        // one before it: that is why it was picked, and its quantum mends it.
        let task = |(at, (share, delay)): (usize, &(u32, u32))| {
            format!(r#""h{at}": {{"share": {share}, "delay": {delay}, "run": 1000000000}}"#)
        };
        let tasks: Vec<String> = hogs.iter().enumerate().map(task).collect();
        for queue in watch(&format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", ")), RUN_NS).0 {
            for pair in queue.clients.windows(2) {
                let ahead = u64::from(queue.picked == Some(pair[1].pid));
                prop_assert!(pair[1].counter <= pair[0].counter + ahead, "{queue:?}");
            }
        }
    }

    #[test]
    fn the_sum_of_counters_is_kept_and_no_counter_exceeds_its_share(
        (hogs, guests) in hogs_and_guests(),
    ) {
        for queue in watch(&load(&hogs, &guests), RUN_NS).0 {
            let sum: u64 = queue.clients.iter().map(|client| client.counter).sum();
            prop_assert_eq!(sum, queue.quanta_left, "{:?}", queue);
            prop_assert!(queue.clients.iter().all(|c| c.counter <= c.share), "{queue:?}");
        }
    }

    #[test]
    fn a_cycle_gives_exactly_its_share_to_each_client_that_stays(
        (hogs, guests) in hogs_and_guests(),
    ) {
        let (queues, tape) = watch(&load(&hogs, &guests), RUN_NS);
        for cycle in begins(&queues).windows(2) {
            for (pid, &share) in (1001..).zip(&hogs) {
                let served = tape.cpu_ns(pid, cycle[1]) - tape.cpu_ns(pid, cycle[0]);
                prop_assert_eq!(served, u64::from(share) * QUANTUM_NS, "{} in {:?}", pid, cycle);
            }
        }
    }

    #[test]
    fn a_cycle_takes_as_many_quanta_as_there_are_shares_while_nobody_comes_or_goes(
        (hogs, guests) in hogs_and_guests(),
    ) {
        let (queues, _) = watch(&load(&hogs, &guests), RUN_NS);
        let cycles: Vec<&[Queue]> = queues.chunk_by(|a, b| a.cycle == b.cycle).collect();
        for pair in cycles.windows(2) {
            let (first, same) = (&pair[0][0], |q: &Queue| q.members() == pair[0][0].members());
            if !pair[0].iter().all(same) || !same(&pair[1][0]) {
                continue;
            }
            // Who blocked early before has only the rest of its quantum to go.
            let had_ns: u64 = first.clients.iter().map(|client| client.part_ns).sum();
            let length_ns = pair[1][0].now_ns - first.now_ns;
            prop_assert_eq!(length_ns, first.total_share * QUANTUM_NS - had_ns, "{:?}", first);
        }
    }

    #[test]
    fn clients_that_stay_are_never_apart_by_more_than_a_cycle(
        (hogs, guests) in hogs_and_guests(),
    ) {
        // Within a cycle a client has had between nothing and its share, and exactly its share
        // in each of those before: service by share, in quanta, differs by 1 at most. So does
        // the service time error of one against all that stay: by its own share at most.
        let (queues, tape) = watch(&load(&hogs, &guests), RUN_NS);
        let all: u64 = hogs.iter().map(|&share| u64::from(share)).sum();
        for queue in queues.iter().step_by(7) {
            let served: Vec<u64> =
                (1001..).take(hogs.len()).map(|pid| tape.cpu_ns(pid, queue.now_ns)).collect();
            let sum: u64 = served.iter().sum();
            for (&served, &share) in served.iter().zip(&hogs) {
                let due_ns = sum as f64 * f64::from(share) / all as f64;
                let error = (served as f64 - due_ns) / QUANTUM_NS as f64;
                prop_assert!(error.abs() <= f64::from(share), "{error} of {share}: {queue:?}");
            }
        }
    }
}

/// Instructions of who comes, of who goes, and of a decision with the end of the quantum before it,
/// among this many clients of which each runs 3 ms and sleeps at random.
fn costs_of_coming_and_going(clients: u32) -> [f64; 3] {
    let load = format!(
        r#"{{"tasks": {{
            "some": {{"instance": {0}, "share": 7, "run": 3000,
                "sleep": {{"dist": "exp", "mean": 20000}}}},
            "rest": {{"instance": {0}, "share": 2, "run": 3000,
                "sleep": {{"dist": "exp", "mean": 90000}}}}}}}}"#,
        clients / 2
    );
    let set = [("insert", "array"), ("no_references", "true")];
    let (outcome, _) = Hosted::new("vtrr", &set, ideal(1, 15_000 * MS), &load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let of = |op: Op| outcome.counters.callbacks().find(|(of, _)| *of == op).unwrap().1;
    let each = |ops: &[Op]| {
        let instructions: u64 = ops.iter().map(|op| of(*op).instructions).sum();
        instructions as f64 / of(ops[0]).calls as f64
    };
    [each(&[Op::Runnable]), each(&[Op::Quiescent]), each(&[Op::Dispatch, Op::Stopping])]
}

#[test]
fn coming_going_and_deciding_cost_the_same_among_twenty_and_four_thousand_clients() {
    // [VTRR §3.3], with the array of shares for who comes back.
    let few = costs_of_coming_and_going(20);
    for clients in [1_000, 4_000] {
        for (cost, among_few) in costs_of_coming_and_going(clients).iter().zip(&few) {
            assert!(*cost < among_few * 1.1, "{cost} of {clients}, {among_few} of 20");
        }
    }
}
