// SPDX-License-Identifier: MIT OR Apache-2.0
//! `futex(2)`: threads wait for each other in simulated time (`kernel/futex/`).

use super::{fail, value, Call, Kept, Played};
use crate::threads::{On, Ret, Sleep, Threads};
use crate::time::Clocks;
use std::io;

const ANY: u32 = u32::MAX;

pub(super) fn futex(
    kept: &mut Kept,
    threads: &mut Threads,
    call: &Call,
    clocks: Clocks,
) -> io::Result<Played> {
    let [word, operation, value_or_count, time, to, last] = call.args;
    let operation = operation as i32;
    let number = value_or_count as u32;
    Ok(match operation & libc::FUTEX_CMD_MASK {
        libc::FUTEX_WAIT => {
            let until = match time {
                0 => Some(None),
                time => kept
                    .memory
                    .timespec(time)?
                    .map(|ns| Some(clocks.monotonic_ns.saturating_add(ns))),
            };
            wait(kept, word, number, ANY, until)?
        }
        libc::FUTEX_WAIT_BITSET => {
            let clock = match operation & libc::FUTEX_CLOCK_REALTIME {
                0 => libc::CLOCK_MONOTONIC,
                _ => libc::CLOCK_REALTIME,
            };
            let until = match time {
                0 => Some(None),
                time => kept.memory.timespec(time)?.map(|at_ns| clocks.monotonic_at(clock, at_ns)),
            };
            wait(kept, word, number, last as u32, until)?
        }
        libc::FUTEX_WAKE => value(threads.wake_futex(word, number, ANY)),
        libc::FUTEX_WAKE_BITSET if last as u32 == 0 => fail(libc::EINVAL),
        libc::FUTEX_WAKE_BITSET => value(threads.wake_futex(word, number, last as u32)),
        libc::FUTEX_CMP_REQUEUE if kept.memory.u32(word)? != last as u32 => fail(libc::EAGAIN),
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
            let woken = threads.wake_futex(word, number, ANY);
            // The argument of a time-out is a count here.
            let moved = threads.requeue_futex(word, to, time as u32);
            let told =
                if operation & libc::FUTEX_CMD_MASK == libc::FUTEX_REQUEUE { 0 } else { moved };
            value(woken + told)
        }
        _ => {
            kept.unplayed("futex operations other than wait, wake and requeue");
            fail(libc::ENOSYS)
        }
    })
}

/// `until`: `None` if it is no time.
fn wait(
    kept: &Kept,
    addr: u64,
    expected: u32,
    bits: u32,
    until: Option<Option<u64>>,
) -> io::Result<Played> {
    let Some(until_ns) = until.filter(|_| bits != 0 && addr % 4 == 0) else {
        return Ok(fail(libc::EINVAL));
    };
    if kept.memory.u32(addr)? != expected {
        return Ok(fail(libc::EAGAIN));
    }
    let late = Ret::Errno(libc::ETIMEDOUT);
    Ok(Played::Sleep(Sleep { until_ns, late, on: On::Futex { addr, bits } }))
}
