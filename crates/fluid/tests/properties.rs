// SPDX-License-Identifier: MIT OR Apache-2.0
//! The properties of §3.2 of the paper, starvation-freedom (§3.3) and scale invariance (§2), of
//! random scenarios.

use proptest::prelude::*;
use rota_fluid::{solve, Beta, ChangeKind, Pbs, Script, Solution};

/// Arrival and demand of each task, by arrival: no two come at once.
type Scenario = Vec<(f64, f64)>;

/// Right after an event, as far as shares at small alpha can be told from nothing.
const SOON: f64 = 1e-6;

fn scenarios() -> impl Strategy<Value = Scenario> {
    proptest::collection::vec((0.01..3.0f64, 0.05..5.0f64), 1..7).prop_map(|tasks| {
        let arrivals = tasks.iter().scan(0.0, |at, (gap, _)| {
            *at += gap;
            Some(*at)
        });
        arrivals.zip(&tasks).map(|(arrival, (_, demand))| (arrival, *demand)).collect()
    })
}

/// From nearly first come, first served, to nearly least attained service.
fn alphas() -> impl Strategy<Value = f64> {
    (-1.2..1.3f64).prop_map(|log| 10f64.powf(log))
}

fn solved(scenario: &Scenario, alpha: f64) -> Solution {
    solved_to(scenario, alpha, f64::INFINITY)
}

fn solved_to(scenario: &Scenario, alpha: f64, end: f64) -> Solution {
    let task = |all: Script, (at, (arrival, demand)): (usize, &(f64, f64))| {
        all.once(&format!("t{at}"), *arrival, *demand)
    };
    let mut script = scenario.iter().enumerate().fold(Script::default(), task);
    let pbs = Pbs::new(alpha, Beta::INFINITE).expect("a policy");
    solve(&mut script, &pbs, end).expect("solved")
}

/// Within each stretch between two events, near both ends and in the middle.
fn times(solution: &Solution) -> Vec<f64> {
    let bends: Vec<f64> = solution.bends().collect();
    let inside = bends.windows(2).filter(|two| two[1] - two[0] > 1e-6);
    inside
        .flat_map(|two| [1e-3, 0.5, 0.999].map(|part| two[0] + part * (two[1] - two[0])))
        .collect()
}

fn active<'a>(
    s: &'a Solution,
    scenario: &'a Scenario,
    at: f64,
) -> impl Iterator<Item = usize> + 'a {
    let over = move |task: &usize| s.completions[*task].is_some_and(|end| end <= at);
    (0..scenario.len()).filter(move |task| scenario[*task].0 < at && !over(task))
}

