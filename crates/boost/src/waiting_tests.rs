// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// Of Table 1 nice -7 for UNIX sockets.
const LOAD: u32 = 6 * table::LOAD_ONE + 1;
const LOOK_NS: u64 = 50 * MS;
const USER: u32 = 1000;

/// On a CPU that ten want: 100 ms are full credit, and from 6.25 ms on it is enough.
fn seen(answer_ns: u64, cpu_ns: u64) -> Seen {
    Seen { answer_ns, running: 10, cpu_ns }
}

fn begin(waiting: &mut Waiting, now_ns: u64, tid: u32) {
    assert!(waiting.answered(now_ns, (tid, USER), Family::Unix, seen(now_ns, 0), LOAD));
}

fn with_one() -> Waiting {
    let mut waiting = Waiting::default();
    begin(&mut waiting, 0, 1);
    waiting
}

fn look(waiting: &mut Waiting, tid: u32, ms: u64, cpu_ms: u64) -> Step {
    waiting.look(ms * MS, tid, seen(ms * MS, cpu_ms * MS), LOAD)
}

#[test]
fn a_waiter_is_released_when_it_is_not_answered_or_the_load_is_low() {
    let mut waiting = with_one();
    let again = waiting.answered(0, (1, USER), Family::Unix, seen(0, 0), LOAD);
    assert!(!again, "known already");
    assert_eq!(waiting.look(HOLD_NS - 1, 1, seen(0, HOLD_NS), LOAD), Step::Nice(0));
    assert_eq!(waiting.look(HOLD_NS, 1, seen(0, HOLD_NS), LOAD), Step::Release);
    assert_eq!(waiting.look(HOLD_NS, 1, seen(HOLD_NS, 0), 0), Step::Release);
    assert!(waiting.forget(1) && !waiting.forget(1) && waiting.is_empty());
    assert_eq!(waiting.look(HOLD_NS, 1, seen(HOLD_NS, 0), LOAD), Step::Release);
}

/// Network sockets count from a higher load on, as in Table 1.
#[test]
fn at_a_low_load_nobody_is_a_waiter() {
    let mut waiting = Waiting::default();
    let mut answered =
        |tid, family, load| waiting.answered(0, (tid, USER), family, seen(0, 0), load);
    assert!(!answered(1, Family::Unix, 1600));
    assert!(answered(1, Family::Unix, 1601));
    assert!(!answered(2, Family::Network, 3000));
    assert!(answered(2, Family::Network, 3001));
}

/// A tenth of the time is fair. Who uses a twentieth has 6.25 ms after 125 ms.
#[test]
fn who_uses_less_than_its_share_is_elevated_after_a_while() {
    let mut waiting = with_one();
    assert_eq!(look(&mut waiting, 1, 120, 6), Step::Nice(0));
    assert_eq!(look(&mut waiting, 1, 130, 6), Step::Nice(-7));
    // It has 7 and gets 5, of which it uses 45: it owes 33.
    assert_eq!(look(&mut waiting, 1, 180, 51), Step::Nice(0));
    assert_eq!(waiting.credit_ms(1), Some(-33));
    // Those take 330 ms, in which it uses nothing, and 6.25 more 62.5.
    assert_eq!(look(&mut waiting, 1, 570, 51), Step::Nice(0));
    assert_eq!(look(&mut waiting, 1, 575, 51), Step::Nice(-7));
}

/// What the kernel gives it without us it does not owe.
#[test]
fn time_that_was_used_while_not_elevated_is_not_owed() {
    let mut waiting = with_one();
    assert_eq!(look(&mut waiting, 1, 1000, 900), Step::Nice(0));
    assert_eq!(waiting.credit_ms(1), Some(0));
    assert_eq!(look(&mut waiting, 1, 1063, 900), Step::Nice(-7));
}

/// As above, but a new thread for the next request: it begins with the 33 ms that are owed, and
/// the tick of 4 ms of which the kernel may not have told.
#[test]
fn what_a_thread_owes_when_it_ends_the_next_one_of_its_user_does() {
    let mut waiting = with_one();
    assert_eq!(look(&mut waiting, 1, 130, 6), Step::Nice(-7));
    waiting.ended(180 * MS, 1, Some(51 * MS));
    assert!(waiting.answered(180 * MS, (3, USER + 1), Family::Unix, seen(0, 0), LOAD));
    begin(&mut waiting, 180 * MS, 2);
    assert_eq!((waiting.credit_ms(3), waiting.credit_ms(2)), (Some(0), Some(-37)));
    // Nobody owes it twice.
    begin(&mut waiting, 180 * MS, 4);
    assert_eq!(waiting.credit_ms(4), Some(0));
}

