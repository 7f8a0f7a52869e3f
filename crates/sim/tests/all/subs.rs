// SPDX-License-Identifier: MIT OR Apache-2.0
//! An object as the scheduler of all and as that of a cgroup (`scx_sub_enable_workfn()`).

use crate::common::{compiled, scheduler};
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::topology::Topology;
use rota_manifest::Setup;
use rota_sim::{Simulation, Watchers};
use std::sync::Arc;

/// A queue of its own, then that of the scheduler below.
const FUNCTIONS: &str = r#"
extern bool scx_bpf_sub_dispatch(u64 cgroup_id) __ksym;
u64 child;
s32 BPF_STRUCT_OPS_SLEEPABLE(odd_init)
{
	return scx_bpf_create_dsq(5, -1);
}
void BPF_STRUCT_OPS(odd_enqueue, struct task_struct *p, u64 enq_flags)
{
	dsq_insert(p, 5, 5000000, enq_flags);
}
void BPF_STRUCT_OPS(odd_dispatch, s32 cid, struct task_struct *prev)
{
	if (!dsq_move_to_local(5) && child)
		scx_bpf_sub_dispatch(child);
}
s32 BPF_STRUCT_OPS_SLEEPABLE(odd_sub_attach, struct scx_sub_attach_args *args)
{
	child = args->ops->sub_cgroup_id;
	return 0;
}
void BPF_STRUCT_OPS_SLEEPABLE(odd_sub_detach, struct scx_sub_detach_args *args)
{
	child = 0;
}
"#;

const MEMBERS: &str = ".init = (void *)odd_init, .enqueue = (void *)odd_enqueue, \
    .dispatch = (void *)odd_dispatch, .sub_attach = (void *)odd_sub_attach, \
    .sub_detach = (void *)odd_sub_detach,";

#[test]
fn an_object_hosts_another_instance_of_itself() {
    let text = scheduler("sched_ext_ops_cid", FUNCTIONS, MEMBERS);
    let Some(policy) = compiled(&text) else { return };
    let load = r#"{"tasks": {"a": {"run": 1000, "sleep": 9000},
        "b": {"taskgroup": "/web", "instance": 2, "run": 1000000}},
        "events": [{"at": "100ms", "cgroup": "/web", "scheduler": "load"},
            {"at": "200ms", "cgroup": "/web", "scheduler": "unload"}]}"#;
    let load = Arc::new(rota_workload::parse("load.json", load).unwrap());
    let mut config = Config::new(Topology::flat(1).unwrap(), 300_000_000).ideal();
    config.audit = true;
    let simulation =
        Simulation::new(&policy, &load, config).with_sub("/web", &policy, &Setup::default());
    let measured = simulation.measure(Watchers::default()).unwrap();
    let outcome = measured.outcome;
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let gone: Vec<_> = outcome.sub_exits.iter().map(|e| (e.at_ns, e.exit.kind)).collect();
    assert_eq!(gone, [(200_000_000, ExitKind::Unreg)]);
    assert!(outcome.outside.is_empty(), "{:?}", outcome.outside);
    // a has its 1 ms of each 10 and a wait of one slice or two; all else is b's
    assert_eq!(measured.numbers.totals.idle_ns, 0);
    let cpu_ns = |at: usize| measured.numbers.tasks[at].cpu_ns;
    assert_eq!(cpu_ns(0) + cpu_ns(1) + cpu_ns(2), 300_000_000);
    assert!(cpu_ns(1).abs_diff(cpu_ns(2)) <= 15_000_000, "{} {}", cpu_ns(1), cpu_ns(2));
}
