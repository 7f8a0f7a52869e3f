// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where `eevdf` puts new tasks and those that wake up on machines with cores, caches and nodes, by
//! the rules of Linux 7.2 (kernel/sched/fair.c): CPUs derived by hand.

use crate::common::eevdf::{run_on, MS};
use crate::common::hosted::hogs;
use crate::common::Tape;

/// The CPUs on which so many endless tasks begin, that are made on CPU 0 one after the other.
fn first_cpus(topology: (u32, &str), tasks: usize) -> Vec<u32> {
    let tape = run_on(topology, &[], &hogs(&vec![100; tasks]), 3).1;
    (1001..1001 + tasks as u32).map(|pid| tape.starts(pid)[0].1).collect()
}

#[test]
fn new_tasks_get_a_core_each_and_then_the_siblings() {
    // A core with two idle CPUs is better than one with one. The first such core wins, and in it
    // the first CPU. When all cores have one idle CPU the own one is as good as others: so the
    // fifth is on the sibling of CPU 0, and the next ones on those of the other cores.
    // (update_pick_idlest, sched_balance_find_dst_group)
    let cpus = first_cpus((8, "smt=2,llc=8"), 8);
    assert_eq!(cpus, [0, 2, 4, 6, 1, 3, 5, 7]);
}

#[test]
fn new_tasks_alternate_between_small_nodes() {
    // A node of four CPUs may have one task more (4 / 8, at least 1). The first task stays. With
    // two the node would have more than that: the other node with more idle CPUs gets one. If both
    // have as many, the own one keeps it. (adjust_numa_imbalance)
    let cpus = first_cpus((8, "llc=4,node=4"), 8);
    assert_eq!(cpus, [0, 4, 1, 5, 2, 6, 3, 7]);
}

#[test]
fn two_new_tasks_stay_together_in_a_node_of_sixteen() {
    // 16 / 8: up to two tasks stay. The third leaves as 14 of 16 CPUs are idle here and all there,
    // the fourth as 14 are here and 15 there; the fifth stays. (allow_numa_imbalance)
    let cpus = first_cpus((32, "node=16"), 6);
    assert_eq!(cpus, [0, 1, 16, 17, 2, 18]);
}

#[test]
fn four_tasks_have_a_core_each_all_the_time() {
    // smt-four: each sleeps 3 of 8 ms, and wakes on the CPU where it was, which is idle, as that is
    // its alone. So no core ever has two of them.
    let load = r#"{"tasks": {"heavy": {"instance": 4, "run": 5000, "sleep": 3000}}}"#;
    let tape = run_on((8, "smt=2,llc=8"), &[], load, 2_000).1;
    let mut cores: Vec<Vec<u32>> = (1001..1005)
        .map(|pid| {
            let mut cores: Vec<u32> = tape.starts(pid).iter().map(|(_, cpu)| cpu / 2).collect();
            assert!(cores.len() > 200);
            cores.dedup();
            cores
        })
        .collect();
    cores.sort();
    assert_eq!(cores, [[0], [1], [2], [3]]);
}

/// Endless tasks on these CPUs; and w, which sleeps 10 ms on CPU 0 after 1 ms there, and then may
/// run on all eight. It starts again at this time, in ms, on this CPU.
fn woken(topology: &str, set: &[(&str, &str)], busy: &[u32]) -> (u64, u32) {
    let hogs: String = busy
        .iter()
        .map(|cpu| format!(r#""h{cpu}": {{"cpus": [{cpu}], "delay": 5000, "run": 1000000}}, "#))
        .collect();
    let load = format!(
        r#"{{"tasks": {{{hogs} "w": {{"loop": 1, "phases": {{
            "tied": {{"cpus": [0], "run": 1000}},
            "free": {{"cpus": [0, 1, 2, 3, 4, 5, 6, 7], "sleep": 10000, "run": 20000}}}}}}}}}}"#
    );
    let tape: Tape = run_on((8, topology), set, &load, 40).1;
    let starts = tape.starts(tape.pid(&format!("w-{}", busy.len())));
    let (ns, cpu) = *starts.iter().find(|(ns, _)| *ns > 2 * MS).expect("it wakes up");
    (ns / MS, cpu)
}

#[test]
fn a_task_that_wakes_up_prefers_an_idle_core_to_an_idle_sibling() {
    // CPU 0 is in use. CPU 1, 3 and 5 are idle, but their siblings are not; core 3 is idle.
    let smt = "smt=2,llc=8";
    assert_eq!(woken(smt, &[], &[0, 2, 4]), (11, 6));
    // In one domain the first idle CPU after 0 does.
    assert_eq!(woken(smt, &[("no_domains", "true")], &[0, 2, 4]), (11, 1));
    // If there is no idle core: CPU 1, the sibling of where it was. (select_idle_smt)
    assert_eq!(woken(smt, &[], &[0, 2, 4, 6]), (11, 1));
    // Nor an idle sibling: the next idle CPU, 3.
    assert_eq!(woken(smt, &[], &[0, 1, 2, 4, 6]), (11, 3));
}

#[test]
fn a_task_that_wakes_up_looks_at_the_cpus_of_its_cache_only() {
    assert_eq!(woken("llc=4", &[], &[0, 1, 3]), (11, 2));
    assert_eq!(woken("llc=4", &[("no_domains", "true")], &[0, 1, 2, 3]), (11, 4));
    // All four are in use: it comes into the queue of CPU 0 all the same, and as h0 has just had
    // its slice of 6 ms there, begins at once. (select_idle_sibling)
    assert_eq!(woken("llc=4", &[], &[0, 1, 2, 3]), (11, 0));
}
