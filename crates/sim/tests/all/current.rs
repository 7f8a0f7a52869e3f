// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which task is current in each callback: where the kernel runs it. A scheduler prints the name of
//! the current task with each; what is expected is read off `kernel/sched/ext/ext.c`, `core.c` and
//! `kernel/fork.c`.

use crate::common::{compiled, scheduler};
use rota_machine::config::{Config, Costs};
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_manifest::{Run, Setup, Step};
use rota_sim::{Policy, Simulation, Watchers};
use std::sync::Arc;

/// Each callback prints its name and the name of the current task.
const FUNCTIONS: &str = r#"
static long (*const bpf_trace_printk)(const char *fmt, u32 size, ...) = (void *)6;
static long (*const bpf_get_current_comm)(void *buf, u32 size) = (void *)16;
#define say(text)                                                  \
	({                                                         \
		static const char fmt[] = text " %s";              \
		char comm[16] = {};                                \
		bpf_get_current_comm(comm, sizeof(comm));          \
		bpf_trace_printk(fmt, sizeof(fmt), comm);          \
	})
#define ABOUT_TASK(name)                                           \
	void BPF_STRUCT_OPS(name, struct task_struct *p) { say(#name); }
#define ABOUT_CGROUP(name)                                         \
	void BPF_STRUCT_OPS_SLEEPABLE(name, struct cgroup *cgrp) { say(#name); }
SEC("syscall") int prepare(void *ctx) { say("prepare"); return 0; }
s32 BPF_STRUCT_OPS_SLEEPABLE(init) { say("init"); return 0; }
s32 BPF_STRUCT_OPS_SLEEPABLE(init_task, struct task_struct *p, void *args)
{ say("init_task"); return 0; }
s32 BPF_STRUCT_OPS_SLEEPABLE(cgroup_init, struct cgroup *cgrp, void *args)
{ say("cgroup_init"); return 0; }
ABOUT_CGROUP(cgroup_exit)
ABOUT_TASK(enable)
ABOUT_TASK(disable)
void BPF_STRUCT_OPS(exit_task, struct task_struct *p, void *args) { say("exit_task"); }
void BPF_STRUCT_OPS(set_weight, struct task_struct *p, u32 weight) { say("set_weight"); }
void BPF_STRUCT_OPS_SLEEPABLE(cpu_offline, s32 cpu) { say("cpu_offline"); }
void BPF_STRUCT_OPS_SLEEPABLE(cpu_online, s32 cpu) { say("cpu_online"); }
s32 BPF_STRUCT_OPS(select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{ say("select_cpu"); return prev_cpu; }
void BPF_STRUCT_OPS(running, struct task_struct *p) { say("running"); }
void BPF_STRUCT_OPS_SLEEPABLE(exit, void *info) { say("exit"); }
"#;

const MEMBERS: &str = ".init = (void *)init, .init_task = (void *)init_task, \
    .cgroup_init = (void *)cgroup_init, .cgroup_exit = (void *)cgroup_exit, \
    .enable = (void *)enable, .disable = (void *)disable, .exit_task = (void *)exit_task, \
    .set_weight = (void *)set_weight, .cpu_offline = (void *)cpu_offline, \
    .cpu_online = (void *)cpu_online, .select_cpu = (void *)select_cpu, \
    .running = (void *)running, .exit = (void *)exit,";

fn printed(load: &str, cpus: u32) -> Option<Vec<String>> {
    let policy = compiled(&scheduler("sched_ext_ops", FUNCTIONS, MEMBERS))?;
    let eevdf = rota_catalog::find("eevdf").expect("ships").object;
    let eevdf = Policy::link("eevdf", eevdf, &Kernel::default()).expect("links");
    let load = Arc::new(rota_workload::parse("load.json", load).expect("legal"));
    let config = Config::new(Topology::flat(cpus).expect("CPUs"), 20_000_000);
    let config = Config { costs: Costs::none(), exact_slices: true, ..config };
    let run = Run { program: "prepare".into(), ..Run::default() };
    let setup = Setup { steps: vec![Step::Run(run)], ..Setup::default() };
    let simulation = Simulation::new(&policy, &load, config).with_setup(&setup).with_fair(&eevdf);
    let outcome = simulation.measure(Watchers::default()).expect("a run").outcome;
    assert!(!outcome.exit.kind.is_error(), "{}", outcome.exit);
    Some(outcome.printed)
}

#[test]
fn a_scheduler_comes_and_goes_on_threads_of_the_kernel() {
    // One task that is asleep both times. Names end after 15 bytes.
    let load = r#"{"tasks": {"t": {"run": 1, "sleep": 100000}}, "events": [
        {"at": "5ms", "scheduler": "load"}, {"at": "9ms", "scheduler": "unload"}]}"#;
    let Some(lines) = printed(load, 1) else { return };
    let expected = "prepare loader
init scx_enable_help
cgroup_init scx_enable_help
init_task scx_enable_help
enable scx_enable_help
set_weight scx_enable_help
cgroup_exit sched_ext_helpe
disable sched_ext_helpe
exit_task sched_ext_helpe
exit sched_ext_helpe";
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
}

#[test]
fn what_happens_from_outside_is_done_by_another_process_and_threads_of_the_kernel() {
    // A parent forks a child that ends at once: it is gone when the next task of its CPU, the idle
    // one, is current. Then another process changes the child's parent, makes and removes a group,
    // and takes a CPU away. A timer wakes the parent while its CPU idles.
    let load = r#"{"tasks": {
            "t": {"loop": 1, "run1": 1000, "fork": "c", "sleep": 5000, "run2": 1},
            "c": {"instance": 0, "loop": 1, "run": 0}},
        "events": [
            {"at": "2ms", "task": "t", "nice": 5},
            {"at": "3ms", "cgroup": "/g", "create": true},
            {"at": "4ms", "cgroup": "/g", "destroy": true},
            {"at": "8ms", "cpu": 1, "online": false},
            {"at": "9ms", "cpu": 1, "online": true}]}"#;
    let Some(lines) = printed(load, 2) else { return };
    let expected = "prepare loader
init scx_enable_help
cgroup_init scx_enable_help
init_task loader
enable loader
set_weight loader
select_cpu loader
running swapper/0
init_task t-0
enable t-0
set_weight t-0
select_cpu t-0";
    assert_eq!(lines[..12], expected.lines().collect::<Vec<_>>());
    let later = |name: &str| {
        let mut of = lines[12..].iter().filter_map(|line| line.strip_prefix(name));
        of.next().map(|current| current.trim().to_owned())
    };
    let expected = [
        ("set_weight", "loader"),
        ("cgroup_init", "loader"),
        ("cgroup_exit", "kworker/0:1"),
        ("select_cpu", "swapper/0"),
        ("exit_task", "swapper/0"),
        ("cpu_offline", "cpuhp/1"),
        ("cpu_online", "cpuhp/1"),
    ];
    for (callback, current) in expected {
        assert_eq!(later(callback).as_deref(), Some(current), "ops.{callback}() of {lines:#?}");
    }
}
