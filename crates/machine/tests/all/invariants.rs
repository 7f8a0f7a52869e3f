// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for every scheduler on every machine under every load, tried with random ones. The
//! machine audits its own books at each instant (`Config::audit`).

use crate::common::plan::{cases, plan};
use crate::common::replay::obeys;
use crate::common::{run, shared_fifo};
use proptest::prelude::*;
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;

const RUN_NS: u64 = 150_000_000;

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_native_scheduler_obeys_under_random_loads(plan in plan()) {
        let load = plan.workload();
        let (outcome, tape) = run(plan.config(RUN_NS), &load, &mut shared_fifo());
        prop_assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}\n{}", outcome.exit, load);
        prop_assert_eq!(obeys(&plan, &tape.0, RUN_NS), Ok(()), "{}", load);
    }

    /// An audit looks at every instant, so that no ticks are done in one go.
    #[test]
    fn a_run_is_the_same_whether_every_instant_is_looked_at_or_not(plan in plan()) {
        let load = plan.workload();
        let config = |audit| Config { audit, ..plan.config(RUN_NS) };
        let (audited, tape) = run(config(true), &load, &mut shared_fifo());
        let (plain, same) = run(config(false), &load, &mut shared_fifo());
        prop_assert_eq!(&tape.0, &same.0, "{}", load);
        prop_assert_eq!(audited.counters.events, plain.counters.events);
    }
}
