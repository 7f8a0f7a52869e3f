// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers: the calls with a fixed number that every BPF program may make.
//!
//! A helper has the signature of a kernel function. Its cost, in instructions, models
//! what the kernel does for it; calls that the kernel's JIT inlines cost what it emits.

mod control;
mod kptr;

mod map;
mod names;
mod print;
mod probe;
mod queue;
mod ring;
mod storage;
mod task;
mod time;

pub(crate) use names::name;

use crate::host::Host;
use crate::interpreter::program::Callee;

/// The helper with a number, if it exists here.
pub(crate) fn find<H: Host>(id: i32) -> Option<Callee<H>> {
    let (run, cost): (crate::host::KfuncFn<H>, u32) = match id {
        1 => (map::lookup, 25),
        2 => (map::update, 80),
        3 => (map::delete, 60),
        4 | 113 => (probe::read_kernel, 30),
        5 => (time::ktime, 20),
        6 => (print::trace_printk, 500),
        7 => (task::random, 10),
        8 => (task::cpu, 1),
        12 => (control::tail_call, 10),
        14 => (task::pid_tgid, 4),
        16 => (task::comm, 15),
        35 | 158 => (task::current, 1),
        42 => (task::numa_node, 2),
        45 | 115 => (probe::read_kernel_str, 60),
        80 => (task::cgroup_id, 10),
        87 => (queue::push, 40),
        88 => (queue::pop, 40),
        89 => (queue::peek, 40),
        93 => (control::spin_lock, 10),
        94 => (control::spin_unlock, 5),
        112 | 114 => (probe::read_user, 30),
        118 => (time::jiffies, 2),
        125 | 160 | 208 => (time::ktime, 20),
        130 => (ring::output, 100),
        131 => (ring::reserve, 60),
        132 => (ring::submit, 30),
        133 => (ring::discard, 30),
        134 => (ring::query, 10),
        153 => (task::per_cpu_ptr, 5),
        154 => (task::this_cpu_ptr, 3),
        156 => (storage::task_get, 30),
        157 => (storage::delete, 80),
        164 => (control::for_each_map_elem, 20),
        165 => (print::snprintf, 300),
        169 => (time::timer_init, 100),
        170 => (time::timer_set_callback, 30),
        171 => (time::timer_start, 200),
        172 => (time::timer_cancel, 100),
        174 => (task::attach_cookie, 3),
        177 => (print::trace_vprintk, 500),
        181 => (control::bpf_loop, 10),
        182 => (probe::strncmp, 30),
        194 => (kptr::kptr_xchg, 10),
        195 => (map::lookup_percpu, 25),
        209 => (ring::user_drain, 30),
        210 => (storage::cgroup_get, 30),
        211 => (storage::delete, 80),
        _ => return None,
    };
    Some(Callee { run, cost, limit: None })
}
