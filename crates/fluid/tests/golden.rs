// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenarios whose numbers are known.

use rota_fluid::{solve, Beta, ChangeKind, Next, Pbs, Script, Solution};

fn pbs(alpha: f64) -> Pbs {
    Pbs::new(alpha, Beta::INFINITE).expect("a policy")
}

/// The paper's four tasks [PBS §3.1]: arrivals and demands in seconds.
fn four() -> Script {
    let tasks = [("1", 0.0, 4.5), ("2", 1.0, 2.5), ("3", 3.0, 3.0), ("4", 5.0, 2.0)];
    tasks.into_iter().fold(Script::default(), |all, (name, at, want)| all.once(name, at, want))
}

fn completions(solution: &Solution) -> Vec<f64> {
    solution.completions.iter().map(|at| at.expect("all end")).collect()
}

fn near(found: &[f64], expected: &[f64], error: f64) {
    assert_eq!(found.len(), expected.len());
    let off = found.iter().zip(expected).any(|(a, b)| (a - b).abs() > error);
    assert!(!off, "{found:?}, expected {expected:?}");
}

#[test]
fn four_tasks_end_when_independent_models_say() {
    let ends =
        |alpha| completions(&solve(&mut four(), &pbs(alpha), f64::INFINITY).expect("solved"));
    near(&ends(0.01), &[4.5, 7.0, 10.0, 12.0], 0.005);
    near(&ends(1.0), &[12.0, 8.28, 11.55, 10.88], 0.005);
    near(&ends(100.0), &[12.0, 9.50, 10.51, 8.05], 0.005);
}

#[test]
fn first_come_first_served_is_the_sum_of_demands() {
    let ends = completions(&solve(&mut four(), &pbs(0.0), f64::INFINITY).expect("solved"));
    near(&ends, &[4.5, 7.0, 10.0, 12.0], 1e-9);
}

/// Task 1 has 1 s when 2 comes, which has 1 s at 2. Both share until 3, at 1.5 s each; 3 has
/// that at 4.5. All three share until 5, at 1.5 + 1/6; 4 catches up at 5 + 5/3 = 6.667. A quarter
/// each until 4 has 2 s: 1/3 s more, at 8. Then 2 of the others needs 0.5 s more: 9.5; 3 and 1
/// need 0.5 s to 3 s: 10.5; and 1 its last 1.5 s: 12.
#[test]
fn least_attained_service_can_be_done_by_hand() {
    let ends =
        completions(&solve(&mut four(), &pbs(f64::INFINITY), f64::INFINITY).expect("solved"));
    near(&ends, &[12.0, 9.5, 10.5, 8.0], 1e-9);
}

/// Alone S = T; with alpha = 1 a second task has the level X = (s + u) / (s + 2u) of both, u after
/// it came at s, and so S = u (s + u) / (s + 2u). With s = 1: 1 s is reached when u = (1 + √5) / 2.
#[test]
fn two_tasks_at_alpha_1_are_a_quadratic_equation() {
    let mut two = Script::default().once("a", 0.0, 100.0).once("b", 1.0, 1.0);
    let solution = solve(&mut two, &pbs(1.0), 50.0).expect("solved");
    let golden = (1.0 + 5f64.sqrt()) / 2.0;
    near(&[solution.completions[1].expect("ends")], &[1.0 + golden], 1e-9);
    near(&[solution.received(1, 1.5)], &[0.5 * 1.5 / 2.0], 1e-9);
}

/// With alpha = 2 a newcomer runs alone until its u / u² is T / S² of the other, at T = 1 + u and
/// S = 1: u (1 + u) = 1, u = (√5 - 1) / 2.
#[test]
fn the_interrupted_task_is_resumed_when_priorities_are_equal() {
    let mut two = Script::default().once("a", 0.0, 9.0).once("b", 1.0, 9.0);
    let solution = solve(&mut two, &pbs(2.0), f64::INFINITY).expect("solved");
    let resumed = solution.changes.iter().find(|c| c.kind == ChangeKind::Served);
    near(&[resumed.expect("once").at], &[1.0 + (5f64.sqrt() - 1.0) / 2.0], 1e-9);
}

