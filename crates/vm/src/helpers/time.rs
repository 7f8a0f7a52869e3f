// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers that read clocks and set timers.

use crate::callback::function_at;
use crate::errno::{code, EDEADLK, EINVAL};
use crate::error::Fault;
use crate::host::Host;
use crate::maps::Body;
use crate::runtime::Runtime;

/// `BPF_F_TIMER_ABS`.
const ABSOLUTE: u64 = 1;
/// `BPF_F_TIMER_CPU_PIN`.
const PINNED: u64 = 2;

/// `bpf_ktime_get_ns()` and its like: the machine never sleeps, so all clocks agree.
pub(super) fn ktime<H: Host>(host: &mut H, _: &mut Runtime<H>, _: &[u64; 5]) -> Result<u64, Fault> {
    Ok(host.now_ns())
}

/// `bpf_jiffies64()`.
pub(super) fn jiffies<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    _: &[u64; 5],
) -> Result<u64, Fault> {
    Ok(host.jiffies())
}

/// `bpf_timer_init(timer, map, clock)`.
pub(super) fn timer_init<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[timer, map, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let number = rt.map_number(map)?;
    let map = &rt.maps[number as usize];
    let inside = matches!(map.body, Body::Array(_) | Body::Hash(_)) && map.holding(timer).is_some();
    if !inside {
        return Ok(code(EINVAL));
    }
    Ok(rt.timers.init(timer, number).map_or_else(code, |()| 0))
}

/// `bpf_timer_set_callback(timer, callback)`.
pub(super) fn timer_set_callback<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[timer, callback, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let func = function_at(callback)?;
    Ok(rt.timers.set_callback(timer, func).map_or_else(code, |()| 0))
}

/// `bpf_timer_start(timer, nsecs, flags)`.
pub(super) fn timer_start<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[timer, nsecs, flags, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    if flags & !(ABSOLUTE | PINNED) != 0 || !rt.timers.is_ready(timer) {
        return Ok(code(EINVAL));
    }
    let start = if flags & ABSOLUTE != 0 { 0 } else { host.now_ns() };
    let cpu = (flags & PINNED != 0).then(|| host.cpu());
    host.timer_start(timer, start.saturating_add(nsecs), cpu);
    Ok(0)
}

/// `bpf_timer_cancel(timer)`.
pub(super) fn timer_cancel<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[timer, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    if !rt.timers.exists(timer) {
        return Ok(code(EINVAL));
    }
    if rt.timers.running() == Some(timer) {
        return Ok(code(EDEADLK));
    }
    Ok(host.timer_cancel(timer).into())
}
