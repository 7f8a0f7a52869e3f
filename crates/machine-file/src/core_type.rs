// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of cores in a machine file.

use crate::document::{BySiblings, ClockTable, CoreTable, Document, GovernorTable, SmtTable};
use crate::error::MachineError;
use crate::numbers::*;
use crate::power::power_uw;
use crate::read::Read;
use rota_machine::hardware::parts::{Clock, CoreType, Governor, IdleState, SmtSpeed};
use rota_machine::hardware::FULL_SPEED;
use rota_machine::topology::Topology;

/// MHz of no CPU.
const MOST_MHZ: u32 = 100_000;
/// Microseconds of no idle state.
const MOST_US: u64 = 10_000_000;

/// The kinds, and that of each CPU.
pub(crate) fn core_types(
    read: &mut Read<'_>,
    document: &Document,
    topology: &Topology,
) -> Result<(Vec<CoreType>, Vec<usize>), MachineError> {
    let cpus = topology.cpus();
    if document.core_type.is_empty() {
        let l2_kib = match &document.cache {
            Some(_) => read.assume("core_type.l2_kib", L2_KIB, FROM_SERVER),
            None => L2_KIB,
        };
        return Ok((vec![plain(l2_kib)], vec![0; cpus as usize]));
    }
    let (mut types, mut of_cpu) = (Vec::new(), vec![None; cpus as usize]);
    for (kind, at) in document.core_type.iter().zip(0..) {
        for cpu in read.cpus_of(kind, cpus)? {
            if of_cpu[cpu as usize].replace(at).is_some() {
                let twice = format!("CPUs of no other kind: CPU {cpu} is in two");
                return Err(match &kind.cpus {
                    Some(list) => read.refuse(list, &twice),
                    None => read.refuse(&document.topology, "cpus in each [[core_type]]"),
                });
            }
        }
        types.push(core_type(read, kind, at, document.cache.is_some())?);
    }
    if let Some(cpu) = of_cpu.iter().position(Option::is_none) {
        let missing = format!("each CPU in a [[core_type]]: CPU {cpu} is in none");
        return Err(read.refuse(&document.topology.get_ref().cpus, &missing));
    }
    if types.iter().all(|kind| kind.speed != FULL_SPEED) {
        let speed = document.core_type.iter().find_map(|kind| kind.speed.as_ref());
        let expected = "1024 for the fastest kind of cores";
        return Err(match speed {
            Some(speed) => read.refuse(speed, expected),
            None => read.refuse(&document.topology.get_ref().cpus, expected),
        });
    }
    Ok((types, of_cpu.into_iter().flatten().collect()))
}

/// Of a machine that does not say what cores it has.
fn plain(l2_kib: u32) -> CoreType {
    CoreType {
        name: "core".into(),
        speed: FULL_SPEED,
        capacity: FULL_SPEED,
        rank: 0,
        l2_kib,
        smt: None,
        clock: None,
        idle: Vec::new(),
        poll_ns: 0,
    }
}

fn core_type(
    read: &mut Read<'_>,
    kind: &CoreTable,
    at: usize,
    has_cache: bool,
) -> Result<CoreType, MachineError> {
    let name = kind.name.clone().unwrap_or_else(|| format!("core{at}"));
    let share = (1, FULL_SPEED);
    let speed = match &kind.speed {
        None => FULL_SPEED,
        given => read.within(given, share, ("", 0, ""))?,
    };
    let capacity = match &kind.capacity {
        None => speed,
        given => read.within(given, share, ("", 0, ""))?,
    };
    let l2_kib = match (&kind.l2_kib, has_cache) {
        (None, false) => L2_KIB,
        (given, _) => {
            let key = format!("core_type.{name}.l2_kib");
            read.within(given, (1, 1 << 30), (&key, L2_KIB, FROM_SERVER))?
        }
    };
    let clock = match &kind.mhz {
        Some(mhz) => Some(clock(read, kind, mhz.get_ref(), &name)?),
        None => None,
    };
    if let (Some(governor), None) = (&kind.governor, &kind.mhz) {
        return Err(read.refuse(governor, "mhz next to it, the frequencies that it chooses from"));
    }
    if let (Some(power), None) = (&kind.power, &kind.mhz) {
        return Err(read.refuse(power, "mhz next to it, the frequencies that it belongs to"));
    }
    Ok(CoreType {
        speed,
        capacity,
        rank: kind.rank.as_ref().map_or(0, |rank| *rank.get_ref()),
        l2_kib,
        smt: match &kind.smt_speed {
            Some(table) => Some(smt(read, table)?),
            None => None,
        },
        clock,
        idle: idle(read, kind)?,
        poll_ns: poll_ns(read, kind)?,
        name,
    })
}

fn smt(read: &Read<'_>, table: &toml::Spanned<SmtTable>) -> Result<SmtSpeed, MachineError> {
    let SmtTable { compute, mixed, memory } = table.get_ref();
    let speeds = |of: &BySiblings| {
        let speeds = match of {
            BySiblings::One(speed) => vec![*speed],
            BySiblings::Each(speeds) => speeds.clone(),
        };
        let fits = speeds.iter().all(|speed| (1..=FULL_SPEED).contains(speed));
        let falls = speeds.is_sorted_by(|a, b| a >= b);
        match !speeds.is_empty() && fits && falls {
            true => Ok(speeds),
            false => Err(read.refuse(table, "1 to 1024 each, no more with more busy siblings")),
        }
    };
    Ok(SmtSpeed { compute: speeds(compute)?, mixed: speeds(mixed)?, memory: speeds(memory)? })
}

