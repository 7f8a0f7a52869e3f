// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for every scheduler on every hardware: work is done once, and no faster than by the
//! fastest CPU. The machine audits the speeds themselves at each instant (`Config::audit`).

use super::{cores, MS};
use crate::common::hardware::{hardware, of, wakes_late, worked};
use crate::common::plan::{cases, plan};
use crate::common::replay::obeys;
use crate::common::wild::Wild;
use crate::common::{run, shared_fifo};
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_trace::EventKind;
use std::sync::Arc;

const RUN_NS: u64 = 150 * MS;

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn work_is_done_once_at_whatever_speeds(plan in plan(), hardware in hardware()) {
        let load = plan.workload();
        let mut config = plan.config(RUN_NS);
        let hardware = of(&plan, hardware);
        config.hardware = Some(Arc::new(hardware.clone()));
        let (outcome, tape) = run(config, &load, &mut shared_fifo());
        prop_assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}\n{}", outcome.exit, load);
        // a CPU that is still waking up is idle while a task waits
        if !wakes_late(&hardware) {
            prop_assert_eq!(obeys(&plan, &tape.0, RUN_NS), Ok(()), "{}", load);
        }
        for (done, expected) in worked(&plan, &hardware, &tape).map_err(TestCaseError::fail)? {
            prop_assert_eq!(done, expected, "{}", load);
        }
    }

    #[test]
    fn work_is_done_once_under_a_scheduler_without_a_plan(
        plan in plan(),
        hardware in hardware(),
        seed in any::<u64>(),
    ) {
        let mut config = plan.config(RUN_NS);
        let hardware = of(&plan, hardware);
        config.hardware = Some(Arc::new(hardware.clone()));
        let (_, tape) = run(config, &plan.workload(), &mut Wild::new(seed, 0, plan.cpus));
        for (done, expected) in worked(&plan, &hardware, &tape).map_err(TestCaseError::fail)? {
            prop_assert_eq!(done, expected);
        }
    }

    #[test]
    fn cpus_of_full_speed_are_a_flat_machine(plan in plan()) {
        let mut config = plan.config(RUN_NS);
        let (_, flat) = run(config.clone(), &plan.workload(), &mut shared_fifo());
        config.hardware = Some(Arc::new(of(&plan, cores(&vec![1024; plan.cpus as usize]))));
        let (_, tape) = run(config, &plan.workload(), &mut shared_fifo());
        let without_work = tape.0.iter().filter(|e| !matches!(e.kind, EventKind::Work { .. }));
        prop_assert!(flat.0.iter().eq(without_work), "{}", plan.workload());
    }
}
