// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of a cgroup and their values, of a `taskgroup` and of events.

use super::members::Scope;
use super::settings;
use crate::error::WorkloadError;
use crate::events::CgroupAction;
use crate::json::{Member, Value};

/// All of them.
pub(super) const FILES: [&str; 5] =
    ["cpu.weight", "cpu.max", "cpu.max.burst", "cpu.idle", "cpuset.cpus"];

/// Limits of `cpu.max` in microseconds (`min_bw_quota_period_us`, `max_bw_quota_period_us`).
const MIN_US: u64 = 1_000;
const MAX_PERIOD_US: u64 = 1_000_000;
/// `max_bw_runtime_us`.
pub(super) const MAX_US: u64 = (1 << 44) - 1;

/// The value of one of [`FILES`].
pub(super) fn read(scope: Scope<'_>, member: &Member) -> Result<CgroupAction, WorkloadError> {
    Ok(match member.key.as_str() {
        "cpu.weight" => CgroupAction::Weight(scope.integer(member, 1..=10_000)? as u32),
        "cpu.max" => max(scope, member)?,
        "cpu.max.burst" => CgroupAction::Burst(scope.integer(member, 0..=MAX_US as i64)? as u64),
        "cpu.idle" => CgroupAction::Idle(scope.integer(member, 0..=1)? == 1),
        _ => CgroupAction::Cpus(settings::cpus(scope, member)?),
    })
}

/// `max`, `max 100000`, `50000` or `50000 100000`, as the file takes it.
fn max(scope: Scope<'_>, member: &Member) -> Result<CgroupAction, WorkloadError> {
    let wanted = || {
        let text = format!(
            "a quota and a period in microseconds as \"50000 100000\": the quota \"max\" or from \
             {MIN_US} to {MAX_US}, the period (which can be left out) from {MIN_US} to \
             {MAX_PERIOD_US}"
        );
        scope.mismatch(member, text)
    };
    let Value::String(text) = &member.node.value else { return Err(wanted()) };
    let mut words = text.split_ascii_whitespace();
    let number = |word: &str, most: u64| {
        let us = word.parse::<u64>().ok().filter(|us| (MIN_US..=most).contains(us));
        us.ok_or_else(wanted)
    };
    let quota_us = match words.next() {
        Some("max") => None,
        Some(word) => Some(number(word, MAX_US)?),
        None => return Err(wanted()),
    };
    let period_us = words.next().map(|word| number(word, MAX_PERIOD_US)).transpose()?;
    match words.next() {
        Some(_) => Err(wanted()),
        None => Ok(CgroupAction::Max { quota_us, period_us }),
    }
}
