// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured on a machine, and how long each of it takes.

use crate::budget::Budget;
use crate::distance::Distance;
use crate::error::CalibrateError;
use crate::loops::Kind;
use crate::series::Series;
use crate::turns::{Futex, Pipe};
use crate::{births, lines, passes, rates, ticks, turns, wakes};
use rota_machine::hardware::Hardware;
use rota_machine::topology::Topology;

/// Samples of one or several series.
pub(crate) type Measured = Result<Vec<(Series, Vec<f64>)>, CalibrateError>;

/// A measurement.
pub(crate) struct Step<'a> {
    /// Its part of the time, compared with that of others.
    pub(crate) weight: u64,
    /// What it is, while it is under way.
    pub(crate) name: &'static str,
    /// Does it for some time.
    pub(crate) run: Box<dyn Fn(Budget<'_>) -> Measured + 'a>,
}

/// What is measured.
pub(crate) struct Computer<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) hardware: &'a Hardware,
    /// CPUs that may be used, in ascending order.
    pub(crate) cpus: &'a [u32],
    /// Ticks per second, if known.
    pub(crate) hz: Option<u32>,
}

/// Idle times after which a CPU is woken, in microseconds.
pub(crate) const IDLE_US: [u64; 12] =
    [5, 10, 20, 40, 80, 150, 300, 600, 1_200, 2_500, 5_000, 15_000];
/// Nanoseconds between two wakeups of a busy CPU.
const BUSY_NS: u64 = 60_000;
/// Idle times after which a CPU may have become slow, in milliseconds.
const COOL_MS: [u64; 5] = [1, 3, 10, 30, 100];
/// Sleep whose lateness is measured.
pub(crate) const SLEEP_US: u64 = 1_000;
/// Idle before a ramp.
const LONG_NS: u64 = 200_000_000;

fn one(series: Series, samples: Result<Vec<f64>, CalibrateError>) -> Measured {
    Ok(vec![(series, samples?)])
}

/// All steps that a computer has CPUs for.
pub(crate) fn all<'a>(computer: &Computer<'a>) -> Vec<Step<'a>> {
    let Some(cpu) = computer.cpus.first().copied() else { return Vec::new() };
    let mut steps = Vec::new();
    let mut add = |weight, name, run: Box<dyn Fn(Budget<'_>) -> Measured + 'a>| {
        steps.push(Step { weight, name, run });
    };
    add(2, "switches", Box::new(move |of| switches(cpu, of)));
    add(2, "pipes and futexes", Box::new(move |of| batons(cpu, of)));
    add(2, "timers", Box::new(move |of| timers(cpu, of)));
    for far in Distance::ALL {
        let Some(pair) = far.pair(computer.topology, computer.cpus) else { continue };
        add(
            1,
            "lines between CPUs",
            Box::new(move |of| one(Series::Line(far), lines::one_way_ns(pair.0, pair.1, of))),
        );
        add(
            2,
            "wakeups of busy CPUs",
            Box::new(move |of| {
                let seen = wakes::wakes(pair, BUSY_NS, true, of)?;
                Ok(vec![
                    (Series::WakeBusy(far), seen.late),
                    (Series::CallBusy(far), seen.calls),
                    (Series::Interrupted(far), seen.gaps),
                ])
            }),
        );
    }
    let far = [Distance::Llc, Distance::OtherLlc, Distance::Node, Distance::Sibling];
    let others = |far: &Distance| far.pair(computer.topology, computer.cpus);
    if let Some(pair) = far.iter().find_map(others) {
        for idle_us in IDLE_US {
            add(
                // long idle times give few samples
                if idle_us < 1_000 { 1 } else { 3 },
                "wakeups of idle CPUs",
                Box::new(move |of| {
                    let seen = wakes::wakes(pair, idle_us * 1_000, false, of)?;
                    let calls = (Series::CallIdle(idle_us), seen.calls);
                    Ok(vec![(Series::WakeIdle(idle_us), seen.late), calls])
                }),
            );
        }
        add(2, "CPUs together", Box::new(move |of| together(pair, of)));
    }
    let l2_kib = computer.hardware.core_type(cpu).l2_kib;
    for far in [Distance::Llc, Distance::OtherLlc, Distance::Node] {
        let Some(pair) = far.pair(computer.topology, computer.cpus) else { continue };
        for kib in sets_kib(l2_kib) {
            add(
                if kib > l2_kib / 2 { 2 } else { 1 },
                "moves",
                Box::new(move |of| {
                    let seen = passes::moves(pair, kib as usize, of)?;
                    let refill = (Series::Refill(far, kib), seen.refill_ns());
                    Ok(vec![refill, (Series::Reuse(kib), seen.reuse_ns())])
                }),
            );
        }
    }
    if let Some(pair) = Distance::Sibling.pair(computer.topology, computer.cpus) {
        for kind in [Kind::Integer, Kind::Vector, Kind::Chase, Kind::Mixed] {
            add(2, "siblings", Box::new(move |of| siblings(kind, pair, of)));
        }
    }
    add(4, "frequency after idleness", Box::new(move |of| ramp(cpu, of)));
    add(2, "frequency after idleness", Box::new(move |of| cool(cpu, of)));
    kinds(computer, &mut add);
    if let Some(hz) = computer.hz.filter(|hz| *hz > 0) {
        let period_ns = 1_000_000_000 / u64::from(hz);
        add(
            3,
            "ticks",
            Box::new(move |of| {
                let gaps = ticks::gaps(cpu, of)?;
                one(Series::Tick, Ok(ticks::of_ticks(&gaps, period_ns)))
            }),
        );
    }
    add(
        1,
        "threads",
        Box::new(move |of| {
            let (births, ends) = births::births_and_ends_ns(cpu, of)?;
            Ok(vec![(Series::Birth, births), (Series::End, ends)])
        }),
    );
    steps
}

