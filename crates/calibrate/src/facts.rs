// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kind of computer it is, and how busy.

use rustix::time::{clock_gettime, ClockId};
use serde::Serialize;
use std::fs::read_to_string;

/// What kind of computer it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// What its CPUs say they are.
    pub cpu_model: String,
    /// Release of its kernel.
    pub kernel: String,
    /// What chooses frequencies; `None`: the kernel does not know them.
    pub governor: Option<String>,
    /// Whether it is a virtual machine.
    pub guest: bool,
}

impl Facts {
    /// Looks at `/proc` and `/sys`.
    pub fn read() -> Self {
        let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let governor = read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
        let (cpu_model, guest) = of_cpuinfo(&cpuinfo);
        Self {
            cpu_model,
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            governor: governor.ok().map(|name| name.trim().to_owned()),
            guest,
        }
    }
}

/// The model, and whether there is a hypervisor.
fn of_cpuinfo(text: &str) -> (String, bool) {
    let value = |key: &str| {
        let of = |line: &str| {
            let (found, value) = line.split_once(':')?;
            (found.trim() == key).then(|| value.trim().to_owned())
        };
        text.lines().find_map(of)
    };
    let guest = value("flags").is_some_and(|flags| flags.split(' ').any(|is| is == "hypervisor"));
    (value("model name").unwrap_or_else(|| "unknown CPU".into()), guest)
}

/// CPU time until now, to compare with a later one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    busy: u64,
    stolen: u64,
    all: u64,
    own_ns: u64,
}

/// Part of the computer that others had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Others {
    /// Tasks of others, as a part of all CPUs.
    pub tasks: f64,
    /// Time that the host did not give, as a part of all CPUs.
    pub stolen: f64,
}

/// Clock ticks per second in `/proc/stat` (`USER_HZ`, the same on every architecture that Linux
/// has a `/proc/stat` of today).
const USER_HZ: u64 = 100;

impl Load {
    pub(crate) fn now() -> Option<Self> {
        let own = clock_gettime(ClockId::ProcessCPUTime);
        let own_ns = own.tv_sec as u64 * 1_000_000_000 + own.tv_nsec as u64;
        Self::of(&read_to_string("/proc/stat").ok()?, own_ns)
    }

    fn of(stat: &str, own_ns: u64) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let times: Vec<u64> = line.split_whitespace().map_while(|n| n.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
        let [user, nice, system, idle, iowait, irq, softirq, stolen] = times.get(..8)? else {
            return None;
        };
        let busy = user + nice + system + irq + softirq;
        Some(Self { busy, stolen: *stolen, all: busy + idle + iowait + stolen, own_ns })
    }

    /// What others had since then.
    pub(crate) fn until(&self, now: &Self) -> Others {
        let all = now.all.saturating_sub(self.all).max(1) as f64;
        let own = (now.own_ns - self.own_ns) as f64 * USER_HZ as f64 / 1e9;
        let busy = now.busy.saturating_sub(self.busy) as f64;
        let stolen = now.stolen.saturating_sub(self.stolen) as f64;
        Others { tasks: ((busy - own) / all).max(0.0), stolen: stolen / all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hypervisor_is_a_flag_of_the_cpu() {
        let text = "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor lahf_lm\n";
        assert_eq!(of_cpuinfo(text), ("AMD EPYC".into(), true));
        assert_eq!(of_cpuinfo("flags : fpu lahf_lm\n"), ("unknown CPU".into(), false));
    }

    #[test]
    fn others_have_what_was_busy_without_us() {
        let before = Load::of("cpu  100 0 50 800 50 0 0 10 0 0\n", 0).expect("eight numbers");
        // 60 + 40 ticks busy, of which half a second is ours: 50 of 200; 10 were stolen.
        let text = "cpu  160 0 90 880 60 0 0 20 0 0\n";
        let now = Load::of(text, 500_000_000).expect("eight numbers");
        assert_eq!(before.until(&now), Others { tasks: 0.25, stolen: 0.05 });
        assert!(Load::of("intr 5\n", 0).is_none());
    }
}
