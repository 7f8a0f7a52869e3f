// SPDX-License-Identifier: MIT OR Apache-2.0
//! From samples to caches and cores: lines, refills, siblings, kinds of cores, frequencies.

use crate::costs::{set, whole};
use crate::distance::Distance;
use crate::estimate::Estimate;
use crate::loops::Kind;
use crate::number::Number;
use crate::series::{Samples, Series};
use crate::steps::sets_kib;
use rota_machine::hardware::parts::{ByDistance, CoreType, Governor, SmtSpeed};
use rota_machine::hardware::{Hardware, FULL_SPEED};

/// A CPU that is slower than this part after idleness has a ramp.
const SLOW: f64 = 0.95;
/// Two CPUs that are slower than this part together share something.
const SHARED: f64 = 0.9;

/// What moves between caches.
pub(crate) fn caches(samples: &Samples, hardware: &mut Hardware) -> Vec<Number> {
    // A set that fits the cache, and is not lost among what the kernel does.
    let l2_kib = hardware.core_types.first().map_or(1, |kind| kind.l2_kib);
    let kib = sets_kib(l2_kib)[1];
    let Some(cache) = &mut hardware.cache else { return Vec::new() };
    let mut numbers = Vec::new();
    let mut by =
        |name: &str, table: &mut ByDistance, how: &str, of: &dyn Fn(Distance) -> Series| {
            let mut least = 0;
            for far in Distance::ALL {
                let value = match far {
                    Distance::Sibling => &mut table.sibling,
                    Distance::Llc => &mut table.llc,
                    Distance::OtherLlc => &mut table.other_llc,
                    Distance::Node => &mut table.node,
                };
                let key = format!("cache.{name}.{}", far.key());
                let estimate = samples.estimate(of(far));
                let number = set(value, &key, estimate, how, "no such pair of CPUs");
                // Files want no less from further away; a sibling without its own value has none.
                if estimate.is_none() && far == Distance::Sibling {
                    let near = samples.estimate(of(Distance::Llc));
                    *value = near.map_or(*value, |near| whole(&near).min(*value));
                }
                *value = (*value).max(least);
                least = *value;
                numbers.push(Number { value: value.to_string(), ..number });
            }
        };
    by("c2c_ns", &mut cache.c2c_ns, "two threads that count in turn, one way", &Series::Line);
    let how = format!("a chase through {kib} KiB of written lines after a move, more for each");
    by("refill_ns", &mut cache.refill_ns, &how, &|far| Series::Refill(far, kib));
    let how = format!("a warm pass of a chase through {kib} KiB, for each line");
    let reuse = samples.estimate(Series::Reuse(kib));
    let why = "needs two CPUs with a cache each";
    numbers.push(set(&mut cache.reuse_ns, "cache.reuse_ns", reuse, &how, why));
    let why = "a chase has one miss at a time; how many others have is a choice";
    numbers.push(Number::kept("cache.mlp", cache.mlp, why));
    numbers
}

/// What CPUs do to each other that share a core, and how fast each kind is.
pub(crate) fn speeds(samples: &Samples, hardware: &mut Hardware) -> Vec<Number> {
    let mut numbers = Vec::new();
    let of_type = |at: usize| samples.estimate(Series::OfType(at));
    let kinds = hardware.core_types.len();
    let fastest = (0..kinds).filter_map(of_type).map(|rate| rate.median).fold(0.0, f64::max);
    let all_known = (0..kinds).all(|at| of_type(at).is_some());
    for (at, kind) in hardware.core_types.iter_mut().enumerate() {
        let key = format!("core_type.{}.speed", kind.name);
        numbers.push(match of_type(at).filter(|_| all_known && kinds > 1) {
            Some(rate) => {
                let speed = rate.times(f64::from(FULL_SPEED) / fastest);
                kind.speed = (whole(&speed) as u32).clamp(1, FULL_SPEED);
                Number::measured(key, kind.speed, speed, "integer work on a CPU of each kind")
            }
            None if kinds == 1 => Number::kept(key, kind.speed, "there is one kind of cores"),
            None => Number::kept(key, kind.speed, "not all kinds have a CPU that may be used"),
        });
        numbers.push(siblings(samples, kind));
    }
    numbers
}

/// Part of its speed that a loop has while a sibling does the same.
fn paired(samples: &Samples, kind: Kind) -> Option<Estimate> {
    let alone = samples.estimate(Series::Alone(kind))?;
    let paired = samples.estimate(Series::Paired(kind))?;
    Some(paired.times(f64::from(FULL_SPEED) / alone.median))
}