/// Sets that are moved: from 64 KiB to twice a second-level cache.
pub(crate) fn sets_kib(l2_kib: u32) -> Vec<u32> {
    let sizes = [l2_kib / 16, l2_kib / 4, l2_kib / 2, l2_kib, l2_kib.saturating_mul(2)];
    let mut sizes = sizes.map(|kib| kib.clamp(16, 1 << 16)).to_vec();
    sizes.dedup();
    sizes
}

fn switches(cpu: u32, of: Budget<'_>) -> Measured {
    let alone = turns::yield_ns(cpu, false, of.part(2))?;
    Ok(vec![(Series::YieldAlone, alone), (Series::YieldTurns, turns::yield_ns(cpu, true, of)?)])
}

fn batons(cpu: u32, of: Budget<'_>) -> Measured {
    let pipes = [Pipe::new()?, Pipe::new()?];
    let futexes = [Futex::default(), Futex::default()];
    let here = (cpu, cpu);
    Ok(vec![
        (Series::PipeAlone, turns::alone_ns(cpu, &pipes[0], of.part(6))?),
        (Series::FutexAlone, turns::alone_ns(cpu, &futexes[0], of.part(5))?),
        (Series::PipeRound, turns::round_ns(here, &pipes, of.part(2))?),
        (Series::FutexRound, turns::round_ns(here, &futexes, of)?),
    ])
}

fn timers(cpu: u32, of: Budget<'_>) -> Measured {
    let sleep_ns = SLEEP_US * 1_000;
    let usual = wakes::late_ns(cpu, sleep_ns, None, of.part(2))?;
    let exact = wakes::late_ns(cpu, sleep_ns, Some(1), of)?;
    Ok(vec![(Series::LateUsual, usual), (Series::LateExact, exact)])
}

fn together((a, b): (u32, u32), of: Budget<'_>) -> Measured {
    let single = rates::per_second(Kind::Mixed, &[a], of.part(2))?;
    let both = rates::per_second(Kind::Mixed, &[a, b], of)?;
    Ok(vec![(Series::Single, single), (Series::Together, both)])
}

