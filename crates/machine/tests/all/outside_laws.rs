// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds whatever happens from outside: the machine's books agree at each instant
//! (`Config::audit`), and tasks run where they may.

use crate::common::plan::{cases, plan, Plan};
use crate::common::script::{is_refusal, lawful, script, scripted};
use crate::common::wild::Wild;
use crate::common::{shared_fifo, Native, Tape};
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_machine::ops::{Op, Ops};
use rota_machine::run::{Machine, Outcome};
use std::sync::Arc;

const RUN_NS: u64 = 100_000_000;

/// A shared queue and every callback that events make.
fn told() -> Native {
    let mut fifo = shared_fifo();
    fifo.add(&[
        Op::CpuOnline,
        Op::CpuOffline,
        Op::SetCpumask,
        Op::SetWeight,
        Op::CgroupInit,
        Op::CgroupExit,
        Op::CgroupPrepMove,
        Op::CgroupMove,
        Op::CgroupSetWeight,
        Op::CgroupSetBandwidth,
        Op::CgroupSetIdle,
        Op::Dequeue,
        Op::Quiescent,
    ]);
    fifo
}

/// The run, unless the load asks for what a kernel refuses.
fn accepted(plan: &Plan, load: &str, ops: &mut dyn Ops) -> Option<(Outcome, Tape)> {
    let load = Arc::new(rota_workload::parse("random.json", load).unwrap());
    let btf = rota_object::btf::reference();
    let mut machine = Machine::new(plan.config(RUN_NS), load, &btf).unwrap();
    let mut tape = Tape::default();
    match machine.run(ops, &mut tape) {
        Ok(outcome) => Some((outcome, tape)),
        Err(error) if is_refusal(&error) => None,
        Err(error) => panic!("{error}"),
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_books_agree_whatever_happens(plan in plan(), script in script(RUN_NS / 1000)) {
        let load = scripted(&plan, &script);
        let Some((outcome, tape)) = accepted(&plan, &load, &mut told()) else { return Ok(()) };
        prop_assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}\n{}", outcome.exit, load);
        prop_assert_eq!(lawful(&plan, &tape.0, RUN_NS), Ok(()), "{}", load);
    }

    /// They may be ejected, for it or for hotplug, but nothing else goes wrong.
    #[test]
    fn wild_schedulers_survive_or_are_ejected(
        plan in plan(),
        script in script(RUN_NS / 1000),
        seed in any::<u64>(),
        lawless in prop::sample::select(vec![0, 1, 10, 100]),
    ) {
        let load = scripted(&plan, &script);
        let mut wild = Wild::new(seed, lawless, plan.cpus);
        let Some((outcome, tape)) = accepted(&plan, &load, &mut wild) else { return Ok(()) };
        let fine = outcome.exit.kind == ExitKind::Unreg;
        prop_assert_eq!(fine, outcome.end_ns == RUN_NS, "{}\n{}", outcome.exit, load);
        prop_assert_eq!(lawful(&plan, &tape.0, RUN_NS), Ok(()), "{}", load);
    }
}
