// SPDX-License-Identifier: MIT OR Apache-2.0
//! The binary logarithm of `log2.bpf.h`, which promises to be off by less than 2^-32.

use crate::run_object::start;
use crate::run_support::Hosted;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::RefCell;

const ONE: f64 = (1u64 << 32) as f64;

/// How far off the logarithm of `x` is, in units of 2^-32. A double has 20 bits more than that
/// for a logarithm below 64, if the integer part is taken off first, and `x` has up to 52 bits
/// after its first one.
fn error(machine: &mut Hosted, x: u64) -> f64 {
    let place = x.ilog2();
    let log = machine.run("log2_at", &[x]) as i64 - (i64::from(place) << 32);
    let fraction = (x as f64 / (1u64 << place) as f64).log2();
    log as f64 - fraction * ONE
}

#[test]
fn powers_of_two_have_whole_logarithms() {
    let mut machine = start("log2.bpf.c", "v3");
    for place in 0..64u64 {
        assert_eq!(machine.run("log2_at", &[1 << place]), place << 32);
    }
    assert_eq!(machine.run("log2_at", &[0]), 0, "as of 1");
}

#[test]
fn errors_are_below_one_unit_everywhere() {
    // every number up to 2^16, and in each octave every part of a table's step, from end to end
    let mut machine = start("log2.bpf.c", "v3");
    let mut worst: f64 = 0.0;
    for x in 1..1 << 16 {
        worst = worst.max(error(&mut machine, x).abs());
    }
    for place in [20, 33, 40, 50] {
        for step in 0..128 {
            let (from, width) = ((128 + step) << (place - 7), 1u64 << (place - 7));
            for part in 0..=16 {
                let x = from + (width - 1) * part / 16;
                worst = worst.max(error(&mut machine, x).abs());
            }
        }
    }
    assert!(worst < 1.0, "{worst}");
    assert!(worst > 0.5, "{worst}: rounding alone is off by half a unit");
}

#[test]
fn a_greater_number_has_no_smaller_logarithm_where_steps_of_the_table_meet() {
    let mut machine = start("log2.bpf.c", "v3");
    for place in [10, 20, 33, 47, 55, 62] {
        for step in 0..=128u64 {
            let border = (128 + step) << (place - 7);
            let logs: Vec<u64> =
                (border - 8..border + 8).map(|x| machine.run("log2_at", &[x])).collect();
            assert!(logs.is_sorted(), "around {border}: {logs:?}");
        }
    }
}

#[test]
fn errors_are_below_one_unit_for_random_numbers() {
    let machine = RefCell::new(start("log2.bpf.c", "v3"));
    let numbers = (0..52u32, 0..u64::MAX, 0..1u64 << 40);
    let check = |(place, bits, more): (u32, u64, u64)| {
        let mut machine = machine.borrow_mut();
        let x = 1 << place | bits & ((1 << place) - 1);
        prop_assert!(error(&mut machine, x).abs() < 1.0, "{x}");
        let [one, other] = [x, x + more].map(|x| machine.run("log2_at", &[x]));
        prop_assert!(one <= other, "{x} and {more} more");
        Ok(())
    };
    TestRunner::default().run(&numbers, check).unwrap();
}
