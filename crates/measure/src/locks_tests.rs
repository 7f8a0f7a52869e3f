// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits for locks worked out by hand, and what holds of all.

use super::*;
use proptest::prelude::*;

const WAIT: LockStep = LockStep::Wait { holder: 0 };
const RELEASE: LockStep = LockStep::Release { holder: 0 };

fn name(task: usize) -> (String, u32) {
    (format!("t{task}"), task as u32)
}

/// Steps of tasks at one mutex; no task ever waits for a CPU but task 0, from 2 to 6.
fn run(steps: &[(u64, usize, LockStep, Option<usize>)], end_ns: u64) -> Locks {
    let (mut locks, m) = (Locks::default(), Arc::from("m"));
    let delay = |now_ns: u64| move |task| if task == 0 { now_ns.clamp(2, 6) - 2 } else { 0 };
    for (now_ns, task, step, holder) in steps {
        let now = (*now_ns, &delay(*now_ns) as Delay<'_>);
        locks.step((LockKind::Mutex, &m), *task, *step, *holder, now);
    }
    locks.close(end_ns, &delay(end_ns));
    locks
}

/// Task 0 holds m. Task 1 waits 1-12, task 2 4-15, of which 0 holds it until 10, no task 10-12, 1
/// 12-13, no task 13-15. Task 0 waited for a CPU 2-6: 4 of the wait of 1, 2 of that of 2.
#[test]
fn waits_worked_out_by_hand() {
    let locks = run(
        &[
            (1, 1, WAIT, Some(0)),
            (4, 2, WAIT, Some(0)),
            (10, 0, RELEASE, None),
            (12, 1, LockStep::Acquire, None),
            (13, 1, RELEASE, None),
            (15, 2, LockStep::Acquire, None),
        ],
        20,
    );
    let [lock] = &locks.numbers(name)[..] else { panic!("one lock") };
    let pairs: Vec<_> = lock
        .pairs
        .iter()
        .map(|p| (p.waiter_pid, p.holder_pid, p.blocked_ns, p.holder_delay_ns))
        .collect();
    let expected = [
        (1, Some(0), 9, 4),
        (2, Some(0), 6, 2),
        // 10-12 and 13-15.
        (2, None, 4, 0),
        (1, None, 2, 0),
        (2, Some(1), 1, 0),
    ];
    assert_eq!(pairs, expected);
    assert_eq!((lock.blocked_ns, lock.holder_delay_ns), (22, 6));
    assert_eq!((lock.wait_ns.count, lock.wait_ns.mean, lock.wait_ns.waiting), (2, Some(11.0), 0));
}

#[test]
fn a_wait_that_is_open_at_the_end_counts_up_to_there() {
    let locks = run(&[(3, 1, WAIT, Some(0))], 20);
    let totals = locks.totals().expect("a mutex");
    assert_eq!((totals.wait_ns.max, totals.wait_ns.waiting), (Some(17), 1));
    assert_eq!((totals.blocked_ns, totals.holder_delay_ns), (17, 3));
}

#[test]
fn a_condition_is_no_mutex() {
    let (mut locks, c) = (Locks::default(), Arc::from("c"));
    locks.step((LockKind::Condition, &c), 1, WAIT, None, (0, &|_| 0));
    locks.step((LockKind::Condition, &c), 1, LockStep::Acquire, None, (5, &|_| 0));
    assert_eq!(locks.totals(), None);
    assert_eq!(locks.numbers(name)[0].wait_ns.max, Some(5));
}

proptest! {
    /// The time of each wait is divided among the holders without rest, and a holder is delayed no
    /// longer than it is waited for.
    #[test]
    fn pairs_add_up_to_the_waits(
        steps in proptest::collection::vec((0..20u64, 0..4usize, 0..3usize), 0..100)
    ) {
        let (mut now_ns, mut waits, mut script) = (0, [false; 4], Vec::new());
        for (gap_ns, task, what) in steps {
            now_ns += gap_ns;
            let (step, holder) = match what {
                0 if !waits[task] => (WAIT, Some((task + 1) % 4)),
                1 => (LockStep::Acquire, None),
                _ => (RELEASE, None),
            };
            waits[task] = step == WAIT || waits[task] && step != LockStep::Acquire;
            script.push((now_ns, task, step, holder));
        }
        let locks = run(&script, now_ns + 5);
        for lock in locks.numbers(name) {
            let sum = lock.wait_ns.mean.unwrap_or(0.0) * lock.wait_ns.count as f64;
            prop_assert!((sum - lock.blocked_ns as f64).abs() < 1e-6);
            prop_assert!(lock.pairs.iter().all(|pair| pair.holder_delay_ns <= pair.blocked_ns));
        }
    }
}
