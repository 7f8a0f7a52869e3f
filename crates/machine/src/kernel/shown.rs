// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `/sys/kernel/btf/vmlinux` of the simulated kernel shows.

use super::Kernel;
use crate::kernel_objects::KSYMS;
use crate::tracing::Place;
use rota_object::btf::{Btf, Extended, Kind, TypeId};

/// Tracepoints of `include/trace/events/` that every kernel since 6.12 has, and the machine does not
/// pass: of sched.h, task.h, cgroup.h, irq.h, timer.h, power.h, signal.h and block.h. A program at
/// one of them loads, and is never called.
const NEVER_PASSED: &[&str] = &[
    "sched_kthread_stop",
    "sched_kthread_stop_ret",
    "sched_process_free",
    "sched_process_wait",
    "sched_process_exec",
    "sched_prepare_exec",
    "sched_pi_setprio",
    "sched_move_numa",
    "sched_stick_numa",
    "sched_swap_numa",
    "sched_wake_idle_without_ipi",
    "sched_stat_runtime",
    "pelt_cfs_tp",
    "pelt_rt_tp",
    "pelt_dl_tp",
    "pelt_irq_tp",
    "pelt_se_tp",
    "sched_cpu_capacity_tp",
    "sched_overutilized_tp",
    "sched_util_est_cfs_tp",
    "sched_util_est_se_tp",
    "sched_update_nr_running_tp",
    "task_rename",
    "cgroup_setup_root",
    "cgroup_destroy_root",
    "cgroup_remount",
    "cgroup_release",
    "cgroup_rename",
    "cgroup_freeze",
    "cgroup_unfreeze",
    "cgroup_transfer_tasks",
    "cgroup_notify_populated",
    "cgroup_notify_frozen",
    "irq_handler_entry",
    "irq_handler_exit",
    "softirq_entry",
    "softirq_exit",
    "softirq_raise",
    "timer_start",
    "timer_expire_entry",
    "timer_expire_exit",
    "timer_cancel",
    "hrtimer_start",
    "hrtimer_expire_entry",
    "hrtimer_expire_exit",
    "hrtimer_cancel",
    "cpu_idle",
    "cpu_frequency",
    "signal_generate",
    "signal_deliver",
    "block_rq_insert",
    "block_rq_issue",
    "block_rq_complete",
];

impl Kernel {
    /// Its types, with all that loaders look up by name: variables
    /// ([`has_ksym()`](rota_object::link::Kernel::has_ksym)), tracepoints and functions that the
    /// machine passes. The bundled types lack some. Ids are those of [`Kernel::btf`].
    pub fn shown_btf(&self) -> Btf {
        let btf = &*self.btf;
        let mut shown = btf.extend();
        for name in KSYMS.iter().filter(|name| btf.find(Kind::Var, name).is_none()) {
            let ty = variable_type(btf, &mut shown, name);
            shown.variable(name, ty);
        }
        for place in Place::ALL {
            let name = place.name();
            if !place.is_tracepoint() && btf.find(Kind::Func, name).is_none() {
                shown.function(name, place.arguments() as u32);
            }
        }
        let passed = Place::ALL.iter().filter(|place| place.is_tracepoint()).map(|p| p.name());
        for name in passed.chain(NEVER_PASSED.iter().copied()) {
            if btf.find(Kind::Typedef, &format!("btf_trace_{name}")).is_none() {
                shown.tracepoint(name);
            }
        }
        shown.finish()
    }
}

/// The type of a variable in `kernel/sched/`, `kernel/cgroup/` and `drivers/cpufreq/`.
fn variable_type(btf: &Btf, shown: &mut Extended<'_>, name: &str) -> TypeId {
    let mut structure = |tag: &str| btf.find_struct(tag).unwrap_or_else(|| shown.declaration(tag));
    match name {
        "runqueues" => structure("rq"),
        "kernel_cpustat" | "kernel_stat" => structure(name),
        "cpufreq_cpu_data" => {
            let policy = structure("cpufreq_policy");
            shown.pointer(policy)
        }
        // sd_llc_id, sd_llc_size
        _ => btf.find(Kind::Int, "int").unwrap_or(rota_object::btf::VOID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kfuncs::table;
    use rota_object::btf::Bundled;
    use rota_object::link::Kernel as _;

    #[test]
    fn loaders_find_all_that_the_linker_says_there_is() {
        for kernel in Bundled::all().iter().map(Kernel::of_bundled) {
            let shown = kernel.shown_btf();
            for name in table().kfunc_names().filter(|name| kernel.kfunc(name).is_some()) {
                assert!(shown.find(Kind::Func, name).is_some(), "{}: {name}", kernel.release());
            }
            for name in KSYMS {
                let found = shown.find(Kind::Var, name).map(|id| shown.size_of(id));
                assert!(matches!(found, Some(Some(_))), "{}: {name}", kernel.release());
            }
            let wrapper = shown.find_struct("bpf_struct_ops_sched_ext_ops");
            let data = wrapper.and_then(|id| shown.field_at(id, "data").ok());
            // at a multiple of a cache line (`struct bpf_struct_ops_value`)
            assert_eq!(data.map(|field| field.offset()), Some(64), "{}", kernel.release());
        }
    }

    #[test]
    fn tracepoints_are_there_whether_the_machine_passes_them_or_not() {
        let shown = Kernel::default().shown_btf();
        for name in ["sched_switch", "task_rename"] {
            let id = shown.find(Kind::Typedef, &format!("btf_trace_{name}"));
            assert!(id.is_some_and(|id| shown.func_proto(id).is_some()), "{name}");
        }
        assert!(NEVER_PASSED.iter().all(|name| Place::of(name, true).is_none()));
    }

    #[test]
    fn types_that_were_there_keep_their_ids() {
        let kernel = Kernel::default();
        let shown = kernel.shown_btf();
        assert!(shown.len() > kernel.btf().len() && shown.is_reduced());
        for id in kernel.btf().ids() {
            assert_eq!(shown.name(id), kernel.btf().name(id));
            assert_eq!(shown.kind(id), kernel.btf().kind(id));
        }
    }
}
