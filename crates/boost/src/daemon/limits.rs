// SPDX-License-Identifier: MIT OR Apache-2.0
//! When the programs run, and how much CPU time the daemon itself takes.

use super::{Daemon, SECOND_NS};
use crate::apply::Threads;
use crate::error::BoostError;
use crate::load::runnable_of;
use crate::{process, table};
use std::path::Path;

impl<T: Threads> Daemon<T> {
    /// Takes a sample of the load, and switches the programs on or off by it.
    pub(super) fn sample(&mut self, now_ns: u64) -> Result<(), BoostError> {
        if self.sampled_ns != 0 && now_ns.saturating_sub(self.sampled_ns) < SECOND_NS / 5 {
            return Ok(());
        }
        self.sampled_ns = now_ns;
        let path = Path::new("/proc/loadavg");
        let text = std::fs::read_to_string(path).map_err(|e| BoostError::file("read", path, e))?;
        self.load.sample(now_ns, runnable_of(&text).unwrap_or_default());
        let active = table::is_active(self.load());
        // While somebody is boosted, answers must be seen.
        let active = active || !self.ledger.is_empty();
        if active != self.active {
            self.active = active;
            self.programs.set_live(active, self.interval())?;
        }
        Ok(())
    }

    /// Keeps the daemon's own CPU time below its limit.
    pub(super) fn watch_oneself(&mut self, now_ns: u64) -> Result<(), BoostError> {
        let wall_ns = now_ns.saturating_sub(self.second_ns);
        if wall_ns < SECOND_NS {
            return Ok(());
        }
        let cpu_ns = process::own_cpu_ns();
        let used = cpu_ns.saturating_sub(self.second_cpu_ns) as f64 / wall_ns as f64;
        (self.second_ns, self.second_cpu_ns, self.totals.own_cpu) = (now_ns, cpu_ns, used);
        let slower = match used {
            _ if used > self.own_limit => (self.slower + 1).min(5),
            _ if used < self.own_limit / 4.0 => self.slower.saturating_sub(1),
            _ => self.slower,
        };
        if slower != self.slower {
            self.slower = slower;
            self.programs.set_live(self.active, self.interval())?;
        }
        self.ledger.retry();
        self.engine.tidy(now_ns);
        if self.denied.len() > 10_000 {
            self.denied.clear();
        }
        Ok(())
    }
}