/// The readings beside the paper: at alpha 0.4 the oldest of five tasks, four of which come at
/// 2.5 s, is interrupted at about 3.7 s and goes on at about 6.7 s; at 0.01 it is not.
#[test]
fn four_newcomers_interrupt_the_oldest_with_a_small_alpha() {
    let five = |alpha| {
        let forever = |all: Script, (at, from)| {
            all.task(&format!("{at}"), from, 1.0, vec![Next::Run(f64::INFINITY)])
        };
        let times = [0.0, 2.5, 2.5, 2.5, 2.5];
        let mut all = (1..).zip(times).fold(Script::default(), forever);
        let solution = solve(&mut all, &pbs(alpha), 12.0).expect("solved");
        let of_first = solution.changes.iter().filter(|change| change.task == 0).skip(1);
        of_first.map(|change| (change.kind, change.at)).collect::<Vec<_>>()
    };
    let found = five(0.4);
    assert_eq!(
        found.iter().map(|c| c.0).collect::<Vec<_>>(),
        [ChangeKind::Interrupted, ChangeKind::Served]
    );
    near(&[found[0].1, found[1].1], &[3.7, 6.7], 0.05);
    assert_eq!(five(0.01), []);
}

/// Two that come together, weights 3 and 1: shares 3/4 and 1/4 at once and for good.
#[test]
fn weights_are_shares() {
    for alpha in [-1.0, 0.3, 1.0, 4.0, f64::INFINITY] {
        let forever = || vec![Next::Run(f64::INFINITY)];
        let mut two =
            Script::default().task("a", 0.0, 3.0, forever()).task("b", 0.0, 1.0, forever());
        let solution = solve(&mut two, &pbs(alpha), 8.0).expect("solved");
        near(&[solution.received(0, 8.0), solution.share(1, 0.0)], &[6.0, 0.25], 1e-9);
    }
}

/// Least attained service: a has the first second, b the next, sleeps for one, and runs again. At
/// 3 s a has had 2 s. In one session b has had 1 s and runs alone for another; anew, for 2 s.
#[test]
fn sessions_begin_after_sleeps() {
    let b_alone = |beta: &str| {
        let steps = vec![Next::Run(1.0), Next::SleepUntil(3.0), Next::Run(9.0)];
        let forever = vec![Next::Run(f64::INFINITY)];
        let mut two = Script::default().task("a", 0.0, 1.0, forever).task("b", 1.0, 1.0, steps);
        let policy = Pbs::new(f64::INFINITY, beta.parse().expect("beta")).expect("a policy");
        let solution = solve(&mut two, &policy, 12.0).expect("solved");
        let back = solution.changes.iter().rfind(|c| c.kind == ChangeKind::Served);
        back.expect("a comes back").at - 3.0
    };
    near(&[b_alone("+inf"), b_alone("0")], &[1.0, 2.0], 1e-9);
}

#[test]
fn what_cannot_be_is_refused() {
    let solve = |mut script: Script, end| solve(&mut script, &pbs(1.0), end).map(|_| ());
    let refused = solve(Script::default().once("x", -1.0, 1.0), 1.0).expect_err("before the start");
    assert!(refused.to_string().contains("task x"), "{refused}");
    let weightless = Script::default().task("x", 0.0, 0.0, vec![]);
    assert!(solve(weightless, 1.0).is_err());
    let forever = Script::default().once("x", 0.0, f64::INFINITY);
    let refused = solve(forever, f64::INFINITY).expect_err("has no end");
    assert!(refused.to_string().contains("x never ends"), "{refused}");
    let idle = Script::default().task("x", 0.0, 1.0, vec![Next::Run(0.0); 200_000]);
    assert!(solve(idle, 1.0).is_err());
}
