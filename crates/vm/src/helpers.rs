// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers: the calls with a fixed number that every BPF program may make.

mod control;
mod dynptr;
mod kptr;
mod map;
mod outside;
mod print;
mod probe;
mod queue;
mod ring;
mod storage;
mod task;
mod time;

pub use task::RETURNED;

use crate::engine::Simple;
use crate::host::Host;
use crate::table::{CallFn, Helper};

fn row<H: Host>(name: &'static str, cost: u32, run: CallFn<H>) -> Helper<H> {
    Helper { name, cost, run, simple: None }
}

/// One that compiled code does itself.
fn simple<H: Host>(name: &'static str, cost: u32, run: CallFn<H>, simple: Simple) -> Helper<H> {
    Helper { simple: Some(simple), ..row(name, cost, run) }
}

/// All helpers.
pub fn all<H: Host>() -> Vec<Helper<H>> {
    vec![
        row("map_lookup_elem", 25, map::lookup),
        row("map_update_elem", 80, map::update),
        row("map_delete_elem", 60, map::delete),
        row("probe_read", 30, probe::read_kernel),
        row("probe_read_kernel", 30, probe::read_kernel),
        simple("ktime_get_ns", 20, time::ktime, Simple::Clock),
        row("trace_printk", 500, print::trace_printk),
        row("get_prandom_u32", 10, task::random),
        simple("get_smp_processor_id", 1, task::cpu, Simple::Cpu),
        row("tail_call", 10, control::tail_call),
        row("get_current_pid_tgid", 4, task::pid_tgid),
        row("get_current_comm", 15, task::comm),
        row("get_current_task", 1, task::current),
        row("get_current_task_btf", 1, task::current),
        row("get_numa_node_id", 2, task::numa_node),
        row("probe_read_str", 60, probe::read_kernel_str),
        row("probe_read_kernel_str", 60, probe::read_kernel_str),
        row("get_current_cgroup_id", 10, task::cgroup_id),
        row("map_push_elem", 40, queue::push),
        row("map_pop_elem", 40, queue::pop),
        row("map_peek_elem", 40, queue::peek),
        simple("spin_lock", 10, control::spin_lock, Simple::Lock),
        simple("spin_unlock", 5, control::spin_unlock, Simple::Unlock),
        row("probe_read_user", 30, probe::read_user),
        row("probe_read_user_str", 30, probe::read_user),
        row("jiffies64", 2, time::jiffies),
        simple("ktime_get_boot_ns", 20, time::ktime, Simple::Clock),
        simple("ktime_get_coarse_ns", 20, time::ktime, Simple::Clock),
        simple("ktime_get_tai_ns", 20, time::ktime, Simple::Clock),
        row("ringbuf_output", 100, ring::output),
        row("ringbuf_reserve", 60, ring::reserve),
        row("ringbuf_submit", 30, ring::submit),
        row("ringbuf_discard", 30, ring::discard),
        row("ringbuf_query", 10, ring::query),
        row("per_cpu_ptr", 5, task::per_cpu_ptr),
        row("this_cpu_ptr", 3, task::this_cpu_ptr),
        simple("task_storage_get", 30, storage::task_get, Simple::Owned),
        row("task_storage_delete", 80, storage::delete),
        row("for_each_map_elem", 20, control::for_each_map_elem),
        row("snprintf", 300, print::snprintf),
        row("timer_init", 100, time::timer_init),
        row("timer_set_callback", 30, time::timer_set_callback),
        row("timer_start", 200, time::timer_start),
        row("timer_cancel", 100, time::timer_cancel),
        row("get_attach_cookie", 3, task::attach_cookie),
        row("trace_vprintk", 500, print::trace_vprintk),
        row("loop", 10, control::bpf_loop),
        row("strncmp", 30, probe::strncmp),
        row("kptr_xchg", 10, kptr::kptr_xchg),
        row("get_func_arg", 4, task::func_arg),
        row("get_func_ret", 4, task::func_ret),
        row("get_func_arg_cnt", 1, task::func_arg_cnt),
        simple("map_lookup_percpu_elem", 25, map::lookup_percpu, Simple::OfCpu),
        row("user_ringbuf_drain", 30, ring::user_drain),
        row("dynptr_read", 20, dynptr::read),
        row("dynptr_write", 20, dynptr::write),
        row("dynptr_data", 5, dynptr::data),
        simple("cgrp_storage_get", 30, storage::cgroup_get, Simple::Owned),
        row("cgrp_storage_delete", 80, storage::delete),
        row("perf_event_read", 20, outside::perf_event_read),
        row("perf_event_read_value", 30, outside::perf_event_read_value),
        row("perf_event_output", 30, outside::perf_event_output),
        row("current_task_under_cgroup", 10, outside::under_cgroup),
        row("get_stackid", 30, outside::get_stackid),
        row("get_stack", 30, outside::get_stack),
        row("get_task_stack", 30, outside::get_stack),
    ]
}
