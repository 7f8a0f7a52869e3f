// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs nobody would write.

use crate::both::{seen, seen_in_parts, start};
use crate::run_support::random;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn random_programs_leave_the_same_compiled(
        bytes in prop::collection::vec(any::<u8>(), random::STEP..random::STEP * 120),
        args in prop::array::uniform5(any::<u64>()),
        budget in prop_oneof![Just(5_000u64), 1u64..200],
    ) {
        let run = |compiled| seen(start(random::program(&bytes), compiled), &[&args, &args], budget);
        prop_assert_eq!(run(false), run(true));
    }

    #[test]
    fn random_programs_stop_and_go_on_compiled_as_interpreted(
        bytes in prop::collection::vec(any::<u8>(), random::STEP..random::STEP * 60),
        args in prop::array::uniform5(any::<u64>()),
        part in 1u64..60,
    ) {
        let run = |compiled, part| {
            seen_in_parts(start(random::program(&bytes), compiled), &args, 2_000, part)
        };
        let at_once = run(false, u64::MAX);
        prop_assert_eq!(&at_once, &run(true, part));
        prop_assert_eq!(&at_once, &run(true, u64::MAX));
    }
}
