// SPDX-License-Identifier: MIT OR Apache-2.0
//! From samples to the costs of the kernel: switches, wakeups, interrupts, idle exits, timers.

use crate::distance::Distance;
use crate::estimate::{difference, Estimate};
use crate::idle;
use crate::ipis;
use crate::number::Number;
use crate::series::{Samples, Series};
use crate::steps::SLEEP_US;
use rota_machine::config::Costs;
use rota_machine::hardware::Hardware;
use rota_machine_file::Machine;

pub(crate) const NOISE: &str = "cannot be told from noise, as before";
pub(crate) const NO_PAIR: &str = "no such pair of CPUs";

/// A whole number of nanoseconds.
pub(crate) fn whole(estimate: &Estimate) -> u64 {
    estimate.median.max(0.0).round() as u64
}

/// Sets a value if there is an estimate of it.
pub(crate) fn set(
    value: &mut u64,
    key: &str,
    estimate: Option<Estimate>,
    how: &str,
    why_not: &str,
) -> Number {
    match estimate {
        Some(estimate) => {
            *value = whole(&estimate);
            Number::measured(key, *value, estimate, how)
        }
        None => Number::kept(key, *value, why_not),
    }
}

/// What is left of a measurement once two others are taken away.
fn rest(all: Option<Estimate>, parts: &[Option<Estimate>]) -> Option<Estimate> {
    parts.iter().try_fold(all?, |left, part| difference(&left, part.as_ref()?))
}

/// Costs on one CPU.
pub(crate) fn on_one_cpu(samples: &Samples, machine: &mut Machine) -> Vec<Number> {
    let costs = &mut machine.costs;
    let of = |series| samples.estimate(series);
    let switch = rest(of(Series::YieldTurns), &[of(Series::YieldAlone)]);
    let half = |series| of(series).map(|round| round.times(0.5));
    let wakeup = rest(half(Series::PipeRound), &[of(Series::PipeAlone), switch]);
    // The thread that waits for an end is woken by it, and switched to.
    let hop = rest(half(Series::FutexRound), &[of(Series::FutexAlone)]);
    let exit = rest(of(Series::End), &[hop]);
    vec![
        set(
            &mut costs.context_switch_ns,
            "cost_ns.switch",
            switch,
            "sched_yield() of two threads in turn less that of one",
            NOISE,
        ),
        set(
            &mut costs.wakeup_ns,
            "cost_ns.wakeup",
            wakeup,
            "half a round through pipes on one CPU, less the calls and the switch",
            NOISE,
        ),
        set(
            &mut costs.tick_ns,
            "cost_ns.tick",
            of(Series::Tick),
            "gaps at ticks of a thread that watches the clock",
            "the kernel does not say how many ticks a second has",
        ),
        set(&mut costs.fork_ns, "cost_ns.fork", of(Series::Birth), "making a thread", NOISE),
        set(
            &mut costs.exit_ns,
            "cost_ns.exit",
            exit,
            "from a thread's last action to the thread that joins it, less a wakeup and a switch",
            NOISE,
        ),
    ]
}

/// Interrupts, hand-offs, ways out of idle states and timers. The costs of one CPU are those of
/// the machine already, and what lines take, too.
pub(crate) fn between_cpus(
    samples: &Samples,
    machine: &Machine,
    hardware: &mut Hardware,
) -> Vec<Number> {
    let costs = &machine.costs;
    let mut numbers = vec![
        handoff(samples, hardware),
        Number::kept("cost_ns.idle_exit", costs.idle_exit_ns, "idle states have their own"),
    ];
    if hardware.cache.is_some() {
        let caches = "not paid, as caches are modelled";
        numbers.push(Number::kept("cost_ns.migration", costs.migration_ns, caches));
        numbers.push(Number::kept("cost_ns.llc_migration", costs.llc_migration_ns, caches));
    }
    numbers.extend(ipis::interrupts(samples, costs, hardware));
    numbers.extend(idle_states(samples, costs, hardware));
    numbers.push(timer_slack(samples, costs.context_switch_ns as f64, hardware));
    numbers
}

/// An estimate without a known part.
pub(crate) fn less(estimate: &Estimate, known: f64) -> Estimate {
    let Estimate { median, low, high, samples } = *estimate;
    Estimate { median: median - known, low: low - known, high: high - known, samples }
}

