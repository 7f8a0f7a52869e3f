// SPDX-License-Identifier: MIT OR Apache-2.0
//! What else the simulated machine could have given. Neither host decides who comes first at one
//! instant, nor at which tick a kernel thread wakes up; where a load is sensitive to that, one run
//! in each host tells little. So a case is simulated more often, with such things drawn.

use super::case::Case;
use super::numbers::Numbers;
use super::simulate::{self, simulate, Beside, Host, Lots};
use anyhow::Result;
use rota_machine::config::DEFAULT_HZ;
use rota_machine::interruption::Interruption;

/// How often.
pub const DRAWS: u64 = 16;
/// For each recording, if there are several.
pub const DRAWS_OF_EACH: u64 = 6;

/// So many runs find the length of a program's system calls.
const CALIBRATIONS: u32 = 3;

const TICK_NS: u64 = 1_000_000_000 / DEFAULT_HZ as u64;

/// The run by the documented rules, and the numbers of all runs, that one's first.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// By the rules.
    pub host: Host,
    /// All.
    pub runs: Vec<Numbers>,
}

/// Simulates a case; once only if it is its picks that are compared.
pub fn simulate_all(
    case: &Case,
    workload: &str,
    beside: &Beside,
    whole_life_ns: Option<u64>,
) -> Result<Simulated> {
    let beside = with_ends(case, workload, beside, whole_life_ns)?;
    let host = simulate(case, workload, &beside, None)?;
    let mut runs = vec![host.numbers.clone()];
    let draws = if case.picks.is_some() { 0 } else { DRAWS };
    for draw in 1..=draws {
        let beside = Beside {
            interruptions: elsewhere(&beside.interruptions, case.duration_ns, draw),
            ..beside.clone()
        };
        runs.push(
            simulate(case, workload, &beside, Some(Lots { seed: draw, of_starts: true }))?.numbers,
        );
    }
    Ok(Simulated { host, runs })
}

/// What the simulated machine gives beside one of several recordings: draws only, so that their
/// mean is what is to be expected. `nr` is the recording's.
pub fn simulate_draws(
    case: &Case,
    workload: &str,
    beside: &Beside,
    whole_life_ns: Option<u64>,
    nr: u64,
) -> Result<Vec<Numbers>> {
    let beside = with_ends(case, workload, beside, whole_life_ns)?;
    let draw = |draw: u64| {
        let interruptions = elsewhere(&beside.interruptions, case.duration_ns, draw);
        let beside = Beside { interruptions, ..beside.clone() };
        let lots = Lots { seed: nr * DRAWS_OF_EACH + draw, of_starts: false };
        Ok(simulate(case, workload, &beside, Some(lots))?.numbers)
    };
    (1..=DRAWS_OF_EACH).map(draw).collect()
}

/// The CPU time that threads had in the kernel, on average, tells how long their ends take.
fn with_ends(
    case: &Case,
    workload: &str,
    beside: &Beside,
    whole_life_ns: Option<u64>,
) -> Result<Beside> {
    let mut beside = with_calls(case, workload, beside)?;
    let away = simulate::away(&rota_workload::parse(&case.workload, workload)?);
    beside.interruptions.retain(|i| !away.iter().any(|(cpu, at)| i.cpu == *cpu && covers(i, *at)));
    let Some(all) = whole_life_ns else { return Ok(beside) };
    let without = simulate(case, workload, &beside, None)?;
    if let Some(steps) = without.numbers.whole_life_ns {
        beside.exit_ns = all.saturating_sub(steps);
    }
    Ok(beside)
}

/// The CPU time that the scheduler's own program had in the kernel tells how long its system calls
/// take. How many there are depends on that, in turn.
fn with_calls(case: &Case, workload: &str, beside: &Beside) -> Result<Beside> {
    let mut beside = beside.clone();
    let Some(program_ns) = beside.program_ns else { return Ok(beside) };
    for _ in 0..CALIBRATIONS {
        let calls = simulate(case, workload, &beside, None)?.calls.unwrap_or(0);
        beside.call_ns = program_ns.checked_div(calls).unwrap_or(beside.call_ns);
    }
    Ok(beside)
}

/// Whether a CPU was away at a time. While it is, others have it in the recording; the machine knows.
fn covers(interruption: &Interruption, at_ns: u64) -> bool {
    (interruption.at_ns..interruption.at_ns + interruption.for_ns).contains(&at_ns)
}

/// The same interruptions, but for those before the first tick, some ticks later; those at the
/// end are at the begin then.
fn elsewhere(interruptions: &[Interruption], duration_ns: u64, draw: u64) -> Vec<Interruption> {
    let ticks = (duration_ns / TICK_NS).saturating_sub(1).max(1);
    let later_ns = draw * ticks / (DRAWS + 1) * TICK_NS;
    let moved = |interruption: &Interruption| match interruption.at_ns.checked_sub(TICK_NS) {
        Some(since_ns) => Interruption {
            at_ns: TICK_NS + (since_ns + later_ns) % (ticks * TICK_NS),
            ..*interruption
        },
        None => *interruption,
    };
    interruptions.iter().map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_moves_interruptions_by_ticks_and_keeps_those_of_the_start() {
        let at = |at_ns| Interruption { cpu: 0, at_ns, for_ns: 30_000 };
        // 19 ticks of 4 ms after the first; the first draw of 16 moves by 19 / 17 = 1 of them.
        let moved =
            elsewhere(&[at(5), at(4_000_000), at(10_500_000), at(79_000_000)], 80_000_000, 1);
        assert_eq!(moved, [at(5), at(8_000_000), at(14_500_000), at(7_000_000)]);
    }
}
