// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn cells(timeline: &Timeline, cpu: usize) -> Vec<Cell> {
    timeline.of_cpu(cpu).2
}

/// Letter, and the times in milliseconds.
fn cell(letter: u8, top: u32, busy: u32, wasted: u32) -> Cell {
    let [top_ns, busy_ns, wasted_ns] = [top, busy, wasted].map(|ms| ms * 1_000_000);
    Cell { letter, top_ns, busy_ns, wasted_ns }
}

#[test]
fn a_step_shows_the_task_that_ran_longest() {
    let mut timeline = Timeline::new(1);
    timeline.run(0, Some(7));
    timeline.advance(4 * MS);
    timeline.run(0, Some(8));
    timeline.advance(9 * MS);
    timeline.run(0, None);
    // Task 8 ran 5 ms of the first 10 ms, task 7 ran 4 ms.
    timeline.advance(20 * MS);
    assert_eq!(cells(&timeline, 0), [cell(b'A', 5, 9, 0), cell(0, 0, 0, 0)]);
}

#[test]
fn idle_time_is_wasted_while_a_task_waits_that_may_use_the_cpu() {
    let mut timeline = Timeline::new(3);
    timeline.run(0, Some(7));
    timeline.advance(2 * MS);
    timeline.wait(None, true);
    timeline.advance(5 * MS);
    timeline.wait(None, false);
    let tie: CpuList = [0, 2].into_iter().collect();
    timeline.wait(Some(&tie), true);
    timeline.advance(12 * MS);
    timeline.wait(Some(&tie), false);
    timeline.advance(20 * MS);
    // 2 to 5 ms on both idle CPUs, 5 to 12 ms on CPU 2 only.
    assert_eq!(cells(&timeline, 0), [cell(b'A', 10, 10, 0), cell(b'A', 10, 10, 0)]);
    assert_eq!(cells(&timeline, 1), [cell(0, 0, 0, 3), cell(0, 0, 0, 0)]);
    assert_eq!(cells(&timeline, 2), [cell(0, 0, 0, 8), cell(0, 0, 0, 2)]);
}

#[test]
fn cpus_that_are_off_waste_nothing() {
    let mut timeline = Timeline::new(2);
    timeline.plug(1, false);
    timeline.wait(None, true);
    timeline.advance(10 * MS);
    assert_eq!(
        (cells(&timeline, 0), cells(&timeline, 1)),
        (vec![cell(0, 0, 0, 10)], vec![cell(0, 0, 0, 0)])
    );
    assert_eq!(timeline.sums(), (0, 10 * MS, 10 * MS));
}

#[test]
fn only_the_last_steps_are_kept_however_long_nothing_happens() {
    let mut timeline = Timeline::new(1);
    timeline.run(0, Some(7));
    timeline.advance(3_600_000 * MS);
    let kept = cells(&timeline, 0);
    assert_eq!(kept.len(), STEPS);
    assert!(kept.iter().all(|of| *of == cell(b'A', 10, 10, 0)));
}

proptest! {
    /// Whatever happens, a step has no more time than it is long, and none is lost.
    #[test]
    fn a_step_is_busy_or_idle_all_its_time(
        acts in prop::collection::vec((0..4u32, prop::option::of(1..5u32), any::<bool>(), 0..7u64), 1..200)
    ) {
        let mut timeline = Timeline::new(2);
        let (mut now_ns, mut waiting) = (0, 0);
        let mut busy_ns = [0u64; 4];
        let mut runs = [None; 4];
        for (cpu, task, more, ms) in acts {
            timeline.run(cpu, task);
            runs[cpu as usize] = task;
            if more || waiting > 0 {
                timeline.wait(None, more);
                waiting += if more { 1 } else { -1 };
            }
            now_ns += ms * MS;
            timeline.advance(now_ns);
            (0..4).filter(|cpu| runs[*cpu].is_some()).for_each(|cpu| busy_ns[cpu] += ms * MS);
        }
        let end_ns = (now_ns / STEP_NS + 1) * STEP_NS;
        (0..4).filter(|cpu| runs[*cpu].is_some()).for_each(|cpu| busy_ns[cpu] += end_ns - now_ns);
        timeline.advance(end_ns);
        for (cpu, busy_ns) in busy_ns.into_iter().enumerate().take(timeline.cpus()) {
            let cells = cells(&timeline, cpu);
            prop_assert_eq!(cells.len() as u64, end_ns / STEP_NS);
            let busy: u64 = cells.iter().map(|cell| u64::from(cell.busy_ns)).sum();
            prop_assert_eq!(busy, busy_ns);
            for cell in cells {
                prop_assert!(u64::from(cell.busy_ns + cell.wasted_ns) <= STEP_NS);
                prop_assert!(cell.top_ns <= cell.busy_ns);
            }
        }
    }
}