/// Lines that come along: what a wakeup across last-level caches takes longer, by how much longer
/// a line takes.
fn handoff(samples: &Samples, hardware: &mut Hardware) -> Number {
    let key = "cache.handoff_lines";
    let Some(cache) = &mut hardware.cache else {
        return Number::kept(key, 0, "no caches are modelled");
    };
    let of = |series: fn(Distance) -> Series, far| samples.estimate(series(far));
    let far = [Distance::OtherLlc, Distance::Node];
    let more = |series: fn(Distance) -> Series| {
        let far = far.iter().find_map(|far| of(series, *far))?;
        difference(&far, &of(series, Distance::Llc)?)
    };
    let lines = more(Series::WakeBusy).zip(more(Series::Line));
    let lines = lines.map(|(wake, line)| wake.times(1.0 / line.median));
    let how = "a wakeup across caches takes longer, by what a line does";
    set(&mut cache.handoff_lines, key, lines, how, "needs CPUs of two last-level caches")
}

fn idle_states(samples: &Samples, costs: &Costs, hardware: &mut Hardware) -> Vec<Number> {
    let place = |series| match series {
        Series::WakeIdle(us) => Some(us),
        _ => None,
    };
    let handoff_ns = hardware.cache.as_ref().map_or(0, |c| c.handoff_lines * c.c2c_ns.llc);
    let poll_us = ipis::poll_us(samples, costs, handoff_ns);
    let mut ladder = samples.ladder(place);
    ladder.retain(|(us, _)| *us > poll_us);
    let far = [Distance::Llc, Distance::OtherLlc, Distance::Node, Distance::Sibling];
    let busy = far.iter().find_map(|far| samples.estimate(Series::WakeBusy(*far)));
    let stairs = idle::stairs(&ladder);
    let mut numbers = Vec::new();
    for kind in &mut hardware.core_types {
        let key = format!("core_type.{}.idle", kind.name);
        let Some(busy) = busy.filter(|_| !stairs.is_empty()) else {
            let shown = format!("{} states", kind.idle.len());
            numbers.push(Number::kept(key, shown, "needs a second CPU that wakes"));
            continue;
        };
        let claimed: Vec<String> = kind
            .idle
            .iter()
            .map(|state| format!("{} {} us", state.name, state.exit_ns / 1_000))
            .collect();
        let claimed = match claimed.is_empty() {
            true => String::new(),
            false => format!(" (claimed before: {})", claimed.join(", ")),
        };
        kind.idle = idle::states(&stairs, &busy, &kind.idle);
        kind.poll_ns = poll_us * 1_000;
        let how = "a call that wakes needs no interrupt so long after a CPU became idle";
        numbers.push(ipis::poll_number(
            samples,
            poll_us,
            format!("core_type.{}.poll_us", kind.name),
            how,
        ));
        for (state, stair) in kind.idle.iter().zip(&stairs) {
            let how = format!("wakeup after {} us of idleness or more{claimed}", stair.from_us);
            let shown = format!("{} us", state.exit_ns / 1_000);
            numbers.push(Number::measured(
                format!("{key}.{}", state.name),
                shown,
                less(&stair.wakeup, busy.median),
                &how,
            ));
        }
    }
    numbers
}