#[test]
fn of_a_thread_of_which_nothing_is_known_any_more_the_worst_is_thought() {
    let mut waiting = with_one();
    assert_eq!(look(&mut waiting, 1, 130, 6), Step::Nice(-7));
    // It has 7 and gets 5, and may have used 50.
    waiting.ended(180 * MS, 1, None);
    begin(&mut waiting, 180 * MS, 2);
    assert_eq!(waiting.credit_ms(2), Some(-38));
    // Who was not elevated owes nothing.
    waiting.ended(200 * MS, 2, None);
    begin(&mut waiting, 600 * MS, 3);
    assert_eq!(waiting.credit_ms(3), Some(0));
}

#[test]
fn debts_are_paid_with_time() {
    let mut waiting = with_one();
    assert_eq!(look(&mut waiting, 1, 130, 6), Step::Nice(-7));
    waiting.ended(180 * MS, 1, Some(51 * MS));
    begin(&mut waiting, 380 * MS, 2);
    assert_eq!(waiting.credit_ms(2), Some(-17));
    waiting.forget(2);
    waiting.pay(551 * MS);
    assert!(waiting.debts.is_empty());
}

proptest! {
    /// Whatever it does and however many want its CPU, while it is elevated it uses no more
    /// than the fair share of all the time, and what it used in one look.
    #[test]
    fn what_is_used_while_elevated_is_no_more_than_the_share_of_all_time(
        spells in prop::collection::vec((1u32..50, 0u64..=50), 1..400)
    ) {
        let first = Seen { running: spells[0].0, ..Seen::default() };
        let mut credit = Credit::new(0, first, 0.0);
        let (mut cpu_ns, mut fair_ns, mut used_ns) = (0, 0.0, 0.0);
        let mut elevated = false;
        for (n, (running, greed)) in spells.iter().enumerate() {
            let greed_ns = greed * MS;
            cpu_ns += greed_ns;
            if elevated {
                used_ns += greed_ns as f64;
            }
            let now_ns = (n as u64 + 1) * LOOK_NS;
            elevated = credit.look(now_ns, Seen { answer_ns: 0, running: *running, cpu_ns });
            fair_ns += LOOK_NS as f64 / credit.running;
        }
        prop_assert!(used_ns <= fair_ns + LOOK_NS as f64 + 1.0, "{used_ns} of {fair_ns}");
    }

    /// The same of threads of one user that follow each other, each as long as it likes.
    #[test]
    fn new_threads_gain_nothing(
        lives in prop::collection::vec(prop::collection::vec(0u64..=50, 1..20), 1..100)
    ) {
        let mut waiting = Waiting::default();
        let (mut now_ns, mut used_ns) = (0, 0.0);
        for (n, life) in lives.iter().enumerate() {
            let tid = n as u32 + 1;
            begin(&mut waiting, now_ns, tid);
            let (mut cpu_ns, mut elevated) = (0, false);
            for greed in life {
                now_ns += LOOK_NS;
                cpu_ns += greed * MS;
                used_ns += if elevated { (greed * MS) as f64 } else { 0.0 };
                elevated = waiting.look(now_ns, tid, seen(now_ns, cpu_ns), LOAD) != Step::Nice(0);
            }
            // At its end it burns the CPU.
            now_ns += LOOK_NS;
            used_ns += if elevated { LOOK_NS as f64 } else { 0.0 };
            waiting.ended(now_ns, tid, Some(cpu_ns + LOOK_NS));
        }
        let fair_ns = now_ns as f64 / 10.0;
        prop_assert!(used_ns <= fair_ns + LOOK_NS as f64 + 1.0, "{used_ns} of {fair_ns}");
    }

    /// On a CPU that it wants all the time, of which it gets its share, it never is elevated.
    #[test]
    fn who_wants_the_cpu_all_the_time_is_never_elevated(running in 1u32..50) {
        let first = Seen { running, ..Seen::default() };
        let mut credit = Credit::new(0, first, 0.0);
        for n in 1..1000u64 {
            let cpu_ns = n * LOOK_NS / u64::from(running);
            let seen = Seen { answer_ns: 0, running, cpu_ns };
            prop_assert!(!credit.look(n * LOOK_NS, seen));
        }
    }
}
