// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated computer: a clock, CPUs, tasks and dispatch queues, with the rules of
//! sched_ext as `kernel/sched/ext/` of Linux 7.2 has them.
//!
//! [`run::Machine`] runs a workload under anything that implements [`ops::Ops`]; hosted
//! BPF objects do so through [`policy::BpfOps`].

mod affinity;
mod arm;
pub mod attach;
mod audit;
mod cgroup;
mod choice;
mod class;
pub mod config;
pub mod consts;
mod contexts;
mod core_sched;
mod cpu_times;
pub mod cpuset;
mod cpusets;
mod current;
mod dsq;
mod dump;
mod event_queue;
pub mod exit;
mod ext;
mod guest;
pub mod hardware;
mod host;
mod hosted;
mod identity;
mod instant;
pub mod interruption;
pub mod kernel;
mod kernel_objects;
pub mod kfuncs;
pub mod lab;
mod layout;
mod list;
mod loans;
mod migration;
pub mod native;
mod news;
mod nohz;
pub mod ops;
mod outcome;
pub mod outside;
mod pace;
pub mod policy;
mod quiet;
mod requests;
mod rq;
pub mod run;
mod running;
mod sched;
mod sched_info;
mod setup;
mod sockets;
mod spending;
pub mod stage;
pub mod stats;
mod steps;
pub mod subs;
pub mod system;
pub mod task;
mod tasks;
mod timers;
mod told;
pub mod topology;
pub mod tracing;
mod uclamp;
pub mod user_half;
mod wakeup;
pub mod weight;
