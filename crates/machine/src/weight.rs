// SPDX-License-Identifier: MIT OR Apache-2.0
//! From nice to weight: `kernel/sched/core.c` `sched_prio_to_weight` and
//! `sched_weight_to_cgroup`.

/// Load weight of nice -20 to 19.
const PRIO_TO_WEIGHT: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// Load weight of `SCHED_IDLE`.
const WEIGHT_IDLEPRIO: u32 = 3;

/// `p->scx.weight` of a nice value (clamped to -20..=19): 100 is nice 0, 1..=10000.
pub fn of_nice(nice: i32) -> u32 {
    let nice = nice.clamp(-20, 19);
    to_cgroup(PRIO_TO_WEIGHT[(nice + 20) as usize])
}

/// `p->scx.weight` of a `SCHED_IDLE` task.
pub fn of_idle() -> u32 {
    to_cgroup(WEIGHT_IDLEPRIO)
}

/// `sched_weight_to_cgroup`: 1024 becomes 100, rounded to nearest, within 1..=10000.
fn to_cgroup(weight: u32) -> u32 {
    ((weight * 100 + 512) / 1024).clamp(1, 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nice_zero_is_a_hundred_and_the_ends_are_clamped() {
        assert_eq!(of_nice(0), 100);
        // 88761 * 100 / 1024 = 8668.06
        assert_eq!(of_nice(-20), 8668);
        // 15 * 100 / 1024 = 1.46
        assert_eq!(of_nice(19), 1);
        assert_eq!(of_nice(-99), of_nice(-20));
        assert_eq!(of_idle(), 1);
    }
}
