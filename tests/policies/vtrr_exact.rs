// SPDX-License-Identifier: MIT OR Apache-2.0
//! VTRR picks as an exact model of the paper does, pick by pick, while clients come, sleep, change
//! their shares and exit, within quanta and at their ends [VTRR §3.1, §3.2]. One ideal CPU.

use crate::common::hosted::{letters, Hosted};
use crate::common::ideal;
use crate::common::plan::cases;
use crate::common::vtrr_model::{Insert, Model};
use crate::common::Tape;
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::policy::BpfOps;
use rota_machine::system::System;
use rota_vm::error::Fault;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
const QUANTUM_NS: u64 = 10 * MS;
const RUN_NS: u64 = 1_200 * MS;

/// A hosted vtrr and the model, which is told all that the policy is told.
struct Beside<'a> {
    ops: &'a mut BpfOps,
    model: Model,
    /// What `rota_shares` has, and the weights of tasks.
    shares: BTreeMap<u32, u64>,
    weights: BTreeMap<u32, u64>,
    /// When who was to be picked.
    picks: Vec<(u64, u32)>,
}

impl Beside<'_> {
    fn share(&self, pid: u32) -> u64 {
        self.shares.get(&pid).or(self.weights.get(&pid)).copied().unwrap_or(100)
    }

    fn tell(&mut self, system: &mut System, op: Op, args: &[u64]) {
        let pid = args.first().map_or(0, |p| system.native_pid(*p));
        let now_ns = system.native_now();
        self.model.at(now_ns);
        match op {
            Op::InitTask => self.model.fork(pid, self.share(pid)),
            Op::Runnable => self.model.runnable(pid, self.share(pid)),
            Op::Quiescent => self.model.quiescent(pid),
            Op::Enqueue => self.model.end_quantum(pid),
            Op::Running => self.model.running(pid),
            Op::Stopping => self.model.stopping(),
            Op::SetWeight => {
                self.weights.insert(pid, args[1]);
                self.model.set_share(pid, self.share(pid));
            }
            Op::ExitTask => self.model.exit(pid),
            Op::Dispatch => {
                let previous = system.native_pid(args[1]);
                let goes_on = previous != 0 && system.native_flags(args[1]) & 1 != 0;
                let previous = goes_on.then(|| (previous, self.share(previous)));
                self.picks.extend(self.model.pick(previous).map(|pid| (now_ns, pid)));
            }
            _ => {}
        }
    }
}

impl Ops for Beside<'_> {
    fn params(&self) -> &OpsParams {
        self.ops.params()
    }

    fn has(&self, op: Op) -> bool {
        self.ops.has(op)
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        self.tell(system, op, args);
        self.ops.call(system, op, args)
    }

    fn run_timer(&mut self, system: &mut System, timer: u64) -> Result<OpRet, Fault> {
        self.ops.run_timer(system, timer)
    }

    fn set_share(&mut self, system: &mut System, pid: u32, share: u64) -> Result<(), Fault> {
        self.shares.insert(pid, share);
        self.ops.set_share(system, pid, share)
    }

    fn release_owner(&mut self, system: &mut System, addr: u64) {
        self.ops.release_owner(system, addr);
    }
}

/// When whom the policy picked, and whom the model would have.
type Picks = Vec<(u64, u32)>;

fn both(insert: &str, rule: Insert, load: &str) -> (Picks, Picks) {
    let mut hosted = Hosted::new("vtrr", &[("insert", insert)], ideal(1, RUN_NS), load);
    let mut tape = Tape::default();
    let mut beside = Beside {
        ops: &mut hosted.ops,
        model: Model::new(rule, QUANTUM_NS),
        shares: BTreeMap::new(),
        weights: BTreeMap::new(),
        picks: Vec::new(),
    };
    let outcome = hosted.machine.run(&mut beside, &mut tape).unwrap();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let before_the_end = |picks: Picks| picks.into_iter().filter(|pick| pick.0 < RUN_NS).collect();
    (before_the_end(tape.timed_picks(0)), before_the_end(beside.picks))
}

/// Microseconds: half of them in steps in which quanta end and begin.
fn time_us(most: u32) -> impl Strategy<Value = u32> {
    prop_oneof![(0..=most / 2_500).prop_map(|steps| steps * 2_500), 0..=most]
}

