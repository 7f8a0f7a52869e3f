// SPDX-License-Identifier: MIT OR Apache-2.0
//! The load: how many threads run or want to, averaged as the kernel's `avenrun` is, but over a
//! time of one's choice. [CAS §6] takes the average over a minute, which says nothing of a load
//! that began ten seconds ago.

use crate::table::LOAD_ONE;

/// An exponential average of the number of runnable threads.
#[derive(Clone, Debug)]
pub struct Load {
    window_ns: u64,
    average: f64,
    last_ns: Option<u64>,
}

impl Load {
    /// Averages over this time.
    pub fn new(window_ns: u64) -> Self {
        Self { window_ns: window_ns.max(1), average: 0.0, last_ns: None }
    }

    /// Takes in a sample of how many threads are runnable now.
    pub fn sample(&mut self, now_ns: u64, runnable: u32) {
        let since = self.last_ns.map(|last| now_ns.saturating_sub(last));
        self.last_ns = Some(now_ns);
        let keep = since.map_or(0.0, |ns| (-(ns as f64) / self.window_ns as f64).exp());
        self.average = self.average * keep + f64::from(runnable) * (1.0 - keep);
    }

    /// Threads per CPU.
    pub fn per_cpu(&self, cpus: u32) -> f64 {
        self.average / f64::from(cpus.max(1))
    }

    /// The same in the units of the paper's table.
    pub fn avenrun_per_cpu(&self, cpus: u32) -> u32 {
        (self.per_cpu(cpus) * f64::from(LOAD_ONE)) as u32
    }
}

/// Runnable threads without the caller's, from `/proc/loadavg`: `0.20 0.18 0.12 3/80 11206`.
pub fn runnable_of(loadavg: &str) -> Option<u32> {
    let (running, _) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
    running.parse::<u32>().ok().map(|n| n.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_reader_itself_does_not_count() {
        assert_eq!(runnable_of("0.20 0.18 0.12 3/80 11206\n"), Some(2));
        assert_eq!(runnable_of("0.20 0.18 0.12 0/80 11206\n"), Some(0));
        for bad in ["", "1 2 3", "1 2 3 4 5", "1 2 3 x/4 5"] {
            assert_eq!(runnable_of(bad), None, "{bad}");
        }
    }

    /// After one window, 1 - 1/e of a step has arrived; the first sample counts in full.
    #[test]
    fn a_step_arrives_exponentially() {
        let mut load = Load::new(5_000_000_000);
        load.sample(0, 0);
        for second in 1..=5 {
            load.sample(second * 1_000_000_000, 12);
        }
        let expected = 6.0 * (1.0 - (-1.0f64).exp());
        assert!((load.per_cpu(2) - expected).abs() < 1e-9, "{}", load.per_cpu(2));
        assert_eq!(load.avenrun_per_cpu(2), (expected * 2048.0) as u32);
    }

    proptest! {
        #[test]
        fn the_average_stays_between_the_samples(
            samples in prop::collection::vec((0u64..1 << 40, 0u32..1000), 1..50)
        ) {
            let mut load = Load::new(5_000_000_000);
            for (at, runnable) in &samples {
                load.sample(*at, *runnable);
            }
            let most = samples.iter().map(|s| s.1).max().unwrap_or(0);
            prop_assert!(load.per_cpu(1) >= 0.0 && load.per_cpu(1) <= f64::from(most) + 1e-6);
        }
    }
}
