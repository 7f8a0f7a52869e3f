// SPDX-License-Identifier: MIT OR Apache-2.0
//! In slices, of the policy that ships: what holds at every decision, but for the last slice.

use super::super::picks::{play, Decision, Played, State};
use super::super::scenario::Scenario;
use super::{Broken, Task};
use crate::error::Error;

const QUANTUM_NS: u64 = 1_000_000;
/// A power of two, so that logarithms are just as exact.
const STRETCH: u64 = 8;

/// Of one scenario, a tenth as long.
pub(super) fn broken(tasks: &[Task], alpha: f64) -> Result<Broken, Error> {
    let played = run(tasks, alpha, 1)?;
    let stretched = run(tasks, alpha, STRETCH)?;
    let expected = played.picks().iter().map(|(at_ns, task)| (at_ns * STRETCH, *task));
    let unscaled = expected.zip(stretched.picks()).filter(|(one, other)| one != *other).count()
        + played.picks().len().abs_diff(stretched.picks().len());
    let decisions = played.decisions();
    let count = |broken: &dyn Fn(&Decision) -> bool| {
        decisions.iter().filter(|decision| broken(decision)).count() as f64
    };
    let not_greatest =
        |decision: &Decision| !decision.is_greatest(|state| state.priority(alpha), 1.0 + alpha);
    let unserved = |state: &State| state.active && state.served_ns == 0;
    let left_out = |decision: &Decision| {
        decision.states.iter().any(unserved) && !unserved(&decision.states[decision.picked])
    };
    let late = |task: &usize| played.first_ns(*task) != Some(played.came_ns(*task));
    Ok(vec![
        ("eq2", count(&not_greatest)),
        ("scale_sliced", unscaled as f64),
        ("p1", count(&left_out)),
        ("p3_sliced", count(&|decision| pairs(decision).any(|(old, young)| is_less(old, young)))),
        ("p4_sliced", (0..tasks.len()).filter(late).count() as f64),
        (
            "p9_sliced",
            count(&|decision| pairs(decision).any(|(old, young)| is_behind(old, young, alpha))),
        ),
    ])
}

fn run(tasks: &[Task], alpha: f64, times: u64) -> Result<Played, Error> {
    // Whole milliseconds, which can be multiplied.
    let ms = |seconds: f64| (seconds * 100.0).round() * times as f64 / 1e3;
    let shorter: Vec<Task> = tasks.iter().map(|(at, needs)| (ms(*at), ms(*needs))).collect();
    let (alpha, quantum) = (alpha.to_string(), (QUANTUM_NS * times).to_string());
    let set = [("alpha", &*alpha), ("quantum_ns", &*quantum)];
    play(&Scenario::of(shorter, 4.0 * times as f64), &set)
}

/// Those who are there: the older, then the younger.
fn pairs(decision: &Decision) -> impl Iterator<Item = (&State, &State)> {
    let there: Vec<&State> = decision.states.iter().filter(|state| state.active).collect();
    (0..there.len()).flat_map(move |old| {
        let old_and_younger: Vec<_> =
            there[old + 1..].iter().map(|young| (there[old], *young)).collect();
        old_and_younger
    })
}

/// Property 3: the older has received less, by more than a slice.
fn is_less(old: &State, young: &State) -> bool {
    old.served_ns + QUANTUM_NS < young.served_ns
}

/// Property 9: the younger is behind, by more than its last slice.
fn is_behind(old: &State, young: &State, alpha: f64) -> bool {
    let both = old.served_ns > 0 && young.served_ns > 0;
    let before = young.priority_at(alpha, young.served_ns - young.last_ns);
    both && before < old.priority(alpha) - (1.0 + alpha) * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_of_another_alpha_breaks_what_holds_for_its_own_only() {
        // A comes at 0, B at 10 s: a tenth of that. With alpha 5 B is served until it has as much,
        // nearly, which by alpha 0.2 it should not be; and B is behind A at once with 0.2.
        let tasks = [(0.0, 20.0), (10.0, 20.0)];
        let decisions = run(&tasks, 5.0, 1).expect("runs").decisions();
        let wrong = |alpha: f64| {
            let right = |d: &&Decision| d.is_greatest(|state| state.priority(alpha), 1.0 + alpha);
            decisions.len() - decisions.iter().filter(right).count()
        };
        assert_eq!(wrong(5.0), 0);
        assert!(wrong(0.2) > 500, "{}", wrong(0.2));
        let behind = |alpha: f64| {
            let of = decisions.iter().flat_map(|d| pairs(d).map(|(old, young)| (*old, *young)));
            of.filter(|(old, young)| is_behind(young, old, alpha)).count()
        };
        assert!(behind(5.0) > 500, "the younger would wait for the older: {}", behind(5.0));
    }
}
