// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that a loader runs before it attaches its scheduler: there is none yet, for which
//! kernel functions could act (`scx_prog_sched()` of `kernel/sched/ext/internal.h`).

use crate::common::{compiled, scheduler};
use rota_machine::config::Config;
use rota_machine::topology::Topology;
use rota_manifest::{Run, Setup, Step};
use rota_sim::{Simulation, Watchers};
use std::sync::Arc;

const FUNCTIONS: &str = r#"
static long (*const bpf_trace_printk)(const char *fmt, u32 size, ...) = (void *)6;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern u32 scx_bpf_cpuperf_cap(s32 cpu) __ksym;
extern s32 scx_bpf_cpu_node(s32 cpu) __ksym;
extern void scx_bpf_error_bstr(char *fmt, unsigned long long *data, u32 size) __ksym;
#define say(text, a, b, c)                                                  \
	({                                                                  \
		static const char fmt[] = text " %d %d %d";                 \
		bpf_trace_printk(fmt, sizeof(fmt), (long)(a), (long)(b), (long)(c)); \
	})
u64 kept;
static char no[] = "no";
SEC("syscall") int prepare(void *ctx)
{
	kept = 7;
	say("queues", scx_bpf_create_dsq(3, -1), scx_bpf_create_dsq(3, 99),
	    scx_bpf_dsq_nr_queued(3));
	say("cpus", scx_bpf_cpuperf_cap(99), scx_bpf_cpu_node(0), scx_bpf_nr_cpu_ids());
	scx_bpf_kick_cpu(99, 0);
	scx_bpf_error_bstr(no, 0, 0);
	return 0;
}
s32 BPF_STRUCT_OPS_SLEEPABLE(init)
{
	say("init", kept, scx_bpf_create_dsq(3, -1), scx_bpf_dsq_nr_queued(3));
	return 0;
}
"#;

#[test]
fn their_effects_on_maps_stay_and_there_is_no_scheduler() {
    let text = scheduler("sched_ext_ops", FUNCTIONS, ".init = (void *)init,");
    let Some(policy) = compiled(&text) else { return };
    let load = Arc::new(
        rota_workload::parse("load.json", r#"{"tasks": {"t": {"run": 9}}}"#).expect("legal"),
    );
    let config = Config::new(Topology::flat(2).expect("CPUs"), 1_000_000);
    let run = Run { program: "prepare".into(), ..Run::default() };
    let setup = Setup { steps: vec![Step::Run(run)], ..Setup::default() };
    let simulation = Simulation::new(&policy, &load, config).with_setup(&setup);
    let outcome = simulation.measure(Watchers::default()).expect("a run").outcome;
    // -ENODEV; -EINVAL, as the node is looked at before; SCX_CPUPERF_ONE and NUMA_NO_NODE. An
    // error, a kick of no CPU: of no scheduler.
    let expected = ["queues -19 -22 -19", "cpus 1024 -1 2", "init 7 0 0"];
    assert_eq!(outcome.printed, expected);
    assert!(!outcome.exit.kind.is_error(), "{}", outcome.exit);
}
