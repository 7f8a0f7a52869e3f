/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processor sharing [PBS §1], as near as time slices come to it: round robin with a quantum
 * that is tiny next to what tasks need. Of n tasks on a CPU each has 1/n of it at any time.
 *
 * It is what PBS with alpha = 1 does for tasks that came at the same time, in other code.
 *
 * - Tasks wait in one queue for all CPUs. The head runs for a quantum and goes to the end.
 * - A task that comes goes to the end. Weights and shares count for nothing.
 *
 * Cost per decision: O(1), two queue operations.
 *
 * Where it is bad: it switches all the time, so without --ideal most of a CPU can go into
 * switches. In a kernel, as in the simulator without --ideal, slices end at timer ticks, and it
 * is a round robin with a quantum of a tick; use rr there, which also takes the excess of a turn
 * off the next one, and evens out which task happens to be first on several CPUs.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "idle.bpf.h"

#define QUEUE 0

const volatile u64 quantum_ns help_text("time a task runs before the next decision") unit(ns)
range(1000, 100000000) = 100000;

struct ps_stats {
	u64 direct help_text("wakeups that found an idle CPU");
	u64 queued help_text("tasks that had to wait in the queue");
	u64 kept help_text("quanta given again to the same task: no task waited");
};

struct ps_stats stats;

s32 BPF_STRUCT_OPS(ps_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = find_idle_cpu(p, prev_cpu, wake_flags, &is_idle);

	/* An idle CPU means that no task that could use it waits: the order holds. */
	if (is_idle) {
		__sync_fetch_and_add(&stats.direct, 1);
		dsq_insert(p, DSQ_LOCAL, quantum_ns, ENQ_NONE);
	}
	return cpu;
}

void BPF_STRUCT_OPS(ps_enqueue, struct task_struct *p, u64 enq_flags)
{
	__sync_fetch_and_add(&stats.queued, 1);
	dsq_insert(p, QUEUE, quantum_ns, enq_flags);
	kick_idle_cpu_for(p);
}

/* @prev is enqueued, at the end, only after we return: the head is the right one to take. */
void BPF_STRUCT_OPS(ps_dispatch, s32 cpu, struct task_struct *prev)
{
	if (dsq_move_to_local(QUEUE))
		return;
	wake_idle_cpu_for_queue(QUEUE);
	if (!prev)
		look_again(cpu, false);
	if (!prev || !is_runnable(prev))
		return;
	__sync_fetch_and_add(&stats.kept, 1);
	task_set_slice(prev, quantum_ns);
}

void BPF_STRUCT_OPS(ps_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, scx_bpf_dsq_nr_queued(QUEUE));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(ps_init)
{
	forget_idle_marks();
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_HEED(ps_ops, "SMT, LLC, NUMA");
SCX_OPS_DEFINE(ps_ops)
help_text("Processor sharing: round robin with a tiny quantum") paper("PBS §1") = {
	.select_cpu = (void *)ps_select_cpu,
	.enqueue = (void *)ps_enqueue,
	.dispatch = (void *)ps_dispatch,
	.update_idle = (void *)ps_update_idle,
	.init = (void *)ps_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "ps",
};
