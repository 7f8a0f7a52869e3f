// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task above sched_ext has besides its class: its place in a queue, and its budget
//! (`struct sched_rt_entity`, `struct sched_dl_entity`).

use super::queue::Place;
use super::realtime::RR_SLICE_NS;

#[derive(Clone, Debug)]
pub(crate) struct Entity {
    /// Where it waits for its CPU.
    pub(crate) place: Option<Place>,
    /// Runnable: running, waiting or throttled.
    pub(crate) on_rq: bool,
    /// It goes behind its equals when it next gives up the CPU.
    pub(crate) to_tail: bool,
    /// What is left of its round-robin slice.
    pub(crate) rr_left_ns: u64,
    /// What is left of its reservation; below 0 if a tick noticed late.
    pub(crate) budget_ns: i64,
    /// When the current period's work is due; 0: no period has begun.
    pub(crate) deadline_at_ns: u64,
    /// Its budget is used up, and the next period has not come.
    pub(crate) throttled: bool,
    /// Since when it has had a job to do, of a task whose jobs are the periods of its reservation.
    pub(crate) job_from_ns: Option<u64>,
    /// Number of the armed replenishment; older ones are stale.
    pub(crate) timer: u64,
}

impl Default for Entity {
    fn default() -> Self {
        Self {
            place: None,
            on_rq: false,
            to_tail: false,
            rr_left_ns: RR_SLICE_NS,
            budget_ns: 0,
            deadline_at_ns: 0,
            throttled: false,
            job_from_ns: None,
            timer: 0,
        }
    }
}
