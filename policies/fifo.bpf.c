/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * First come, first served.
 *
 * Tasks wait in one queue for all CPUs, in the order in which they became
 * runnable, and a task that got a CPU keeps it until it blocks, yields or
 * exits. A task that yields goes to the queue's end.
 *
 * Cost per decision: O(1), one queue operation.
 *
 * Where it is bad: as soon as one task computes for long, everybody behind it
 * waits that long. As many endless tasks as CPUs starve all others; a kernel
 * then ejects the policy (watchdog, 30 s). The one queue is a point of
 * contention on large machines. It shows what the others must beat on
 * switches and throughput of batch work, where nothing switches less.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

#define QUEUE 0

struct fifo_stats {
	u64 direct help_text("wakeups that found an idle CPU");
	u64 queued help_text("tasks that had to wait in the queue");
};

struct fifo_stats stats;

s32 BPF_STRUCT_OPS(fifo_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	/* An idle CPU means that nobody who could use it waits: the order holds. */
	if (is_idle) {
		__sync_fetch_and_add(&stats.direct, 1);
		dsq_insert(p, DSQ_LOCAL, SLICE_INF, ENQ_NONE);
	}
	return cpu;
}

void BPF_STRUCT_OPS(fifo_enqueue, struct task_struct *p, u64 enq_flags)
{
	__sync_fetch_and_add(&stats.queued, 1);
	dsq_insert(p, QUEUE, SLICE_INF, enq_flags);
	kick_idle_cpu_for(p);
}

void BPF_STRUCT_OPS(fifo_dispatch, s32 cpu, struct task_struct *prev)
{
	if (dsq_move_to_local(QUEUE))
		return;
	/* Nobody else waits: a task that yielded goes on, without a time limit. */
	if (prev && is_runnable(prev))
		task_set_slice(prev, SLICE_INF);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(fifo_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(fifo_ops)
help_text("First come, first served: a task runs until it blocks") = {
	.select_cpu = (void *)fifo_select_cpu,
	.enqueue = (void *)fifo_enqueue,
	.dispatch = (void *)fifo_dispatch,
	.init = (void *)fifo_init,
	.exit = (void *)record_exit,
	.name = "fifo",
};
