// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a machine had besides on which a kernel was recorded: only a comparison with that recording
//! needs it.

use crate::interruption::Interruption;

/// The circumstances of a recorded run. Each field's default is what a machine has of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lab {
    /// Whether the time of a tick's interrupt is charged to the task that it interrupts, as where
    /// the kernel does not account interrupts (`CONFIG_IRQ_TIME_ACCOUNTING`, a stable clock).
    pub ticks_are_charged: bool,
    /// Whether the tasks of the workload were there before the run, and are woken when they start,
    /// as by a timer; else each is made then (`wake_up_new_task()`).
    pub starts_are_wakeups: bool,
    /// Whether tasks that come at one instant come in the order of the workload however ties are
    /// broken, as where one CPU has all their timers; else that order is a choice, too.
    pub starts_keep_order: bool,
    /// How long the first CPU is in the interrupt in which the run begins, in nanoseconds: whomever
    /// it runs first is charged after that only.
    pub start_ns: u64,
    /// How long after one CPU the next one has its tick, in nanoseconds, as where emulated CPUs take
    /// turns, each of which does all that its tick brings before the next one does anything. Which
    /// begins is a choice where ties are, else the first. 0: all have it at once.
    pub tick_turn_ns: u64,
    /// How long before its end, in nanoseconds, a task is taken out and put back, and its CPU decides
    /// anew, as since Linux 6.14, with `CONFIG_SCHED_AUTOGROUP` (`sched_autogroup_exit_task()`). Not
    /// before the end begins ([`Costs::exit_ns`](crate::config::Costs::exit_ns)); where that takes no
    /// time nothing can come of it. `None`: never.
    pub moves_at_exit_ns: Option<u64>,
    /// Whether every policy is asked where a task goes that ends, as by `SCX_OPS_ENQ_EXITING`. The
    /// fair class treats it as any other.
    pub enq_exiting: bool,
    /// When CPUs belong to others than sched_ext.
    pub interruptions: Vec<Interruption>,
}

/// Of a machine that is compared with none.
pub(crate) static NONE: Lab = Lab {
    ticks_are_charged: false,
    starts_are_wakeups: false,
    starts_keep_order: false,
    start_ns: 0,
    tick_turn_ns: 0,
    moves_at_exit_ns: None,
    enq_exiting: false,
    interruptions: Vec::new(),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_compared_with_none_has_the_defaults() {
        assert_eq!(NONE, Lab::default());
    }
}