/// How late a simulated timer has to be so that a sleep ends as late as here: without what a CPU
/// takes to leave idleness and to switch.
fn timer_slack(samples: &Samples, switch_ns: f64, hardware: &mut Hardware) -> Number {
    let key = "task.timer_slack_us";
    let Some(late) = samples.estimate(Series::LateUsual) else {
        return Number::kept(key, hardware.timer_slack_ns / 1_000, "no timer was measured");
    };
    let idle = hardware.core_types.first().map_or(&[][..], |kind| &kind.idle);
    let slept_ns = SLEEP_US * 1_000;
    let state = idle.iter().rev().find(|state| state.residency_ns <= slept_ns);
    let exit_ns = state.or(idle.first()).map_or(0, |state| state.exit_ns) as f64;
    let slack = less(&late, exit_ns + switch_ns);
    let us = (slack.median / 1_000.0).round().max(0.0) as u64;
    hardware.timer_slack_ns = us * 1_000;
    let how = "a sleep of 1 ms is late, less the way out of idleness and the switch";
    Number::measured(key, us, slack.times(1e-3), how)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(value: f64) -> Vec<f64> {
        vec![value; 100]
    }

    fn samples(of: &[(Series, f64)]) -> Samples {
        let mut samples = Samples::default();
        of.iter().for_each(|(series, value)| samples.add(*series, constant(*value)));
        samples
    }

    fn machine(name: &str) -> Machine {
        rota_machine_file::preset(name).expect("it ships")
    }

    #[test]
    fn costs_of_one_cpu_are_what_is_left_of_rounds() {
        let samples = samples(&[
            (Series::YieldAlone, 300.0),
            (Series::YieldTurns, 1_000.0),
            (Series::PipeAlone, 500.0),
            (Series::PipeRound, 4_400.0),
            (Series::FutexAlone, 150.0),
            (Series::FutexRound, 3_300.0),
            (Series::End, 12_000.0),
            (Series::Birth, 6_500.0),
        ]);
        let mut machine = machine("cloud-2");
        let tick_ns = machine.costs.tick_ns;
        let numbers = on_one_cpu(&samples, &mut machine);
        let costs = &machine.costs;
        assert_eq!(costs.context_switch_ns, 700);
        // 2200 - 500 - 700
        assert_eq!(costs.wakeup_ns, 1_000);
        // 12000 - (1650 - 150)
        assert_eq!((costs.exit_ns, costs.fork_ns), (10_500, 6_500));
        assert_eq!(costs.tick_ns, tick_ns);
        let kept: Vec<_> = numbers.iter().filter(|n| n.estimate.is_none()).collect();
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].key, "cost_ns.tick");
    }

    #[test]
    fn what_is_no_more_than_its_parts_keeps_its_value() {
        let samples = samples(&[(Series::YieldAlone, 300.0), (Series::YieldTurns, 299.0)]);
        let mut machine = machine("cloud-2");
        let before = machine.costs.clone();
        let numbers = on_one_cpu(&samples, &mut machine);
        assert_eq!(machine.costs, before);
        assert!(numbers.iter().all(|number| number.estimate.is_none()));
    }

    #[test]
    fn a_wakeup_of_an_idle_cpu_is_taken_apart_and_adds_up_again() {
        let samples = samples(&[
            (Series::WakeBusy(Distance::Llc), 14_000.0),
            (Series::WakeIdle(20), 24_000.0),
            (Series::WakeIdle(500), 48_000.0),
            (Series::LateUsual, 105_000.0),
        ]);
        let mut machine = machine("cloud-2");
        machine.costs.context_switch_ns = 700;
        let mut hardware = machine.hardware.as_deref().expect("it has").clone();
        between_cpus(&samples, &machine, &mut hardware);
        // 16 lines of 26 ns come along: 14000 - 700 - 416
        let ipi = hardware.ipi.expect("it was measured");
        assert_eq!((ipi.llc_ns, ipi.other_llc_ns), (12_884, 12_884));
        let exits: Vec<u64> = hardware.core_types[0].idle.iter().map(|s| s.exit_ns).collect();
        assert_eq!(exits, [10_000, 34_000]);
        let cache = hardware.cache.as_ref().expect("it has");
        let again = 12_884 + exits[0] + 700 + cache.handoff_lines * cache.c2c_ns.llc;
        assert_eq!(again, 24_000);
        // after a millisecond the second state: 105 - 34 - 0.7
        assert_eq!(hardware.timer_slack_ns, 70_000);
    }

    #[test]
    fn lines_of_a_handoff_come_from_two_distances() {
        let samples = samples(&[
            (Series::WakeBusy(Distance::Llc), 2_000.0),
            (Series::WakeBusy(Distance::OtherLlc), 3_600.0),
            (Series::Line(Distance::Llc), 25.0),
            (Series::Line(Distance::OtherLlc), 105.0),
        ]);
        let machine = machine("server");
        let mut hardware = machine.hardware.as_deref().expect("it has").clone();
        let number = handoff(&samples, &mut hardware);
        // 1600 ns more, 80 a line
        assert_eq!(hardware.cache.expect("it has").handoff_lines, 20);
        assert_eq!(number.value, "20");
    }
}
