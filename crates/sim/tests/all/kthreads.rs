// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel threads of a workload are to a scheduler what they are in a kernel.

use crate::traced::plain_lines;

/// PF_KTHREAD and PF_NO_SETAFFINITY, the parent, and whether there is an mm.
const PROGRAMS: &str = r#"
SEC("tp_btf/sched_process_fork") int forked(u64 *ctx)
{
	const struct task_struct *p = TASK(1);

	say("flags", p->flags >> 20, p->nr_cpus_allowed, p->mm != NULL);
	say("parent", TASK(0)->pid, p->real_parent == TASK(0), p->tgid == p->pid);
	return 0;
}
SEC("tp_btf/task_newtask") int newtask(u64 *ctx)
{
	say("clone", ctx[1], 0, 0);
	return 0;
}
SEC("tp_btf/sched_process_exit") int exited(u64 *ctx)
{
	say("exit", TASK(0)->flags >> 20, TASK(0)->flags & 4, 0);
	return 0;
}
"#;

#[test]
fn flags_parent_and_mm_are_those_of_kernel_threads() {
    // On two CPUs: a kernel thread of both, one that is bound to CPU 1, and an ordinary task that
    // may use CPU 1 only, a child of the process that starts the workload.
    let load = r#"{"tasks": {
        "free": {"kthread": true, "loop": 1, "run": 1000},
        "bound": {"kthread": true, "cpus": [1], "loop": 1, "delay": 10000, "run": 1000},
        "user": {"cpus": [1], "loop": 1, "delay": 20000, "run": 1000}
    }}"#;
    let Some(lines) = plain_lines(PROGRAMS, 2, load) else { return };
    let expected = format!(
        "clone {clone} 0 0
flags {free} 2 0
parent 2 1 1
exit {free} 4 0
clone {clone} 0 0
flags {bound} 1 0
parent 2 1 1
exit {bound} 4 0
clone {fork} 0 0
flags 0 1 1
parent 1000 1 1
exit 0 4 0",
        clone = 0x0080_0700,
        fork = 0x0120_0000,
        free = 0x0020_0000 >> 20,
        bound = 0x0420_0000 >> 20,
    );
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
}