/// What a phase sets: a share, or where the task has none the nice value.
fn phase(shared: bool) -> impl Strategy<Value = String> {
    let sets = prop::option::of(1..13u32).prop_map(move |n| match n {
        Some(share) if shared => format!(r#""share": {share}, "#),
        Some(nice) => format!(r#""priority": {}, "#, 19 - nice % 4),
        None => String::new(),
    });
    let sleep = prop::option::of(time_us(60_000));
    (sets, time_us(40_000), sleep).prop_map(|(sets, run, sleep)| {
        let sleep = sleep.map_or(String::new(), |us| format!(r#", "sleep": {us}"#));
        format!(r#"{{{sets}"run": {}{sleep}}}"#, run.max(1))
    })
}

/// A task that comes, goes through its phases some times and exits.
fn guest() -> impl Strategy<Value = String> {
    any::<bool>().prop_flat_map(|shared| {
        let begins = (time_us(400_000), 1..20u32, 1..13u32);
        (begins, prop::collection::vec(phase(shared), 1..4)).prop_map(
            move |((delay, rounds, share), phases)| {
                let first = match shared {
                    true => format!(r#""share": {share}"#),
                    false => r#""priority": 19"#.to_owned(),
                };
                let named =
                    phases.iter().enumerate().map(|(at, phase)| format!(r#""p{at}": {phase}"#));
                let phases = named.collect::<Vec<_>>().join(", ");
                format!(
                    r#"{{"delay": {delay}, "loop": {rounds}, {first}, "phases": {{{phases}}}}}"#
                )
            },
        )
    })
}

fn load() -> impl Strategy<Value = String> {
    let hogs = prop::collection::vec(1..13u32, 0..4);
    (hogs, prop::collection::vec(guest(), 1..7)).prop_map(|(hogs, guests)| {
        let hog = |share: &u32| format!(r#"{{"share": {share}, "run": 1000000000}}"#);
        let all = hogs.iter().map(hog).chain(guests).enumerate();
        let named = all.map(|(at, task)| format!(r#""t{at}": {task}"#));
        format!(r#"{{"tasks": {{{}}}}}"#, named.collect::<Vec<_>>().join(", "))
    })
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn picks_are_those_of_the_exact_model_where_clients_walk_to_their_place(load in load()) {
        let (picked, exact) = both("walk", Insert::Walk, &load);
        prop_assert_eq!(picked, exact);
    }

    #[test]
    fn picks_are_those_of_the_exact_model_with_the_array_of_shares(load in load()) {
        let (picked, exact) = both("array", Insert::Array, &load);
        prop_assert_eq!(picked, exact);
    }
}

#[test]
fn who_comes_within_a_quantum_starts_at_the_virtual_time_of_that_moment() {
    // Shares 2, 2, and 4 from 5 ms on. Then QVT is 5/4 ms [eq. 7] and C gets all 4 quanta left
    // [eq. 9]. Times in ms after each quantum, VT of A, B, C, and QVT:
    //   A  10: 5 0 1.25     1.875     B has more quanta left than A: it follows
    //   B  20: 5 5 1.25     3.125     the end of the queue
    //   C  30: 5 5 3.75     4.375     A: 5 < 4.375 + 10/8
    //   A  40: 10 5 3.75    5.625     B has more left than A
    //   B  50: 10 10 3.75   6.875     the end; C has its other three, and the cycle ends
    //   C  80: 10 10 11.25  10.625    a new cycle, from its head
    //   C  90: 10 10 13.75  11.875    A: 10 < 11.875 + 10/8
    let load = r#"{"tasks": {
        "A": {"share": 2, "run": 1000000000}, "B": {"share": 2, "run": 1000000000},
        "C": {"share": 4, "delay": 5000, "run": 1000000000}}}"#;
    let (_, tape) = Hosted::new("vtrr", &[], ideal(1, 100 * MS), load).run();
    assert_eq!(&letters(&tape)[..10], "ABCABCCCCA");
}

#[test]
fn who_comes_at_the_end_of_a_quantum_finds_it_counted() {
    // A and B, share 1 each; C, share 1, comes at 10 ms, when A's quantum ends. QVT is 10/2 = 5 ms
    // and one quantum is left, B's: C gets floor(1/2) of it, and not less than the next one's.
    // B follows (more quanta left than A), then the cycle is over.
    let load = r#"{"tasks": {
        "A": {"share": 1, "run": 1000000000}, "B": {"share": 1, "run": 1000000000},
        "C": {"share": 1, "delay": 10000, "run": 1000000000}}}"#;
    let (_, tape) = Hosted::new("vtrr", &[], ideal(1, 80 * MS), load).run();
    assert_eq!(&letters(&tape)[..8], "ABABCABC");
}

#[test]
fn the_counter_of_a_client_that_leaves_is_compared_not_that_of_the_one_before_it() {
    // Shares 4, 3 and 3. B leaves in the middle of its first quantum, at 15 ms, with its counter
    // at 3; C has 3, no more, so eq. 6 decides: VT 0 < QVT. The one before B, A, has 3, too.
    // At 25 ms C has run and A follows; at 35 ms it has 2 left and C, at VT 10/3, is behind
    // QVT + Q/7 = 1.5 + 20/7 + 10/7 = 5.8: C. That one sleeps at 40 ms with 2 quanta left ...
    let load = r#"{"tasks": {
        "A": {"share": 4, "run": 1000000000},
        "B": {"share": 3, "phases": {"p": {"run": 5000, "sleep": 1000000}}},
        "C": {"share": 3, "run": 1000000000}}}"#;
    let (_, tape) = Hosted::new("vtrr", &[], ideal(1, 70 * MS), load).run();
    assert_eq!(&letters(&tape)[..5], "ABCAC");
}
