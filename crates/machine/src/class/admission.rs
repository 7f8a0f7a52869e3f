// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which reservations a machine takes: `sched_dl_overflow()` and `__sched_setscheduler()`.

use super::{Class, Reservation, Takes};
use crate::system::System;
use crate::task::Tid;
use rota_workload::Settings;

/// `BW_SHIFT`: bandwidths are counted in 2^-20 of a CPU.
const BW_SHIFT: u32 = 20;

/// `to_ratio()`.
fn bandwidth(runtime_ns: u64, period_ns: u64) -> u64 {
    ((u128::from(runtime_ns) << BW_SHIFT) / u128::from(period_ns.max(1))) as u64
}

/// What a task with these settings has reserved.
pub(crate) fn reserved_by(settings: &Settings) -> u64 {
    match Class::of(settings) {
        Class::Deadline(Reservation { runtime_ns, period_ns, .. }) => {
            bandwidth(runtime_ns, period_ns)
        }
        _ => 0,
    }
}

fn percent(bandwidth: u64) -> String {
    let tenths = (bandwidth * 1000 + (1 << (BW_SHIFT - 1))) >> BW_SHIFT;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

impl System {
    /// What each CPU admits: 950 ms of each second, of which each server of a hosted class has 50.
    fn admitted_each(&self) -> u64 {
        let both = self.tasks.takes == Takes::Marked && self.config.rules.ext_server;
        let servers = if both { 2 } else { 1 };
        bandwidth(950, 1000) - servers * bandwidth(50, 1000)
    }

    /// `dl_bw_deactivate()`: whether what is reserved fits one CPU less.
    pub(crate) fn fits_without_one_more(&self) -> Result<(), String> {
        let each = self.admitted_each();
        let left = u64::from(self.active_cpus().len()).saturating_sub(1);
        if self.above.reserved <= left * each {
            return Ok(());
        }
        let (taken, most) = (percent(self.above.reserved), percent(left * each));
        Err(format!("SCHED_DEADLINE tasks reserve {taken} of a CPU, {left} CPUs admit {most}"))
    }

    /// Whether a task may come into being with these settings, or take them on; if not, why.
    pub(crate) fn admit(&self, who: Option<Tid>, settings: &Settings) -> Result<(), String> {
        if !matches!(Class::of(settings), Class::Deadline(_)) {
            return Ok(());
        }
        let wanted = reserved_by(settings);
        if self.affinity(settings.cpus.as_deref()).len() < self.nr_cpus() {
            return Err("SCHED_DEADLINE is refused (EPERM): \"cpus\" must leave out no CPU".into());
        }
        let own = who.map_or(0, |t| reserved_by(&self.task(t).settings));
        let taken = self.above.reserved - own;
        let each = self.admitted_each();
        let most = u64::from(self.active_cpus().len()) * each;
        if taken + wanted <= most {
            return Ok(());
        }
        Err(format!(
            "SCHED_DEADLINE is refused (EBUSY): it reserves {} of a CPU, others {}, and {} CPUs \
             admit {}",
            percent(wanted),
            percent(taken),
            self.active_cpus().len(),
            percent(most)
        ))
    }
}
