// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine's tests, in one program: each one more is linked for seconds.

mod cids;
mod classes;
mod common;
mod core_sched;
mod events;
mod group_lag;
mod hardware;
mod idle_rules;
mod invariants;
mod lifecycle;
mod locks_and_jobs;
mod nohz;
mod outside_laws;
mod requests;
mod requests_laws;
mod rules_begin_and_end;
mod rules_change;
mod rules_cpus;
mod rules_cpusets;
mod rules_dispatch;
mod rules_exit;
mod rules_hotplug;
mod rules_instant;
mod rules_kernel;
mod rules_meetings;
mod rules_outside;
mod rules_pinned;
mod rules_processes;
mod rules_queues;
mod rules_signals;
mod rules_spending;
mod rules_time;
mod subs;
mod wasted_idle;
mod wild_schedulers;