fn siblings(samples: &Samples, kind: &mut CoreType) -> Number {
    let key = format!("core_type.{}.smt_speed", kind.name);
    let speed = |estimate: &Estimate| (whole(estimate) as u32).clamp(1, FULL_SPEED);
    let of = |kind| paired(samples, kind);
    let compute = of(Kind::Integer).zip(of(Kind::Vector));
    match (compute, of(Kind::Mixed), of(Kind::Chase)) {
        (Some((integer, vector)), Some(mixed), Some(memory)) => {
            let compute = (speed(&integer) + speed(&vector)) / 2;
            let [mixed_speed, memory_speed] = [&mixed, &memory].map(speed);
            let shown = format!("{compute}, {mixed_speed}, {memory_speed}");
            kind.smt = Some(SmtSpeed {
                compute: vec![compute],
                mixed: vec![mixed_speed],
                memory: vec![memory_speed],
            });
            let how = "pairs of loops on siblings: integers and vectors, both and a chase, a chase";
            Number::measured(key, shown, mixed, how)
        }
        _ => {
            let shown = if kind.smt.is_some() { "as before" } else { "off" };
            Number::kept(key, shown, "no CPUs that share a core are to be seen")
        }
    }
}

/// Frequencies, of kinds of cores that have some.
pub(crate) fn clocks(samples: &Samples, hardware: &mut Hardware) -> Vec<Number> {
    let mut numbers = Vec::new();
    for (at, kind) in hardware.core_types.iter_mut().enumerate() {
        let key = |what: &str| format!("core_type.{}.{what}", kind.name);
        let (turbo_key, ramp_key) = (key("mhz.turbo"), key("governor.ramp_us"));
        let Some(clock) = &mut kind.clock else {
            numbers.push(Number::kept(key("mhz"), "off", "/sys has no frequencies"));
            continue;
        };
        let place = |series| match series {
            Series::Active(of, cores) if of == at => Some(u64::from(cores)),
            _ => None,
        };
        let rates = samples.ladder(place);
        match turbo(&rates, clock.max_mhz) {
            Some(steps) => {
                let shown = format!("{steps:?}");
                let last = rates[rates.len() - 1].1;
                clock.turbo = steps;
                let how = "integer work on 1, 2 … cores";
                let mhz = last.times(f64::from(clock.max_mhz) / rates[0].1.median);
                numbers.push(Number::measured(turbo_key, shown, mhz, how));
            }
            None => numbers.push(Number::kept(turbo_key, "as before", "no cores were measured")),
        }
        let Governor::Hardware { ramp_ns, cool_ns } = &mut clock.governor else { continue };
        let Some(ramp) = ramp(samples) else {
            let why = "a CPU is no slower after idleness: the governor does not show";
            numbers.push(Number::kept(ramp_key, *ramp_ns / 1_000, why));
            continue;
        };
        *ramp_ns = ramp.ms as u64 * 1_000_000;
        if let Some(ms) = cools_after_ms(samples) {
            *cool_ns = ms * 1_000_000;
        }
        let idle_mhz = (f64::from(clock.max_mhz) * ramp.first.median).round() as u32;
        clock.idle_mhz = idle_mhz.clamp(1, clock.base_mhz);
        let how = "time until work after 200 ms of idleness is at full speed";
        numbers.push(Number::measured(ramp_key, *ramp_ns / 1_000, ramp.first, how));
    }
    numbers
}

/// Frequencies by active cores: never more with more of them.
fn turbo(rates: &[(u64, Estimate)], max_mhz: u32) -> Option<Vec<(u32, u32)>> {
    let (_, first) = rates.first()?;
    let mut steps: Vec<(u32, u32)> = Vec::new();
    for (cores, rate) in rates {
        let mhz = (rate.median / first.median * f64::from(max_mhz)).round() as u32;
        let mhz = mhz.clamp(1, steps.last().map_or(max_mhz, |step| step.1));
        steps.push((u32::try_from(*cores).ok()?, mhz));
    }
    Some(steps)
}

/// How a CPU gets faster after idleness.
struct Ramp {
    /// Part of its speed in the first millisecond.
    first: Estimate,
    /// Milliseconds until it is at full speed.
    ms: usize,
}

fn ramp(samples: &Samples) -> Option<Ramp> {
    let at = |ms| samples.estimate(Series::Ramp(ms));
    let first = at(0).filter(|first| first.median < SLOW)?;
    let is_full = |ms: &usize| at(*ms).is_some_and(|speed| speed.median >= SLOW);
    let ms = (1..crate::rates::RAMP_MS).find(is_full).unwrap_or(crate::rates::RAMP_MS);
    Some(Ramp { first, ms })
}

/// The shortest idle time that was tried after which a CPU is slow.
fn cools_after_ms(samples: &Samples) -> Option<u64> {
    let place = |series| match series {
        Series::Cool(ms) => Some(ms),
        _ => None,
    };
    let ladder = samples.ladder(place);
    ladder.into_iter().find(|(_, first)| first.median < SLOW).map(|(ms, _)| ms)
}

