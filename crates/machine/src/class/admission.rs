// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which reservations a machine takes: `sched_dl_overflow()` and `__sched_setscheduler()`.

use super::{Class, Reservation, Takes};
use crate::exit::ExitKind;
use crate::system::System;
use crate::task::Tid;
use rota_workload::events::ServerParameter;
use rota_workload::Settings;
use std::ops::RangeInclusive;

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

/// What a CPU admits of each second: `global_rt_runtime()`.
const ADMITTED_MS: u64 = 950;

/// `dl_server_period_min` and `dl_server_period_max`.
const PERIOD_NS: RangeInclusive<u64> = 100_000..=(1 << 22) * 1000;

impl System {
    /// `dl_bw_attached`: with all tasks in sched_ext the fair class has no server, without a
    /// scheduler sched_ext has none.
    fn is_attached(&self, class: Class) -> bool {
        let ext = self.config.rules.ext_server;
        match class {
            Class::Ext => ext && self.tasks.takes != Takes::Nothing,
            _ => self.tasks.takes != Takes::All || !ext,
        }
    }

    fn server_bandwidth(&self, cpu: u32, class: Class) -> u64 {
        let server = self.rq(cpu).servers.of(class);
        bandwidth(server.dl_runtime_ns, server.dl_period_ns)
    }

    /// What the servers of a CPU reserve (`dl_server_read_bw()`).
    fn served(&self, cpu: u32) -> u64 {
        let attached = [Class::Fair, Class::Ext].into_iter().filter(|c| self.is_attached(*c));
        attached.map(|class| self.server_bandwidth(cpu, class)).sum()
    }

    fn served_by_all(&self) -> u64 {
        self.active_cpus().iter().map(|cpu| self.served(cpu)).sum()
    }

    /// What tasks can have reserved on so many CPUs, behind servers that reserve so much.
    fn left_of(cpus: u64, served: u64) -> u64 {
        (cpus * bandwidth(ADMITTED_MS, 1000)).saturating_sub(served)
    }

    fn nr_active(&self) -> u64 {
        u64::from(self.active_cpus().len())
    }

    /// `dl_bw->total_bw`.
    pub(crate) fn total_bandwidth(&self) -> u64 {
        self.above.reserved + self.served_by_all()
    }

    /// `dl_bw_deactivate()`: whether what is reserved fits the CPUs without this one.
    pub(crate) fn fits_without(&self, cpu: u32) -> Result<(), String> {
        let left = self.nr_active().saturating_sub(1);
        let most = Self::left_of(left, self.served_by_all() - self.served(cpu));
        if self.above.reserved <= most {
            return Ok(());
        }
        let (taken, most) = (percent(self.above.reserved), percent(most));
        Err(format!("SCHED_DEADLINE tasks reserve {taken} of a CPU, {left} CPUs admit {most}"))
    }

    /// `dl_server_attach_bw()` of each `rq->ext_server`, before any task is sched_ext's.
    pub(crate) fn attach_ext_server(&mut self) {
        if self.other.is_none() || !self.config.rules.ext_server {
            return;
        }
        let cpus = self.active_cpus();
        let more: u64 = cpus.iter().map(|cpu| self.server_bandwidth(cpu, Class::Ext)).sum();
        if self.total_bandwidth() + more > self.nr_active() * bandwidth(ADMITTED_MS, 1000) {
            let text = "scx_root_enable() failed (-16): SCHED_DEADLINE tasks leave no room for \
                        the ext_server";
            self.error(ExitKind::Error, text.into());
        }
    }

    /// `dl_server_detach_bw()` and `dl_server_swap_bw()`, once tasks have changed their class:
    /// the server of the class that has none any more stops.
    pub(crate) fn detach_servers(&mut self) {
        if self.other.is_none() {
            return;
        }
        for class in [Class::Fair, Class::Ext] {
            if !self.is_attached(class) {
                (0..self.nr_cpus()).for_each(|cpu| self.cpus.stop_server(cpu, class));
            }
        }
    }

    /// `sched_server_write_common()`: a write to
    /// `/sys/kernel/debug/sched/{fair,ext}_server/cpuN/{runtime,period}`.
    pub(crate) fn write_server(
        &mut self,
        cpu: u32,
        class: Class,
        parameter: ServerParameter,
        ns: u64,
    ) -> Result<(), String> {
        if class.is_ext() && !self.config.rules.ext_server {
            return Err("is refused (ENOENT): this kernel has no ext_server".into());
        }
        let server = self.rq(cpu).servers.of(class);
        let (runtime_ns, period_ns) = match parameter {
            ServerParameter::Runtime => (ns, server.dl_period_ns),
            ServerParameter::Period => (server.dl_runtime_ns, ns),
        };
        if runtime_ns > period_ns || !PERIOD_NS.contains(&period_ns) {
            return Err(format!("is refused (EINVAL): {runtime_ns} ns of each {period_ns} ns"));
        }
        if self.is_offline(cpu) {
            return Err(format!("is refused (EBUSY): CPU {cpu} is offline"));
        }
        // dl_server_apply_params()
        let attached = self.is_attached(class);
        let own = if attached { self.server_bandwidth(cpu, class) } else { 0 };
        let wanted = self.total_bandwidth() - own + bandwidth(runtime_ns, period_ns);
        let most = self.nr_active() * bandwidth(ADMITTED_MS, 1000);
        let fits = wanted <= most;
        self.update_curr(cpu);
        self.cpus.stop_server(cpu, class);
        if fits {
            self.rq_mut(cpu).servers.of_mut(class).set(runtime_ns, period_ns);
        }
        if attached && self.needs_server(class) {
            self.start_server(cpu, class);
        }
        if fits {
            return Ok(());
        }
        let (wanted, most) = (percent(wanted), percent(most));
        Err(format!("is refused (EBUSY): {wanted} of a CPU would be reserved, of {most}"))
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
        let most = Self::left_of(self.nr_active(), self.served_by_all());
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
