// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel objects that a scheduler reads behind a task: what the machine fills has the kernel's
//! value, and every other field is reported by its name.

use crate::common::{compiled, scheduler};
use rota_machine::config::Config;
use rota_machine::topology::Topology;
use rota_sim::{Loaded, Simulation};
use rota_trace::Tee;
use std::sync::Arc;

/// A run of one task in the cgroup `/web/api`, and the fields that were read unfilled.
fn read(functions: &str, members: &str) -> Option<(Loaded, Vec<String>)> {
    let load = r#"{"tasks": {"t": {"taskgroup": "/web/api", "run": 1000, "sleep": 1000}}}"#;
    read_of(load, functions, members)
}

/// As [`read`], of another workload.
fn read_of(load: &str, functions: &str, members: &str) -> Option<(Loaded, Vec<String>)> {
    let policy = compiled(&scheduler("sched_ext_ops", functions, members))?;
    let load = Arc::new(rota_workload::parse("load.json", load).expect("legal"));
    let config = Config::new(Topology::flat(1).expect("a CPU"), 20_000_000);
    let mut loaded = Simulation::new(&policy, &load, config).load().expect("loads");
    let outcome = loaded.run(&mut Tee::new()).expect("a run");
    assert!(!outcome.exit.kind.is_error(), "{}", outcome.exit);
    let btf = &policy.image().kernel_btf;
    let name = |(of, offset, _): &(String, u32, u64)| {
        let ty = btf.find_struct(of).expect("a kernel type");
        format!("{of}.{}", btf.field_name_at(ty, *offset))
    };
    let unfilled = outcome.unfilled_reads.iter().map(name).collect();
    Some((loaded, unfilled))
}

/// The globals of a policy that counts in `seen` how often it looked, and read nothing unfilled.
fn seen_running(functions: &str) -> Option<impl FnMut(&str) -> u64> {
    let (mut loaded, unfilled) = read(functions, ".running = (void *)running,")?;
    assert_eq!(unfilled, [""; 0]);
    let mut number =
        move |path: &str| loaded.global(path).expect("is there").number.expect("a number") as u64;
    assert!(number("seen") > 1);
    Some(number)
}

#[test]
fn a_tick_gives_its_time_to_the_task_that_it_finds() {
    // account_process_tick() at 250 Hz: of 18 ms from the start, ticks at 4, 8, 12 and 16 ms
    let load = r#"{"tasks": {"t": {"loop": 1, "run": 18000}}}"#;
    let stopping =
        "u64 user, kernel;\nvoid BPF_STRUCT_OPS(stopping, struct task_struct *p, bool runnable)\n\
                    {\n\tuser = p->utime;\n\tkernel = p->stime;\n}\n";
    let members = ".stopping = (void *)stopping,";
    let Some((mut loaded, unfilled)) = read_of(load, stopping, members) else { return };
    assert_eq!(unfilled, [""; 0]);
    assert_eq!(loaded.global("user").expect("is there").number, Some(16_000_000));
    assert_eq!(loaded.global("kernel").expect("is there").number, Some(0));
}

const ENABLE: &str = ".enable = (void *)enable,";

fn enable(globals: &str, body: &str) -> String {
    format!("{globals}\nvoid BPF_STRUCT_OPS(enable, struct task_struct *p)\n{{\n{body}\n}}\n")
}

