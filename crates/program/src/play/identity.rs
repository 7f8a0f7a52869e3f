// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who the program is, what computer it is on, and its random numbers.

use super::{fail, value, Call, Kept, Played};
use crate::computer;
use crate::threads::Threads;
use crate::time::Clocks;
use rand::RngCore;
use rota_machine::user_half::PROGRAM_PID;
use rustix::process::{kill_process, Pid, Signal};
use std::io;

/// Numbers of threads other than the first are the process's and this, counted on. The simulated
/// machine has no task for them.
const THREADS_FROM: u32 = 1 << 21;

/// Most random bytes that one call gives, as `getrandom()` of `/dev/urandom`.
const MAX_RANDOM: u64 = 1 << 25;
const PIECE: u64 = 4096;

/// Bytes of each field of `struct utsname`.
const NAME: usize = 65;

/// `getpid()` and `gettid()`.
pub(super) fn number(kept: &Kept, threads: &Threads, call: &Call) -> Played {
    let is_leader = call.tid == kept.pid || call.number == libc::SYS_getpid;
    let thread = threads.find(call.tid).unwrap_or(0) as u32;
    value(if is_leader { PROGRAM_PID } else { THREADS_FROM + thread })
}

/// Signals to the program itself; there is nobody else.
pub(super) fn signal(kept: &Kept, call: &Call) -> Played {
    let (to, signal) = match call.number {
        libc::SYS_tgkill => (call.args[0], call.args[2]),
        _ => (call.args[0], call.args[1]),
    };
    let to = to as u32;
    let own = [0, PROGRAM_PID, kept.pid];
    if !own.contains(&to) && (call.number != libc::SYS_tkill || to < THREADS_FROM) {
        return fail(libc::ESRCH);
    }
    if signal == 0 {
        return value(0);
    }
    let signal = Signal::from_named_raw(signal as i32);
    let pid = Pid::from_raw(kept.pid as i32);
    match signal.zip(pid).map(|(signal, pid)| kill_process(pid, signal)) {
        Some(Ok(())) => value(0),
        Some(Err(error)) => fail(error.raw_os_error()),
        None => fail(libc::EINVAL),
    }
}

/// `capget()`: it has all, as of root. What they would allow is played, or refused.
pub(super) fn capget(kept: &Kept, call: &Call) -> io::Result<Played> {
    const ALL: u64 = (1 << 41) - 1;
    let [_, data, ..] = call.args;
    if data != 0 {
        let (low, high) = ((ALL as u32).to_le_bytes(), ((ALL >> 32) as u32).to_le_bytes());
        // effective, permitted and inheritable: of the lower 32, then of the others
        let none = [0; 4];
        kept.memory.write(data, &[low, low, none, high, high, none].concat())?;
    }
    Ok(value(0))
}

pub(super) fn uname(kept: &Kept, call: &Call) -> io::Result<Played> {
    let release = computer::release(&kept.kernel);
    let names = ["Linux", "rota", &release, "#1 SMP PREEMPT_DYNAMIC", "x86_64", "(none)"];
    let mut bytes = vec![0; NAME * names.len()];
    for (place, name) in bytes.chunks_exact_mut(NAME).zip(names) {
        place[..name.len()].copy_from_slice(name.as_bytes());
    }
    kept.memory.write(call.args[0], &bytes)?;
    Ok(value(0))
}

/// `struct sysinfo`: the machine has 16 GiB of memory, half of it free.
pub(super) fn sysinfo(kept: &Kept, call: &Call, clocks: Clocks) -> io::Result<Played> {
    const TOTAL: u64 = 16 << 30;
    let mut bytes = [0; 112];
    let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    put(0, clocks.monotonic_ns / 1_000_000_000);
    put(32, TOTAL);
    put(40, TOTAL / 2);
    put(80, 1); // one process
    bytes[104] = 1; // bytes of a unit
    kept.memory.write(call.args[0], &bytes)?;
    Ok(value(0))
}

/// Seeded, so that hash tables have the same order in each run.
pub(super) fn getrandom(kept: &mut Kept, call: &Call) -> io::Result<Played> {
    let asked = call.args[1].min(MAX_RANDOM);
    let mut done = 0;
    while done < asked {
        let mut piece = vec![0; (asked - done).min(PIECE) as usize];
        kept.random.fill_bytes(&mut piece);
        kept.memory.write(call.args[0] + done, &piece)?;
        done += piece.len() as u64;
    }
    Ok(value(asked as i64))
}