/// log2 T - alpha log2 S [PBS eq. 2].
fn priority(s: &Solution, scenario: &Scenario, task: usize, alpha: f64, at: f64) -> f64 {
    (at - scenario[task].0).log2() - alpha * s.received(task, at).log2()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn work_is_conserved_and_all_get_what_they_want(scenario in scenarios(), alpha in alphas()) {
        let s = solved(&scenario, alpha);
        for at in times(&s) {
            let busy = active(&s, &scenario, at).count() > 0;
            let shares: f64 = (0..scenario.len()).map(|task| s.share(task, at)).sum();
            prop_assert!((shares - f64::from(u8::from(busy))).abs() < 1e-9, "{shares} at {at}");
        }
        for (task, (_, demand)) in scenario.iter().enumerate() {
            prop_assert!((s.received(task, f64::INFINITY) - demand).abs() < 1e-9);
        }
    }

    #[test]
    fn shares_are_the_slope_of_what_was_received(scenario in scenarios(), alpha in alphas()) {
        let s = solved(&scenario, alpha);
        for at in times(&s) {
            // A stretch without an event on either side.
            let near = s.bends().map(|bend| (bend - at).abs()).fold(1e-4, f64::min) / 100.0;
            prop_assume!(near > 1e-8);
            for task in active(&s, &scenario, at) {
                let slope = s.mean_share(task, at - near, at + near);
                prop_assert!((slope - s.share(task, at)).abs() < 1e-3, "{task} at {at}: {slope}");
            }
        }
    }

    /// The definition itself: whoever is served has the highest priority.
    #[test]
    fn the_scheduled_have_the_highest_priority(scenario in scenarios(), alpha in alphas()) {
        let s = solved(&scenario, alpha);
        for at in times(&s) {
            let of = |task| priority(&s, &scenario, task, alpha, at);
            let highest = active(&s, &scenario, at).map(of).fold(f64::NEG_INFINITY, f64::max);
            // Property 1: finite, as all that are active have been served.
            prop_assert!(active(&s, &scenario, at).count() == 0 || highest.is_finite());
            for task in active(&s, &scenario, at).filter(|task| s.is_scheduled(*task, at)) {
                prop_assert!(of(task) > highest - 1e-6 * (1.0 + alpha), "{task} at {at}");
            }
        }
    }

    /// Property 2: what is not served gains priority, T / S^alpha, linearly; what is served gains
    /// it more slowly than it would without.
    #[test]
    fn priorities_of_the_unserved_grow_linearly(scenario in scenarios(), alpha in alphas()) {
        let s = solved(&scenario, alpha);
        for at in times(&s) {
            let next = s.bends().find(|bend| *bend > at).unwrap_or(at);
            let step = (next - at) / 2.0;
            prop_assume!(step > 1e-6);
            for task in active(&s, &scenario, at) {
                let (before, after) = (s.received(task, at), s.received(task, at + step));
                let age = at - scenario[task].0;
                let unserved = (age + step) / before.powf(alpha);
                let found = (age + step) / after.powf(alpha);
                match s.is_scheduled(task, at) {
                    false => prop_assert!((found / unserved - 1.0).abs() < 1e-9),
                    true => prop_assert!(found <= unserved),
                }
            }
        }
    }

    /// Property 3.
    #[test]
    fn seniors_have_received_no_less(scenario in scenarios(), alpha in alphas()) {
        let s = solved(&scenario, alpha);
        for at in times(&s) {
            let all: Vec<usize> = active(&s, &scenario, at).collect();
            for two in all.windows(2) {
                prop_assert!(s.received(two[0], at) >= s.received(two[1], at) - 1e-9);
            }
        }
    }

    /// Properties 4, 6 and 7.
    #[test]
    fn newcomers_are_served_at_once(scenario in scenarios(), alpha in alphas()) {
        let s = solved(&scenario, alpha);
        for (task, (arrival, _)) in scenario.iter().enumerate() {
            prop_assert!(s.is_scheduled(task, *arrival));
            // T^(1/alpha) of a microsecond is no number if alpha is small.
            prop_assert!(alpha < 0.3 || s.received(task, arrival + SOON) > 0.0);
            let others = active(&s, &scenario, *arrival).filter(|other| *other != task).count();
            let share = s.share(task, *arrival);
            match alpha {
                _ if others == 0 => prop_assert_eq!(share, 1.0),
                a if a > 1.0 => prop_assert_eq!(share, 1.0),
                a if a < 1.0 => prop_assert!(share < 1e-6),
                _ => {}
            }
        }
    }

    /// Property 6, second half: alone it never gets more again while nobody comes or goes.
    #[test]
    fn newcomers_surrender_what_they_took(scenario in scenarios(), alpha in 1.0..20.0f64) {
        let s = solved(&scenario, alpha);
        for (task, (arrival, _)) in scenario.iter().enumerate() {
            let comes_or_goes = |kind| matches!(kind, ChangeKind::Wakes | ChangeKind::Ends);
            let events = s.changes.iter().filter(|c| c.at > *arrival && comes_or_goes(c.kind));
            let until = events.map(|c| c.at).fold(f64::INFINITY, f64::min);
            let shares = times(&s).into_iter().filter(|at| (*arrival..until).contains(at));
            let shares: Vec<f64> = shares.map(|at| s.share(task, at)).collect();
            prop_assert!(shares.windows(2).all(|two| two[1] <= two[0] + 1e-9), "{shares:?}");
        }
    }

    /// Property 5: everybody contributes to the newcomer.
    #[test]
    fn a_newcomer_takes_of_all_that_are_served(scenario in scenarios(), alpha in alphas()) {
        prop_assume!(scenario.len() > 1);
        let without: Scenario = scenario[..scenario.len() - 1].to_vec();
        let (arrival, _) = scenario[scenario.len() - 1];
        let (with, without) = (solved(&scenario, alpha), solved(&without, alpha));
        let scheduled = |task: &usize| without.is_scheduled(*task, arrival);
        let served: Vec<usize> = (0..scenario.len() - 1).filter(scheduled).collect();
        let events = with.bends().chain(without.bends()).filter(|bend| *bend > arrival);
        let soon = arrival + (events.fold(arrival + 0.1, f64::min) - arrival) / 2.0;
        for task in served {
            // Of a very small alpha the newcomer has next to nothing to take for.
            let (a, b) = (with.received(task, soon), without.received(task, soon));
            let taken = with.received(scenario.len() - 1, soon);
            prop_assert!(a < b || (taken < 1e-9 && a < b + 1e-12), "{task}: {a} {b} {taken}");
        }
    }

    /// Property 8: everybody benefits from the departed.
    #[test]
    fn a_departure_helps_all(scenario in scenarios(), alpha in alphas(), who in 0..6usize) {
        let who = who % scenario.len();
        let mut longer = scenario.clone();
        longer[who].1 += 10.0;
        let (with, without) = (solved(&scenario, alpha), solved(&longer, alpha));
        let left = with.completions[who].expect("ends");
        for task in (0..scenario.len()).filter(|task| *task != who) {
            if without.is_scheduled(task, left) && with.completions[task] > Some(left + SOON) {
                let (gained, had) = (with.share(task, left), without.share(task, left));
                let least = without.share(who, left);
                prop_assert!(gained > had || least < 1e-9, "{task}: {gained} {had} {least}");
            }
        }
    }

    /// Property 9: only earlier tasks wait.
    #[test]
    fn only_seniors_wait(scenario in scenarios(), alpha in alphas()) {
        let s = solved(&scenario, alpha);
        for at in times(&s) {
            let scheduled = active(&s, &scenario, at).map(|task| s.is_scheduled(task, at));
            let scheduled: Vec<bool> = scheduled.collect();
            prop_assert!(scheduled.windows(2).all(|two| !two[0] || two[1]), "{scheduled:?}");
        }
    }

    /// Property 10: with alpha of 1 or more only a newcomer interrupts.
    #[test]
    fn nobody_is_interrupted_without_an_arrival(scenario in scenarios(), alpha in 1.0..20.0f64) {
        let s = solved(&scenario, alpha);
        for change in s.changes.iter().filter(|change| change.kind == ChangeKind::Interrupted) {
            prop_assert!(scenario.iter().any(|(arrival, _)| *arrival == change.at), "{change:?}");
        }
    }

    /// §2: time stretched by a factor is the same schedule.
    #[test]
    fn time_can_be_scaled(scenario in scenarios(), alpha in alphas(), log in -3.0..3.0f64) {
        let factor = 10f64.powf(log);
        let scaled = scenario.iter().map(|(arrival, demand)| (arrival * factor, demand * factor));
        let (s, of_scaled) = (solved(&scenario, alpha), solved(&scaled.collect(), alpha));
        for (one, other) in s.completions.iter().zip(&of_scaled.completions) {
            let (one, other) = (one.expect("ends"), other.expect("ends") / factor);
            prop_assert!((one - other).abs() < 1e-7 * one, "{one} {other}");
        }
    }

    #[test]
    fn the_same_scenario_has_the_same_solution(scenario in scenarios(), alpha in alphas()) {
        let (one, other) = (solved(&scenario, alpha), solved(&scenario, alpha));
        prop_assert_eq!(one.completions, other.completions);
        prop_assert_eq!(one.changes, other.changes);
    }

    /// An independent model, in slices: the error is of the order of the slice. Compared is what
    /// tasks have received; ends may be far apart, if one comes just before an end or just after.
    #[test]
    fn short_slices_come_near(scenario in scenarios(), alpha in 0.1..10.0f64) {
        let s = solved(&scenario, alpha);
        for (at, received) in sliced(&scenario, alpha, 1e-3) {
            for (task, sliced) in received.into_iter().enumerate() {
                let fluid = s.received(task, at);
                prop_assert!((fluid - sliced).abs() < 0.02, "at {at}: {fluid}, in slices {sliced}");
            }
        }
    }

    /// Persistent tasks end with equal shares [PBS §3.2].
    #[test]
    fn in_the_long_run_all_shares_are_equal(
        mut arrivals in proptest::collection::vec(0.0..9.0f64, 1..6),
        alpha in 0.2..20.0f64,
    ) {
        arrivals.sort_by(f64::total_cmp);
        let scenario = arrivals.iter().map(|at| (*at, f64::INFINITY)).collect();
        let s = solved_to(&scenario, alpha, 2e5);
        for task in 0..scenario.len() {
            prop_assert!((s.share(task, 1e5) * scenario.len() as f64 - 1.0).abs() < 0.01);
        }
    }
}

