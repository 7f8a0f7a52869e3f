// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's fair class, as far as the policy `eevdf` has to be told of it.

use rota_guest::recorded::Fair;

/// Features of the fair class that the policy has, and its tunables that switch them off.
const FEATURES: [(&str, &str); 8] = [
    ("PLACE_LAG", "no_place_lag"),
    ("PLACE_DEADLINE_INITIAL", "no_place_deadline_initial"),
    ("PLACE_REL_DEADLINE", "no_place_rel_deadline"),
    ("RUN_TO_PARITY", "no_run_to_parity"),
    ("PREEMPT_SHORT", "no_preempt_short"),
    ("DELAY_DEQUEUE", "no_delay_dequeue"),
    ("DELAY_ZERO", "no_delay_zero"),
    ("WAKEUP_PREEMPTION", "no_wakeup_preemption"),
];

/// Of 1024 times that a CPU becomes idle it looks for work so often at first. A machine that has been
/// up for a while, mostly idle, took longer than 4.3 s for 512 of them, and looks always (`NI_RATE`).
const NEWIDLE_RATIO: u32 = 1024;

/// The policy's tunables, `name=value`, with which it is set as the fair class is.
pub fn tunables(fair: &Fair) -> Vec<String> {
    let slice = format!("base_slice_ns={}", fair.base_slice_ns);
    let mut set = vec![slice, "tunable_scaling=none".to_owned()];
    if let Some(ns) = fair.newidle_cost_ns {
        set.push(format!("newidle_cost_ns={}", ns.min(10_000_000)));
        set.push(format!("newidle_ratio={NEWIDLE_RATIO}"));
    }
    if fair.preempt == "full" {
        set.push("preempt_full=true".to_owned());
    }
    let off = |feature: &str| fair.features.iter().any(|f| f.strip_prefix("NO_") == Some(feature));
    set.extend(
        FEATURES.iter().filter(|(f, _)| off(f)).map(|(_, tunable)| format!("{tunable}=true")),
    );
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_that_are_off_are_switched_off_in_the_policy() {
        let features = ["PLACE_LAG", "NO_DELAY_DEQUEUE", "NO_HRTICK"].map(str::to_owned).to_vec();
        let fair = Fair {
            base_slice_ns: 1_400_000,
            features,
            preempt: "lazy".into(),
            newidle_cost_ns: Some(31_000),
        };
        let expected = [
            "base_slice_ns=1400000",
            "tunable_scaling=none",
            "newidle_cost_ns=31000",
            "newidle_ratio=1024",
            "no_delay_dequeue=true",
        ];
        assert_eq!(tunables(&fair), expected);
    }
}