#[test]
fn a_cgroup_has_its_name_its_parents_and_its_ancestors() {
    // kernfs_create_root() and cgroup_create() name the nodes "", "web" and "api"; levels are 0,
    // 1, 2, and cgrp->ancestors[i] is the one of level i
    let source = enable(
        "static long (*bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;\n\
         char own[8], above[8], root[8];\nu64 level, first, second, same, of_group, up;",
        "\tstruct cgroup *c = p->cgroups->dfl_cgrp;\n\
         \tstruct cgroup *mid = c->ancestors[1], *top = c->ancestors[0];\n\
         \tbpf_probe_read_kernel_str(own, sizeof(own), c->kn->name);\n\
         \tbpf_probe_read_kernel_str(above, sizeof(above), mid->kn->name);\n\
         \tbpf_probe_read_kernel_str(root, sizeof(root), top->kn->name);\n\
         \tlevel = c->level;\n\tfirst = mid->level;\n\tsecond = c->ancestors[2]->level;\n\
         \tsame = c->ancestors[2] == c;\n\
         \tof_group = p->sched_task_group->css.cgroup == c;\n\
         \tup = p->sched_task_group->parent->parent->css.cgroup == top;",
    );
    let Some((mut loaded, unfilled)) = read(&source, ENABLE) else { return };
    assert_eq!(unfilled, [""; 0]);
    let text = |loaded: &mut Loaded, path| loaded.global(path).expect("is there").text;
    for (path, name) in [("own", "api"), ("above", "web"), ("root", "")] {
        assert_eq!(text(&mut loaded, path), name, "{path}");
    }
    for (path, value) in
        [("level", 2), ("first", 1), ("second", 2), ("same", 1), ("of_group", 1), ("up", 1)]
    {
        assert_eq!(loaded.global(path).expect("is there").number, Some(value), "{path}");
    }
}

#[test]
fn fields_that_nothing_fills_are_reported_by_name() {
    let source = enable(
        "volatile u64 sum;",
        "\tstruct cgroup *c = p->cgroups->dfl_cgrp;\n\
         \tsum += p->cgroups->nr_tasks;\n\
         \tsum += c->kn->flags;\n\
         \tsum += c->nr_descendants;\n\
         \tsum += p->mm->total_vm;",
    );
    let Some((_, unfilled)) = read(&source, ENABLE) else { return };
    let expected =
        ["cgroup.nr_descendants", "kernfs_node.flags", "css_set.nr_tasks", "mm_struct.total_vm"];
    let mut unfilled: Vec<_> = unfilled.iter().map(String::as_str).collect();
    let mut expected = expected.to_vec();
    unfilled.sort_unstable();
    expected.sort_unstable();
    assert_eq!(unfilled, expected);
}

#[test]
fn the_clock_of_load_averages_is_that_of_tasks() {
    // pelt.h, of a CPU with full capacity: clock_pelt advances with clock_task and is set to it
    // where the CPU idles, so that nothing is lost
    let functions = "u64 pelt, task, lost, seen;\n\
         struct rq *scx_bpf_cpu_rq(s32 cpu) __ksym;\n\
         void BPF_STRUCT_OPS(running, struct task_struct *p)\n{\n\
         \tstruct rq *rq = scx_bpf_cpu_rq(0);\n\tif (!rq)\n\t\treturn;\n\
         \tpelt = rq->clock_pelt;\n\ttask = rq->clock_task;\n\tlost = rq->lost_idle_time;\n\
         \tseen++;\n}\n";
    let Some(mut number) = seen_running(functions) else { return };
    assert_eq!(number("lost"), 0);
    assert!(number("task") > 0);
    assert_eq!(number("pelt"), number("task"));
}

#[test]
fn a_copy_of_a_task_goes_beyond_what_the_machine_keeps_of_it() {
    // The mask is the last that it keeps, with one word for one CPU; 512 bytes are more.
    let functions = "static long (*const probe)(void *, u32, const void *) = (void *)113;\n\
         u64 first, others, failed, seen;\nu64 copy[64];\n\
         void BPF_STRUCT_OPS(running, struct task_struct *p)\n{\n\tu32 n;\n\n\
         \tif (probe(copy, sizeof(copy), p->cpus_ptr))\n\t\tfailed++;\n\
         \tfirst = copy[0];\n\tfor (n = 1; n < 64; n++)\n\t\tothers |= copy[n];\n\
         \tseen++;\n}\n";
    let Some(mut number) = seen_running(functions) else { return };
    assert_eq!((number("failed"), number("others")), (0, 0));
    assert!(number("first") > 0);
}
