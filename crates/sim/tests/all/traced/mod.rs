// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers with tracing programs, and what these print.

use crate::common::{compiled, scheduler};
use rota_machine::config::{Config, Costs};
use rota_machine::topology::Topology;
use rota_sim::{Measured, Policy, Simulation, Watchers};
use std::sync::Arc;

/// What the programs need: a line with up to three numbers, and the current task.
const PRELUDE: &str = r#"
static long (*const bpf_trace_printk)(const char *fmt, u32 size, ...) = (void *)6;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;
#define say(text, a, b, c)                                                  \
	({                                                                  \
		static const char fmt[] = text " %d %d %d";                 \
		bpf_trace_printk(fmt, sizeof(fmt), (long)(a), (long)(b), (long)(c)); \
	})
#define me() ((u32)bpf_get_current_pid_tgid())
#define TASK(n) ((struct task_struct *)ctx[n])
"#;

/// Callbacks that say so: a queue of their own, first in, first out.
const CALLBACKS: &str = r#"
void BPF_STRUCT_OPS(enqueue, struct task_struct *p, u64 enq_flags)
{
	say("ops.enqueue", p->pid, me(), 0);
	dsq_insert(p, 7, 1000000000, enq_flags);
}
void BPF_STRUCT_OPS(dispatch, s32 cpu, struct task_struct *prev)
{
	dsq_move_to_local(7);
}
void BPF_STRUCT_OPS(running, struct task_struct *p)
{
	say("ops.running", p->pid, me(), 0);
}
void BPF_STRUCT_OPS(stopping, struct task_struct *p, bool runnable)
{
	say("ops.stopping", p->pid, me(), runnable);
}
void BPF_STRUCT_OPS(quiescent, struct task_struct *p, u64 deq_flags)
{
	say("ops.quiescent", p->pid, me(), 0);
}
void BPF_STRUCT_OPS(enable, struct task_struct *p)
{
	say("ops.enable", p->pid, 0, 0);
}
void BPF_STRUCT_OPS(disable, struct task_struct *p)
{
	say("ops.disable", p->pid, 0, 0);
}
s32 BPF_STRUCT_OPS_SLEEPABLE(init)
{
	say("ops.init", 0, 0, 0);
	return scx_bpf_create_dsq(7, -1);
}
"#;

const MEMBERS: &str = ".enqueue = (void *)enqueue, .dispatch = (void *)dispatch, \
    .running = (void *)running, .stopping = (void *)stopping, .quiescent = (void *)quiescent, \
    .enable = (void *)enable, .disable = (void *)disable, .init = (void *)init,";

fn policy(programs: &str) -> Option<Policy> {
    compiled(&scheduler("sched_ext_ops", &format!("{PRELUDE}{CALLBACKS}{programs}"), MEMBERS))
}

/// Runs a workload without overheads for a second.
pub(crate) fn run(policy: &Policy, cpus: u32, load: &str) -> Measured {
    let load = Arc::new(rota_workload::parse("load.json", load).expect("legal"));
    let topology = Topology::flat(cpus).expect("CPUs");
    let config = Config::new(topology, 1_000_000_000);
    let config = Config { costs: Costs::none(), exact_slices: true, ..config };
    Simulation::new(policy, &load, config).measure(Watchers::default()).expect("a run")
}

/// What was printed, the whole run long.
pub(crate) fn lines(programs: &str, cpus: u32, load: &str) -> Option<Vec<String>> {
    let measured = run(&policy(programs)?, cpus, load);
    let exit = measured.outcome.exit.to_string();
    assert!(!exit.contains("error"), "{exit}");
    Some(measured.outcome.printed)
}

/// A scheduler without callbacks, with programs.
pub(crate) fn plain(programs: &str) -> Option<Policy> {
    compiled(&scheduler("sched_ext_ops", &format!("{PRELUDE}{programs}"), ""))
}

pub(crate) fn plain_lines(programs: &str, cpus: u32, load: &str) -> Option<Vec<String>> {
    Some(run(&plain(programs)?, cpus, load).outcome.printed)
}

/// Why a scheduler with these programs cannot be attached.
pub(crate) fn refused(programs: &str) -> Option<String> {
    let policy = plain(programs)?;
    let load = r#"{"tasks": {"t": {"loop": 1, "run": 1000}}}"#;
    let load = Arc::new(rota_workload::parse("load.json", load).expect("legal"));
    let config = Config::new(Topology::flat(1).expect("a CPU"), 1_000_000);
    let result = Simulation::new(&policy, &load, config).measure(Watchers::default());
    Some(result.expect_err("no kernel loads it").to_string())
}
