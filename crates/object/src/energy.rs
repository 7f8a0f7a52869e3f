// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader tells a policy about the energy that CPUs take.
//!
//! A policy that asks for it has the variables `rota_nr_perf_domains`, `rota_perf_domains`, the number of
//! each CPU's domain, and `rota_perf_states`: for each domain 32 places, of which those that are used come
//! first. They are as a kernel's energy model has them (`em_create_perf_table()` in
//! kernel/power/energy_model.c).

use crate::image::Image;
use crate::settings::SettingError;

/// Places of `rota_perf_states` for one domain.
const STATES: usize = 32;
/// Domains that have such places.
const DOMAINS: usize = 16;

/// CPUs that have one frequency together (`struct em_perf_domain`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfDomain {
    /// Their numbers.
    pub cpus: Vec<u32>,
    /// What they can do, and what that takes; from the lowest frequency.
    pub states: Vec<PerfState>,
}

/// A frequency (`struct em_perf_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfState {
    /// What a CPU can do then, in 1/1024 of the fastest CPU.
    pub performance: u32,
    /// Microwatts of a CPU that is busy then.
    pub power_uw: u64,
}

impl PerfState {
    /// In 0.1 uW for each 1/1024 that is in use (`em_compute_costs()`).
    fn cost(&self) -> u64 {
        self.power_uw * 10 / u64::from(self.performance.max(1))
    }
}

impl PerfDomain {
    /// Without those that a higher frequency outdoes for no more (`EM_PERF_STATE_INEFFICIENT`).
    fn efficient(&self) -> Vec<PerfState> {
        let mut least = u64::MAX;
        let mut kept: Vec<PerfState> = Vec::new();
        for state in self.states.iter().rev().filter(|state| state.performance > 0) {
            if state.cost() < least {
                least = state.cost();
                kept.push(*state);
            }
        }
        kept.reverse();
        kept
    }
}

impl Image {
    /// Describes what energy CPUs take to a policy that asks for it. No domains: it is not known.
    pub(crate) fn set_energy(&mut self, domains: &[PerfDomain]) -> Result<(), SettingError> {
        let asks = self.variables.iter().any(|v| v.name == "rota_nr_perf_domains");
        let fits = |domain: &PerfDomain| (1..=STATES).contains(&domain.efficient().len());
        if !asks || domains.len() > DOMAINS || !domains.iter().all(fits) {
            return Ok(());
        }
        self.set_variable("rota_nr_perf_domains", &domains.len().to_string())?;
        for (number, domain) in domains.iter().enumerate() {
            for cpu in &domain.cpus {
                self.set_variable(&format!("rota_perf_domains[{cpu}]"), &number.to_string())?;
            }
            for (at, state) in domain.efficient().iter().enumerate() {
                let place = format!("rota_perf_states[{}]", number * STATES + at);
                let PerfState { performance, .. } = state;
                self.set_variable(&format!("{place}.performance"), &performance.to_string())?;
                self.set_variable(&format!("{place}.cost"), &state.cost().to_string())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_that_take_more_than_a_higher_one_are_left_out() {
        // Costs: 10 x 20 / 100 = 2, 10 x 90 / 200 = 4.5, 10 x 120 / 400 = 3, 10 x 500 / 1000 = 5.
        let state = |(performance, power_uw)| PerfState { performance, power_uw };
        let states = [(100, 20), (200, 90), (400, 120), (1000, 500)].map(state).to_vec();
        let domain = PerfDomain { cpus: vec![0], states };
        let kept: Vec<_> = domain.efficient().iter().map(|s| (s.performance, s.cost())).collect();
        assert_eq!(kept, [(100, 2), (400, 3), (1000, 5)]);
    }
}