fn siblings(kind: Kind, (a, b): (u32, u32), of: Budget<'_>) -> Measured {
    let alone = rates::per_second(kind, &[a], of.part(2))?;
    let paired = rates::per_second(kind, &[a, b], of)?;
    Ok(vec![(Series::Alone(kind), alone), (Series::Paired(kind), paired)])
}

fn ramp(cpu: u32, of: Budget<'_>) -> Measured {
    let tries = rates::ramps(cpu, LONG_NS, of)?;
    let mut all: Vec<(Series, Vec<f64>)> =
        (0..rates::RAMP_MS).map(|ms| (Series::Ramp(ms), Vec::new())).collect();
    for speeds in tries.iter().filter_map(|rates| relative(rates)) {
        all.iter_mut().zip(speeds).for_each(|((_, samples), speed)| samples.push(speed));
    }
    Ok(all)
}

fn cool(cpu: u32, of: Budget<'_>) -> Measured {
    let mut all = Vec::new();
    for (idle_ms, left) in COOL_MS.into_iter().zip((1..=COOL_MS.len() as u64).rev()) {
        let tries = rates::ramps(cpu, idle_ms * 1_000_000, of.part(left))?;
        let first = tries.iter().filter_map(|rates| relative(rates)?.first().copied());
        all.push((Series::Cool(idle_ms), first.collect()));
    }
    Ok(all)
}

/// Speeds as a part of that in the last third.
fn relative(rates: &[f64]) -> Option<Vec<f64>> {
    let last = crate::estimate::Estimate::of(&rates[rates.len() * 2 / 3..])?;
    Some(rates.iter().map(|rate| rate / last.median).collect())
}

/// How fast each kind of cores is, alone and with other cores busy.
fn kinds<'a>(
    computer: &Computer<'a>,
    add: &mut impl FnMut(u64, &'static str, Box<dyn Fn(Budget<'_>) -> Measured + 'a>),
) {
    let several = computer.hardware.core_types.len() > 1;
    for (at, kind) in computer.hardware.core_types.iter().enumerate() {
        let own = |cpu: &&u32| computer.hardware.type_of_cpu.get(**cpu as usize) == Some(&at);
        // One CPU of each core.
        let mut firsts: Vec<u32> = computer.cpus.iter().filter(own).copied().collect();
        firsts.dedup_by_key(|cpu| computer.topology.core_of(*cpu));
        if let (Some(cpu), true) = (firsts.first().copied(), several) {
            let of_type = move |of: Budget<'_>| {
                one(Series::OfType(at), rates::per_second(Kind::Integer, &[cpu], of))
            };
            add(2, "kinds of cores", Box::new(of_type));
        }
        if kind.clock.is_none() {
            continue;
        }
        for active in counts(firsts.len()) {
            let busy = firsts[..active].to_vec();
            let run = move |of: Budget<'_>| {
                let series = Series::Active(at, busy.len() as u32);
                one(series, rates::per_second(Kind::Integer, &busy, of))
            };
            add(1, "busy cores", Box::new(run));
        }
    }
}

/// Numbers of busy cores: at most eight, the first and the last of them.
fn counts(cores: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = (1..=8).map(|part| (cores * part).div_ceil(8)).collect();
    if cores > 0 {
        counts.insert(0, 1);
    }
    counts.retain(|count| *count > 0);
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_go_from_a_sixteenth_to_twice_the_cache() {
        assert_eq!(sets_kib(1024), [64, 256, 512, 1024, 2048]);
        // a small cache has no more than it holds
        assert_eq!(sets_kib(128), [16, 32, 64, 128, 256]);
    }

    #[test]
    fn at_most_nine_numbers_of_cores_are_tried() {
        assert_eq!(counts(2), [1, 2]);
        assert_eq!(counts(16), [1, 2, 4, 6, 8, 10, 12, 14, 16]);
        assert_eq!(counts(0), [0; 0]);
    }

    #[test]
    fn a_speed_is_compared_with_the_last_third() {
        assert_eq!(relative(&[50.0, 90.0, 100.0]), Some(vec![0.5, 0.9, 1.0]));
        assert_eq!(relative(&[]), None);
    }
}