/// What tasks have received by then, every ten slices and at each end, if the task with the highest
/// priority runs for a slice, over and over.
fn sliced(scenario: &Scenario, alpha: f64, slice: f64) -> Vec<(f64, Vec<f64>)> {
    let mut history = Vec::new();
    let mut received = vec![0.0f64; scenario.len()];
    let mut ends = vec![f64::NAN; scenario.len()];
    let (mut now, mut slices) = (0.0, 0);
    while ends.iter().any(|end| end.is_nan()) {
        let ready = |task: &usize| scenario[*task].0 <= now && ends[*task].is_nan();
        let priority = |task: &usize| match received[*task] {
            0.0 => f64::INFINITY,
            service => (now - scenario[*task].0).ln() - alpha * service.ln(),
        };
        let all = (0..scenario.len()).filter(ready);
        let Some(best) = all.max_by(|a, b| priority(a).total_cmp(&priority(b)).then(b.cmp(a)))
        else {
            let later = scenario.iter().map(|task| task.0).filter(|at| *at > now);
            now = later.fold(f64::INFINITY, f64::min);
            continue;
        };
        // An arrival ends the slice.
        let arrivals = scenario.iter().map(|task| task.0 - now).filter(|left| *left > 0.0);
        let left = arrivals.fold(slice, f64::min);
        let ran = left.min(scenario[best].1 - received[best]);
        received[best] += ran;
        now += ran;
        if received[best] >= scenario[best].1 - 1e-12 {
            ends[best] = now;
        }
        slices += 1;
        if slices % 10 == 0 || !ends[best].is_nan() {
            history.push((now, received.clone()));
        }
    }
    history
}