/// What the measurements show that a machine file has no place for.
pub(crate) fn hidden(samples: &Samples, hardware: &Hardware) -> Vec<String> {
    let mut notes = Vec::new();
    let of = |series| samples.estimate(series);
    if let Some((single, both)) = of(Series::Single).zip(of(Series::Together)) {
        let part = both.median / single.median;
        if part < SHARED {
            notes.push(format!(
                "two CPUs that share no core here have {:.0} % of their speed each when both are \
                 busy: they may share one underneath, or others use the computer",
                part * 100.0
            ));
        }
    }
    let has_clock = hardware.core_types.iter().any(|kind| kind.clock.is_some());
    if let Some(ramp) = ramp(samples).filter(|_| !has_clock) {
        notes.push(format!(
            "a CPU has {:.0} % of its speed in the first millisecond after 200 ms of idleness, but \
             /sys has no frequencies: this is not in the file",
            ramp.first.median * 100.0
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(of: &[(Series, f64)]) -> Samples {
        let mut samples = Samples::default();
        of.iter().for_each(|(series, value)| samples.add(*series, vec![*value; 9]));
        samples
    }

    fn hardware(name: &str) -> Hardware {
        let machine = rota_machine_file::preset(name).expect("it ships");
        machine.hardware.as_deref().expect("it has").clone()
    }

    #[test]
    fn lines_and_refills_get_no_cheaper_with_distance() {
        let mut hardware = hardware("server");
        let samples = samples(&[
            (Series::Line(Distance::Sibling), 6.0),
            (Series::Line(Distance::Llc), 120.0),
            (Series::Line(Distance::OtherLlc), 110.0),
            (Series::Refill(Distance::Llc, 256), 13.4),
            (Series::Reuse(256), 4.4),
        ]);
        caches(&samples, &mut hardware);
        let cache = hardware.cache.expect("it has");
        let ByDistance { sibling, llc, other_llc, node } = cache.c2c_ns;
        assert_eq!((sibling, llc, other_llc, node), (6, 120, 120, 197));
        assert_eq!((cache.refill_ns.llc, cache.refill_ns.other_llc), (13, 100));
        assert_eq!(cache.reuse_ns, 4);
    }

    #[test]
    fn siblings_have_the_part_of_their_speed_that_was_seen() {
        let mut hardware = hardware("server");
        let kinds = [Kind::Integer, Kind::Vector, Kind::Mixed, Kind::Chase];
        let alone = kinds.map(|kind| (Series::Alone(kind), 1_000.0));
        let busy = [500.0, 600.0, 625.0, 800.0];
        let pairs: Vec<_> =
            kinds.into_iter().zip(busy).map(|(kind, rate)| (Series::Paired(kind), rate)).collect();
        let samples = samples(&[&alone[..], &pairs].concat());
        speeds(&samples, &mut hardware);
        let smt = hardware.core_types[0].smt.clone().expect("it has");
        // (512 + 614) / 2; 0.625 and 0.8 of 1024
        assert_eq!((smt.compute, smt.mixed, smt.memory), (vec![563], vec![640], vec![819]));
    }

    #[test]
    fn the_fastest_kind_has_full_speed() {
        let mut hardware = hardware("hybrid");
        let samples = samples(&[(Series::OfType(0), 200.0), (Series::OfType(1), 125.0)]);
        speeds(&samples, &mut hardware);
        assert_eq!((hardware.core_types[0].speed, hardware.core_types[1].speed), (1024, 640));
    }

    #[test]
    fn a_ramp_ends_where_work_is_at_full_speed() {
        let mut hardware = hardware("server");
        let of = |ms| if ms < 7 { 0.5 } else { 0.99 };
        let mut all: Vec<_> = (0..60).map(|ms| (Series::Ramp(ms), of(ms))).collect();
        all.extend([(Series::Cool(1), 1.0), (Series::Cool(10), 0.7), (Series::Cool(30), 0.5)]);
        all.extend([(Series::Active(0, 1), 100.0), (Series::Active(0, 8), 90.0)]);
        clocks(&samples(&all), &mut hardware);
        let clock = hardware.core_types[0].clock.clone().expect("it has");
        let Governor::Hardware { ramp_ns, cool_ns } = clock.governor else { panic!("{clock:?}") };
        assert_eq!((ramp_ns, cool_ns), (7_000_000, 10_000_000));
        // half of 3700, and 0.9 of it
        assert_eq!((clock.idle_mhz, clock.turbo), (1_850, vec![(1, 3_700), (8, 3_330)]));
    }

    #[test]
    fn cpus_that_slow_each_other_down_unseen_are_noted() {
        let hardware = hardware("cloud-2");
        let both = |rate| samples(&[(Series::Single, 100.0), (Series::Together, rate)]);
        assert!(hidden(&both(95.0), &hardware).is_empty());
        let notes = hidden(&both(62.0), &hardware);
        assert!(notes.len() == 1 && notes[0].contains("62 %"), "{notes:?}");
    }
}