fn poll_ns(read: &Read<'_>, kind: &CoreTable) -> Result<u64, MachineError> {
    match &kind.poll_us {
        Some(us) if *us.get_ref() > MOST_US => Err(read.refuse(us, &format!("0 to {MOST_US}"))),
        given => Ok(given.as_ref().map_or(0, |us| us.get_ref() * 1000)),
    }
}

fn idle(read: &Read<'_>, kind: &CoreTable) -> Result<Vec<IdleState>, MachineError> {
    let Some(states) = &kind.idle else { return Ok(Vec::new()) };
    let mut all: Vec<IdleState> = Vec::new();
    for state in states.get_ref() {
        if state.exit_us.max(state.residency_us) > MOST_US {
            let expected = format!("exit_us and residency_us of {} within {MOST_US}", state.name);
            return Err(read.refuse(states, &expected));
        }
        let (exit_ns, residency_ns) = (state.exit_us * 1000, state.residency_us * 1000);
        if residency_ns < exit_ns {
            let (name, exit) = (&state.name, state.exit_us);
            let expected = format!("residency_us of {name} to be its exit_us, {exit}, or more");
            return Err(read.refuse(states, &expected));
        }
        if all.last().is_some_and(|last| last.residency_ns > residency_ns) {
            let expected = format!("the shallowest state first, and {} not so late", state.name);
            return Err(read.refuse(states, &expected));
        }
        all.push(IdleState { name: state.name.clone(), exit_ns, residency_ns, flush: state.flush });
    }
    Ok(all)
}

fn clock(
    read: &mut Read<'_>,
    kind: &CoreTable,
    mhz: &ClockTable,
    name: &str,
) -> Result<Clock, MachineError> {
    let max_mhz = *mhz.max.get_ref();
    if max_mhz == 0 || max_mhz > MOST_MHZ {
        return Err(read.refuse(&mhz.max, &format!("1 to {MOST_MHZ} MHz")));
    }
    let upto = (1, max_mhz);
    let of = |key: &str| format!("core_type.{name}.mhz.{key}");
    let base_mhz = read.within(&mhz.base, upto, (&of("base"), max_mhz, "max"))?;
    let idle_mhz = read.within(&mhz.idle, upto, (&of("idle"), base_mhz, "base"))?;
    if let (Some(idle), true) = (&mhz.idle, idle_mhz > base_mhz) {
        return Err(read.refuse(idle, &format!("at most base, {base_mhz}")));
    }
    let turbo = mhz.turbo.as_ref().map(|turbo| turbo.get_ref().clone()).unwrap_or_default();
    if let Some(given) = &mhz.turbo {
        let rises = turbo.is_sorted_by(|a, b| a.0 < b.0 && a.1 >= b.1);
        if !rises || turbo.iter().any(|(cores, mhz)| *cores == 0 || *mhz == 0 || *mhz > max_mhz) {
            let expected = "[cores, MHz] with more cores and no more MHz in each, at most max";
            return Err(read.refuse(given, expected));
        }
    }
    let opps_mhz = mhz.opps.as_ref().map(|opps| opps.get_ref().clone()).unwrap_or_default();
    if let Some(given) = &mhz.opps {
        let ascend =
            opps_mhz.is_sorted_by(|a, b| a < b) && opps_mhz.first().is_some_and(|f| *f > 0);
        if !ascend || opps_mhz.last() != Some(&max_mhz) {
            return Err(read.refuse(given, "MHz in ascending order, the last of them max"));
        }
    }
    let power_uw = match &kind.power {
        Some(table) => power_uw(read, table, &opps_mhz, max_mhz)?,
        None => Vec::new(),
    };
    let governor = match &kind.governor {
        Some(table) => governor(read, table.get_ref(), name)?,
        None => {
            read.assume(&format!("core_type.{name}.governor"), "performance", CHOICE);
            Governor::Performance
        }
    };
    let domain_cores = mhz.domain_cores.as_ref().map_or(1, |cores| *cores.get_ref());
    Ok(Clock { idle_mhz, base_mhz, max_mhz, turbo, opps_mhz, domain_cores, governor, power_uw })
}

fn governor(
    read: &mut Read<'_>,
    table: &GovernorTable,
    name: &str,
) -> Result<Governor, MachineError> {
    let long = (1, 60_000_000);
    let of = |key: &str| format!("core_type.{name}.governor.{key}");
    let chosen = table.name.get_ref().as_str();
    for (key, given, owner) in [
        ("ramp_us", &table.ramp_us, "hardware"),
        ("cool_us", &table.cool_us, "hardware"),
        ("transition_us", &table.transition_us, "schedutil"),
    ] {
        if let (Some(value), true) = (given, chosen != owner) {
            return Err(read.refuse(value, &format!("no {key}, which is for {owner}")));
        }
    }
    let mut ns = |given, key: &str, default| {
        let from = (of(key), default, CHOICE);
        read.within(given, long, (&from.0, from.1, from.2)).map(|us: u64| us * 1000)
    };
    match chosen {
        "performance" => Ok(Governor::Performance),
        "hardware" => Ok(Governor::Hardware {
            ramp_ns: ns(&table.ramp_us, "ramp_us", RAMP_US)?,
            cool_ns: ns(&table.cool_us, "cool_us", COOL_US)?,
        }),
        "schedutil" => Ok(Governor::Schedutil {
            transition_ns: ns(&table.transition_us, "transition_us", TRANSITION_US)?,
        }),
        _ => Err(read.refuse(&table.name, "\"performance\", \"hardware\" or \"schedutil\"")),
    }
}
