// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shortest job first against the examples of [OSC §5.3.2]: A. Silberschatz, P. Galvin, G. Gagne,
//! Operating System Concepts. One ideal CPU; a quantum is 4 ms.

use crate::common::hosted::{hogs, letters, Hosted};
use crate::common::plan::cases;
use crate::common::{ideal, Tape};
use proptest::prelude::*;
use rota_machine::exit::ExitKind;

const MS: u64 = 1_000_000;
/// When those of an example come that learned before how long their bursts are.
const COME_MS: u64 = 500;

fn sjf(set: &[(&str, &str)], noting: &'static str, ms: u64, load: &str) -> (Hosted, Tape) {
    let mut hosted = Hosted::new("sjf", set, ideal(1, ms * MS), load).noting(noting);
    let (outcome, tape) = hosted.run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    (hosted, tape)
}

/// Tasks that have one burst each, alone, so that with alpha = 1 the next is predicted as it will
/// be, and come then: when after [`COME_MS`], and how long their bursts are, in ms.
fn processes(all: &[(u64, u64)]) -> String {
    let task = |(at, (comes, burst)): (usize, &(u64, u64))| {
        let (delay, run) = (at as u64 * 40, burst * 1000);
        let sleep = (COME_MS + comes - delay - burst) * 1000;
        let delay = delay * 1000;
        format!(
            r#""P{at}": {{"loop": 1, "delay": {delay}, "phases": {{
                "alone": {{"run": {run}, "sleep": {sleep}}}, "comes": {{"run": {run}}}}}}}"#
        )
    };
    let tasks: Vec<String> = all.iter().enumerate().map(task).collect();
    format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "))
}

/// When each ran after [`COME_MS`], in ms from then on.
fn ran(tape: &Tape, tasks: usize) -> Vec<Vec<(u64, u64)>> {
    let after = |(from, to): (u64, u64)| {
        let come = COME_MS * 1000;
        (from >= come).then(|| ((from - come) / 1000, (to - come) / 1000))
    };
    (0..tasks)
        .map(|at| tape.spans(&format!("P{at}-{at}")).into_iter().filter_map(after).collect())
        .collect()
}

/// CPU bursts of 6, 4, 6, 4, 13, 13 and 13 ms are predicted as 10 (the first), 8, 6, 6, 5, 9, 11, 12
/// with alpha = 1/2 (Figure 5.4).
#[test]
fn bursts_are_predicted_as_in_the_books_example() {
    let bursts = [6, 4, 6, 4, 13, 13, 13];
    let predicted = [8, 6, 6, 5, 9, 11, 12];
    let runs: Vec<String> = (0..)
        .zip(bursts)
        .map(|(at, ms)| format!(r#""run{at}": {}, "sleep{at}": 7000"#, ms * 1000))
        .collect();
    let load = format!(r#"{{"tasks": {{"a": {{"loop": 1, {}}}}}}}"#, runs.join(", "));
    let mut end_ms = 0;
    for (burst, predicted) in bursts.iter().zip(predicted) {
        // In the middle of the sleep after it
        let (hosted, _) = sjf(&[], "clients", end_ms + burst + 3, &load);
        assert_eq!(hosted.noted("[1].predicted_ns"), predicted * MS, "after {burst} ms");
        end_ms += burst + 7;
    }
    let (hosted, _) = sjf(&[], "stats", end_ms - 3, &load);
    assert_eq!((hosted.stat("bursts"), hosted.stat("outlasted")), (7, 3));
}

/// Bursts of 6, 8, 7 and 3 ms that come together begin at 3, 16, 9 and 0: 7 ms on average.
#[test]
fn without_preemption_the_shortest_of_those_that_wait_is_next() {
    let load = processes(&[(0, 6), (0, 8), (0, 7), (0, 3)]);
    let set = [("alpha", "1"), ("no_preemption", "true")];
    let (hosted, tape) = sjf(&set, "stats", COME_MS + 30, &load);
    assert_eq!(ran(&tape, 4), [[(3, 9)], [(16, 24)], [(9, 16)], [(0, 3)]]);
    assert_eq!(hosted.stat("preemptions"), 0);
}

/// Bursts of 8, 4, 9 and 5 ms that come at 0, 1, 2 and 3: P1 for 1 ms, then P2, P4, P1 and P3. They
/// wait for 6.5 ms on average; without preemption for 7.75 ms.
#[test]
fn who_comes_with_less_left_preempts() {
    let load = processes(&[(0, 8), (1, 4), (2, 9), (3, 5)]);
    let (hosted, tape) = sjf(&[("alpha", "1")], "stats", COME_MS + 30, &load);
    let expected = [vec![(0, 1), (10, 17)], vec![(1, 5)], vec![(17, 26)], vec![(5, 10)]];
    assert_eq!(ran(&tape, 4), expected);
    assert_eq!(hosted.stat("preemptions"), 1);

    let set = [("alpha", "1"), ("no_preemption", "true")];
    let (_, tape) = sjf(&set, "stats", COME_MS + 30, &load);
    assert_eq!(ran(&tape, 4), [[(0, 8)], [(8, 12)], [(17, 26)], [(12, 17)]]);
}

/// 10 ms are predicted for both. A has 10, 6 and 2 ms left, and after three quanta as much as it had:
/// 12, more than B. From 12 ms each on they are even every other quantum, and A came first.
#[test]
fn those_that_outlast_their_predictions_take_turns() {
    let (_, tape) = sjf(&[], "stats", 48, &hogs(&[1, 1]));
    assert_eq!(letters(&tape), "AAABBBABABAB");
}

/// 10 ms are predicted for the first burst, and the other computes for 20 already.
#[test]
fn short_bursts_never_wait_for_one_that_computes() {
    let load = r#"{"tasks": {"hog": {"run": 1000000},
        "short": {"delay": 20000, "run": 1000, "sleep": 9000}}}"#;
    let (_, tape) = sjf(&[], "stats", 200, load);
    let turns: Vec<(u64, u64)> =
        (20..200).step_by(10).map(|ms| (ms * 1000, (ms + 1) * 1000)).collect();
    assert_eq!(tape.spans("short-1"), turns);
}

proptest! {
    #![proptest_config(cases(60))]

    /// Where all come together and are predicted rightly, they run in the order of their bursts:
    /// no order has a shorter mean wait.
    #[test]
    fn no_order_has_a_shorter_mean_wait(bursts in prop::collection::vec(1..20u64, 1..9)) {
        let all: Vec<(u64, u64)> = bursts.iter().map(|burst| (0, *burst)).collect();
        let (_, tape) = sjf(&[("alpha", "1")], "stats", COME_MS + 200, &processes(&all));
        let mut sorted = bursts.clone();
        sorted.sort_unstable();
        let mut ends: Vec<u64> = ran(&tape, bursts.len()).iter().map(|spans| spans[spans.len() - 1].1).collect();
        ends.sort_unstable();
        let sums = sorted.iter().scan(0, |sum, burst| { *sum += burst; Some(*sum) });
        prop_assert_eq!(ends, sums.collect::<Vec<_>>());
    }
}
