// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops that take a known time, as Interbench calibrates them.

use crate::clock::now_ns;
use crate::error::Error;
use std::hint::black_box;
use std::time::Duration;

const MS_NS: u64 = 1_000_000;
/// CPUs need a while to come to their full speed.
const WARMUP_NS: u64 = 1_000_000_000;
/// How far off a millisecond of loops may be, in thousandths.
const WITHIN: u64 = 10;
/// How far off it may be after a pause.
const WITHIN_LATER: u64 = 50;
const PAUSE: Duration = Duration::from_millis(500);
/// The best of so many counts: who is interrupted takes longer, nobody takes less.
const RUNS: usize = 5;
const ROUNDS: usize = 50;

/// Does nothing so often.
pub(crate) fn burn(loops: u64) {
    for at in 0..loops {
        black_box(at);
    }
}

/// Loops that take a time.
pub(crate) fn loops(loops_per_ms: u64, ns: u64) -> u64 {
    (u128::from(loops_per_ms) * u128::from(ns) / u128::from(MS_NS)) as u64
}

/// How many loops take a millisecond on this CPU: to 1 %, and to 5 % after a pause.
pub(crate) fn calibrate() -> Result<u64, Error> {
    let began_ns = now_ns();
    while now_ns() - began_ns < WARMUP_NS {
        burn(100_000);
    }
    let time = |loops| {
        let began_ns = now_ns();
        burn(loops);
        now_ns() - began_ns
    };
    loops_per_ms(time, || std::thread::sleep(PAUSE))
}

/// The same with anything that takes a time for so many loops.
fn loops_per_ms(time: impl Fn(u64) -> u64, pause: impl Fn()) -> Result<u64, Error> {
    let best = |loops: u64| (0..RUNS).map(|_| time(loops)).min().unwrap_or(0).max(1);
    let near = |ns: u64, thousandths: u64| ns.abs_diff(MS_NS) <= MS_NS * thousandths / 1000;
    let mut loops = 100_000;
    for _ in 0..ROUNDS {
        let ns = best(loops);
        if near(ns, WITHIN) {
            pause();
            if near(best(loops), WITHIN_LATER) {
                return Ok(loops);
            }
        } else {
            let scaled = u128::from(loops) * u128::from(MS_NS) / u128::from(ns);
            loops = u64::try_from(scaled).unwrap_or(u64::MAX).max(1);
        }
    }
    Err(Error::Failure(
        "the CPU's speed changes too much to be calibrated: \
         try again when less else runs, or give --loops-per-ms"
            .into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    #[test]
    fn loops_are_scaled_until_they_take_a_millisecond() {
        // 4 ns each: 100,000 take 0.4 ms, so 250,000 take 1 ms.
        assert_eq!(loops_per_ms(|loops| loops * 4, || {}).expect("steady"), 250_000);
        assert_eq!(loops(250_000, 2_500_000), 625_000);
        assert_eq!(loops(250_000, 0), 0);
    }

    #[test]
    fn interruptions_do_not_count() {
        // Four times in five somebody else has the CPU for a while.
        let calls = Cell::new(0);
        let time = |loops: u64| {
            calls.set(calls.get() + 1);
            loops * 2 + if calls.get() % 5 == 0 { 0 } else { 3_000_000 }
        };
        assert_eq!(loops_per_ms(time, || {}).expect("steady"), 500_000);
    }

    #[test]
    fn what_is_off_after_the_pause_is_done_again() {
        // Twice as fast from the first pause on.
        let halved = Cell::new(false);
        let time = |loops: u64| if halved.get() { loops } else { loops * 2 };
        let found = loops_per_ms(time, || halved.set(true));
        assert_eq!(found.expect("steady in the end"), 1_000_000);
    }

    #[test]
    fn a_speed_that_always_changes_is_an_error() {
        // 4 ns and 1 ns in turns, by rounds: 250,000 loops and a million.
        let calls = Cell::new(0);
        let turns = |loops: u64| {
            calls.set(calls.get() + 1);
            loops * if (calls.get() - 1) / RUNS % 2 == 0 { 4 } else { 1 }
        };
        let error = loops_per_ms(turns, || {}).expect_err("is not steady");
        assert!(error.to_string().contains("--loops-per-ms"), "{error}");
    }

    proptest! {
        #[test]
        fn any_steady_speed_is_found(per_loop_ps in 20..1_000_000u64) {
            let time = |loops: u64| (u128::from(loops) * u128::from(per_loop_ps) / 1000) as u64;
            let found = loops_per_ms(time, || {}).expect("is steady");
            let ns = time(found);
            prop_assert!(ns.abs_diff(MS_NS) <= MS_NS / 100, "{} loops take {} ns", found, ns);
        }
    }
}
