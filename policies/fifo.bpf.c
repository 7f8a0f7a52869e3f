/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * First come, first served.
 *
 * Tasks wait in one queue for all CPUs, in the order in which they became
 * runnable, and a running task keeps its CPU until it blocks, yields or
 * exits. A task that yields goes to the queue's end.
 *
 * Kernel threads of one CPU do not queue: the whole machine waits for some of them (RCU,
 * CPU hotplug), and one endless task would keep them off for good. The kernel itself can
 * also send a task to a CPU that another task keeps: a task that exits, or one of a CPU that
 * goes offline. All of these run from the next timer tick on, and the preempted task is then the
 * first in the queue. At that tick an idle CPU is woken up too, should there be one while a
 * task waits that could use it.
 *
 * Cost per decision: O(1), one queue operation; and two reads of a queue's length
 * per timer tick.
 *
 * Where it is bad: as soon as one task computes for long, every task behind it
 * waits that long. As many endless tasks as CPUs starve all others, and one on each CPU
 * that a task may use starves that one; a kernel then ejects the policy (watchdog,
 * 30 s). The one queue is a point of contention on large machines. It shows what the
 * others must beat on switches and throughput of batch work, where nothing switches less.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "idle.bpf.h"

#define QUEUE	   0
#define MAX_CPUS   1024
#define ENQ_HEAD   kernel_value(scx_enq_flags, SCX_ENQ_HEAD)
#define ENQ_WAKEUP kernel_value(scx_enq_flags, SCX_ENQ_WAKEUP)
#define PF_KTHREAD 0x00200000

struct fifo_stats {
	u64 direct help_text("wakeups that found an idle CPU");
	u64 queued help_text("tasks that had to wait in the queue");
	u64 gave_way help_text("tasks that yielded to one of the kernel");
};

struct fifo_stats stats;
s32 gave_way[MAX_CPUS]; /* pid of the task that shall let another go first */

s32 BPF_STRUCT_OPS(fifo_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = find_idle_cpu(p, prev_cpu, wake_flags, &is_idle);

	/* An idle CPU means that no task that could use it waits: the order holds. */
	if (is_idle) {
		__sync_fetch_and_add(&stats.direct, 1);
		dsq_insert(p, DSQ_LOCAL, SLICE_INF, ENQ_NONE);
	}
	return cpu;
}

void BPF_STRUCT_OPS(fifo_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 *gives_way;

	if (p->flags & PF_KTHREAD && p->nr_cpus_allowed == 1) {
		dsq_insert(p, DSQ_LOCAL, SLICE_INF, enq_flags);
		return;
	}
	gives_way = &gave_way[(u32)scx_bpf_task_cpu(p) % MAX_CPUS];
	__sync_fetch_and_add(&stats.queued, 1);
	if (*gives_way == p->pid && !(enq_flags & ENQ_WAKEUP)) {
		*gives_way = 0;
		enq_flags |= ENQ_HEAD;
	}
	dsq_insert(p, QUEUE, SLICE_INF, enq_flags);
	kick_idle_cpu_for(p);
}

void BPF_STRUCT_OPS(fifo_dispatch, s32 cpu, struct task_struct *prev)
{
	if (dsq_move_to_local(QUEUE))
		return;
	wake_idle_cpu_for_queue(QUEUE);
	if (!prev)
		look_again(cpu, false);
	/* No other task waits: a task that yielded goes on, without a time limit. */
	if (prev && is_runnable(prev))
		task_set_slice(prev, SLICE_INF);
}

/* @p may never end: nothing else decides anything on this CPU. */
void BPF_STRUCT_OPS(fifo_tick, struct task_struct *p)
{
	wake_idle_cpu_for_queue(QUEUE);
	if (!scx_bpf_dsq_nr_queued(DSQ_LOCAL))
		return;
	__sync_fetch_and_add(&stats.gave_way, 1);
	gave_way[(u32)scx_bpf_task_cpu(p) % MAX_CPUS] = p->pid;
	task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(fifo_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, scx_bpf_dsq_nr_queued(QUEUE));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(fifo_init)
{
	forget_idle_marks();
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_HEED(fifo_ops, "SMT, LLC, NUMA");
SCX_OPS_DEFINE(fifo_ops)
help_text("First come, first served: a task runs until it blocks") = {
	.select_cpu = (void *)fifo_select_cpu,
	.enqueue = (void *)fifo_enqueue,
	.dispatch = (void *)fifo_dispatch,
	.tick = (void *)fifo_tick,
	.update_idle = (void *)fifo_update_idle,
	.init = (void *)fifo_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "fifo",
};
