// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a hosted object needs from whoever hosts it.

use crate::engine::Engine;
use crate::error::Fault;
use crate::memory::Memory;
use std::sync::Arc;

/// The kernel as guest code sees it. The simulated machine implements it;
/// tests implement a small one.
pub trait Host: Sized + 'static {
    /// The address space that guest code and host share.
    fn memory(&mut self) -> &mut Memory;
    /// Monotonic clock, `bpf_ktime_get_ns`.
    fn now_ns(&self) -> u64;
    /// CPU that the callback runs on.
    fn cpu(&self) -> u32;
    /// Number of possible CPUs: size of per-CPU maps.
    fn nr_cpus(&self) -> u32;
    /// Guest address of the current `task_struct` (0: none).
    fn current_task(&self) -> u64;
    /// `bpf_get_prandom_u32`, from the machine's one seeded generator.
    fn random_u32(&mut self) -> u32;
    /// `bpf_trace_printk` and friends.
    fn print(&mut self, text: &str);
    /// `bpf_timer_start`: run the timer identified by its guest address at `at_ns`
    /// (absolute, [`Host::now_ns`] clock) on `cpu` (`None`: any). A started timer is moved.
    fn timer_start(&mut self, timer: u64, at_ns: u64, cpu: Option<u32>);
    /// `bpf_timer_cancel`: true if it was pending.
    fn timer_cancel(&mut self, timer: u64) -> bool;
    /// Address of a kernel variable, asked once per [`rota_object::image::Image::ksyms`] entry.
    fn ksym(&mut self, name: &str) -> Option<u64>;
    /// `bpf_per_cpu_ptr(addr, cpu)` for a kernel per-CPU variable; 0 if cpu is out of range.
    fn per_cpu_ptr(&mut self, addr: u64, cpu: u32) -> u64;
    /// `bpf_get_numa_node_id`: NUMA node of the current CPU.
    fn numa_node(&self) -> u32 {
        0
    }
    /// `bpf_jiffies64`; at the usual 250 ticks per second unless the host says otherwise.
    fn jiffies(&self) -> u64 {
        self.now_ns() / 4_000_000
    }
    /// The cgroup whose `cgroup_subsys_state`/`cgroup` a task is in: guest address, for
    /// `bpf_get_current_cgroup_id`-like helpers (0: none).
    fn cgroup_of(&mut self, task: u64) -> u64;
    /// A ring buffer has another record, of which user space is to be told.
    fn ring_has_news(&mut self) {}
    /// The hosted code calls a helper or kernel function from here, a place that
    /// [`Runtime::place`](crate::runtime::Runtime::place) names.
    #[inline]
    fn calls_from(&mut self, site: u32) {
        let _ = site;
    }
    /// What compiles code that is to run faster than the interpreter runs it; asked once per instance.
    fn engine(&self) -> Option<Arc<dyn Engine>> {
        None
    }
    /// Whether nothing is attached for which kernel functions could act.
    #[inline]
    fn is_bare(&self) -> bool {
        false
    }
    /// May a kernel function that is limited to these [contexts](crate::table::Kfunc::contexts) be called now?
    fn may_call(&self, contexts: u32, name: &str) -> Result<(), Fault>;
}