/// §3.3: a task that never ends starves nobody, nor do two that send small tasks as fast as they
/// can; but at 0 the first, and at infinity the others, do.
#[test]
fn nobody_starves_but_at_the_ends_of_alpha() {
    let after_endless = |alpha| {
        let scenario = vec![(0.0, f64::INFINITY), (1.0, 1.0)];
        solved_to(&scenario, alpha, 1e6).completions[1]
    };
    for alpha in [0.2, 0.5, 1.0, 3.0] {
        assert!(after_endless(alpha).is_some(), "{alpha}");
    }
    assert_eq!(after_endless(0.0), None);

    // Two users in turns, small tasks of 0.1 s that leave no time between them.
    let long_one = |alpha: f64| {
        let small = (0..1_000).map(|n| (0.5 + 0.1 * f64::from(n), 0.1));
        let scenario: Scenario = std::iter::once((0.0, 0.8)).chain(small).collect();
        solved_to(&scenario, alpha, 100.5).received(0, 100.5)
    };
    for alpha in [0.5, 1.0, 2.0] {
        assert!(long_one(alpha) > 0.8 - 1e-9, "{alpha}: {}", long_one(alpha));
    }
    // What it had before they came.
    assert!((long_one(f64::INFINITY) - 0.5).abs() < 1e-6, "{}", long_one(f64::INFINITY));
}
