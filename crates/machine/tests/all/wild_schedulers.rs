// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that make random calls, within the rules and against them, never upset the
//! machine: they are ejected, or their tasks run or wait. Hosted objects that are damaged
//! are tested where they are loaded.

use crate::common::plan::{cases, plan, Plan};
use crate::common::wild::Wild;
use crate::common::Tape;
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_machine::interruption::Interruption;
use rota_machine::lab::Lab;
use rota_machine::run::{Machine, Outcome};
use std::sync::Arc;

const RUN_NS: u64 = 100_000_000;

fn run(plan: &Plan, seed: u64, lawless: u32) -> (Outcome, Tape, Vec<u64>) {
    let load = Arc::new(rota_workload::parse("random.json", &plan.workload()).unwrap());
    let mut config = plan.config(RUN_NS);
    let interruption = |(cpu, at_ns, for_ns)| Interruption { cpu, at_ns, for_ns };
    let interruptions = plan.others.iter().copied().map(interruption).collect();
    config.lab = Some(Lab { interruptions, ..Lab::default() });
    let mut machine = Machine::new(config, load, &rota_object::btf::reference()).unwrap();
    let (mut wild, mut tape) = (Wild::new(seed, lawless, plan.cpus), Tape::default());
    let outcome = machine.run(&mut wild, &mut tape).unwrap();
    (outcome, tape, wild.answers)
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn the_machine_survives_any_scheduler(
        plan in plan(),
        seed in any::<u64>(),
        lawless in prop::sample::select(vec![0, 1, 10, 100, 1000]),
    ) {
        let (outcome, tape, answers) = run(&plan, seed, lawless);
        // ejected at once, or at some time, or not at all: always with a reason
        prop_assert!(outcome.end_ns <= RUN_NS);
        let fine = outcome.exit.kind == ExitKind::Unreg;
        prop_assert_eq!(fine, outcome.exit.message.is_empty(), "{}", outcome.exit);
        prop_assert_eq!(fine, outcome.end_ns == RUN_NS, "{}", outcome.exit);
        // and the same again
        let again = run(&plan, seed, lawless);
        prop_assert_eq!(tape.0, again.1 .0);
        prop_assert_eq!(answers, again.2);
        prop_assert_eq!(outcome.exit, again.0.exit);
    }
}
