// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy: what a core takes while it is busy, by its frequency, as the kernel's energy model has it
//! (`include/linux/energy_model.h`): power at each operating point, nothing while idle.

use super::parts::Clock;
use super::speed::Models;
use crate::task::Task;

/// Femtojoules, which a microwatt does in a nanosecond, of a nanojoule.
const FJ_OF_NJ: u128 = 1_000_000;

impl Clock {
    /// Microwatts of a busy core at this frequency: with the voltage of the next operating point, so
    /// that below it power falls with the frequency alone. 0: nothing is known of it.
    fn power_at(&self, mhz: u32) -> u64 {
        let highest = [self.max_mhz];
        let points = if self.opps_mhz.is_empty() { &highest[..] } else { &self.opps_mhz };
        let known = || points.iter().zip(&self.power_uw);
        let next = known().find(|(point, _)| **point >= mhz).or_else(|| known().next_back());
        next.map_or(0, |(point, uw)| u64::from(*uw) * u64::from(mhz) / u64::from((*point).max(1)))
    }
}

impl Models {
    /// Microwatts of a CPU that is busy with this many siblings: they share their core's power
    /// equally. 0: nothing is known of it.
    pub(super) fn power_uw(&self, cpu: u32, busy_siblings: u32) -> u64 {
        let Some((clock, mhz)) = self.frequency(cpu) else { return 0 };
        clock.power_at(mhz) / u64::from(busy_siblings + 1)
    }

    /// Whether energy is known of a CPU.
    pub(super) fn has_power(&self, cpu: u32) -> bool {
        let clock = self.hardware.core_type(cpu).clock.as_ref();
        clock.is_some_and(|clock| !clock.power_uw.is_empty())
    }
}

impl Task {
    /// It had a CPU at this power for a time.
    #[inline(never)]
    pub(crate) fn draw(&mut self, power_uw: u64, ns: u64) {
        self.used_fj += u128::from(power_uw) * u128::from(ns);
    }

    /// Takes what it used so far, in whole nanojoules; the rest stays for the next time.
    pub(super) fn take_energy_nj(&mut self) -> u64 {
        let nj = self.used_fj / FJ_OF_NJ;
        self.used_fj %= FJ_OF_NJ;
        u64::try_from(nj).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::parts::Governor;

    fn clock(opps_mhz: Vec<u32>, power_uw: Vec<u32>) -> Clock {
        Clock {
            idle_mhz: 300,
            base_mhz: 1803,
            max_mhz: 1803,
            turbo: Vec::new(),
            opps_mhz,
            domain_cores: 1,
            governor: Governor::Performance,
            power_uw,
        }
    }

    #[test]
    fn power_is_that_of_the_operating_point_and_scaled_below_it() {
        // 26,001 uW at 738 MHz: at 700 of 738 MHz, 24,662
        let clock = clock(vec![300, 738, 1803], vec![6_066, 26_001, 103_655]);
        let power = [300, 700, 738, 1803].map(|mhz| clock.power_at(mhz));
        assert_eq!(power, [6_066, 24_662, 26_001, 103_655]);
    }

    #[test]
    fn without_operating_points_power_falls_with_the_frequency() {
        assert_eq!(clock(Vec::new(), vec![2_000_000]).power_at(601), 666_666);
        assert_eq!(clock(Vec::new(), Vec::new()).power_at(601), 0);
    }
}
