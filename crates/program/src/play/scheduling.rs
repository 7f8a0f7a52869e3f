// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where and how the program itself is scheduled.

use super::{fail, value, Call, Kept, Played};
use rota_machine::user_half::{Live, PROGRAM_PID};
use rota_vm::host::Host as _;
use std::io;

/// Most bytes of a set of CPUs.
const MAX_SET: u64 = 1024;

pub(super) fn getcpu(kept: &Kept, call: &Call, live: Option<&Live<'_>>) -> io::Result<Played> {
    let cpu = live.map_or(kept.affinity.first().copied().unwrap_or(0), |live| live.system.cpu());
    for (addr, number) in [(call.args[0], cpu), (call.args[1], kept.topology.node_of(cpu))] {
        if addr != 0 {
            kept.memory.write(addr, &number.to_le_bytes())?;
        }
    }
    Ok(value(0))
}

/// The program, or one of its threads by the number that the C library knows: in the machine they
/// are one task.
fn is_own(kept: &Kept, pid: u64) -> bool {
    let pid = pid as u32;
    [0, PROGRAM_PID, kept.pid].contains(&pid)
        || std::path::Path::new(&format!("/proc/{}/task/{pid}", kept.pid)).exists()
}

/// `sched_getaffinity()`: whole words of the CPUs that there can be.
pub(super) fn getaffinity(kept: &Kept, call: &Call, live: Option<&Live<'_>>) -> io::Result<Played> {
    let [pid, len, addr, ..] = call.args;
    let cpus = kept.topology.cpus();
    let bytes = u64::from(cpus.div_ceil(64) * 8);
    if !is_own(kept, pid) {
        return Ok(fail(libc::ESRCH));
    }
    if len < bytes || len % 8 != 0 {
        return Ok(fail(libc::EINVAL));
    }
    let mut set = vec![0_u8; bytes as usize];
    let all = (0..cpus).collect::<Vec<_>>();
    let allowed = if kept.affinity.is_empty() { &all } else { &kept.affinity };
    let online = live.map(|live| live.system.online_cpus());
    let is_there = |cpu: &&u32| online.as_ref().is_none_or(|online| online.contains(**cpu));
    allowed.iter().filter(is_there).for_each(|cpu| set[*cpu as usize / 8] |= 1 << (cpu % 8));
    kept.memory.write(addr, &set)?;
    Ok(value(bytes as i64))
}

pub(super) fn setaffinity(
    kept: &mut Kept,
    call: &Call,
    live: Option<&mut Live<'_>>,
) -> io::Result<Played> {
    let [pid, len, addr, ..] = call.args;
    if !is_own(kept, pid) {
        return Ok(fail(libc::ESRCH));
    }
    let mut set = vec![0_u8; len.min(MAX_SET) as usize];
    kept.memory.read(addr, &mut set)?;
    let has = |cpu: &u32| set.get(*cpu as usize / 8).is_some_and(|byte| byte >> (cpu % 8) & 1 == 1);
    let asked: Vec<u32> = (0..kept.topology.cpus()).filter(has).collect();
    let possible = match live {
        Some(live) => live.system.bind_program(&asked),
        None => !asked.is_empty(),
    };
    if !possible {
        return Ok(fail(libc::EINVAL));
    }
    kept.affinity = asked;
    Ok(value(0))
}

pub(super) fn setscheduler(kept: &mut Kept, call: &Call, live: Option<&mut Live<'_>>) -> Played {
    let [pid, policy, ..] = call.args;
    if !is_own(kept, pid) {
        return fail(libc::ESRCH);
    }
    // SCHED_RESET_ON_FORK
    let policy = policy as u32 & !0x4000_0000;
    let Some(live) = live else {
        kept.asked.policy = Some(policy);
        return value(0);
    };
    if live.system.set_program_policy(policy) {
        value(0)
    } else {
        of_real_time(kept, call)
    }
}

/// `setpriority()` of a process, its group or its user: there is no other.
pub(super) fn setpriority(kept: &mut Kept, call: &Call, live: Option<&mut Live<'_>>) -> Played {
    let [which, who, nice, ..] = call.args;
    if which as u32 == libc::PRIO_PROCESS && !is_own(kept, who) {
        return fail(libc::ESRCH);
    }
    let nice = (nice as i32).clamp(-20, 19);
    match live {
        Some(live) => live.system.renice_program(nice),
        None => kept.asked.nice = Some(nice),
    }
    value(0)
}

/// The classes above the scheduler's own: its task stays in the class that it has.
pub(super) fn of_real_time(kept: &mut Kept, call: &Call) -> Played {
    if !is_own(kept, call.args[0]) {
        return fail(libc::ESRCH);
    }
    kept.unplayed("a real-time class for itself");
    value(0)
}

/// What it asked for its task before there was one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    policy: Option<u32>,
    nice: Option<i32>,
}

/// Its task has come into being.
pub(crate) fn ask(kept: &mut Kept, live: &mut Live<'_>) {
    let Asked { policy, nice } = std::mem::take(&mut kept.asked);
    if !kept.affinity.is_empty() {
        live.system.bind_program(&kept.affinity);
    }
    if policy.is_some_and(|policy| !live.system.set_program_policy(policy)) {
        kept.unplayed("a real-time class for itself");
    }
    if let Some(nice) = nice {
        live.system.renice_program(nice);
    }
}
