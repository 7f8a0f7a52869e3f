/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy with a bug: tasks of nice 7 (weight 21) are forgotten when they are enqueued.
 * Without such tasks it is plain first come, first served.
 *
 * The kernel's watchdog finds them after timeout_ms, here one second:
 *   kind 1026, "runnable task stall", "NAME[PID] failed to run for 1.…s"
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

#define QUEUE	    0
#define LOST_WEIGHT 21
#define SLICE_NS    5000000

void BPF_STRUCT_OPS(lost_task_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (p->scx.weight == LOST_WEIGHT)
		return;
	dsq_insert(p, QUEUE, SLICE_NS, enq_flags);
	kick_idle_cpu_for(p);
}

void BPF_STRUCT_OPS(lost_task_dispatch, s32 cpu, struct task_struct *prev)
{
	dsq_move_to_local(QUEUE);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(lost_task_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(lost_task_ops)
help_text("A bug: tasks of nice 7 are never dispatched") = {
	.enqueue = (void *)lost_task_enqueue,
	.dispatch = (void *)lost_task_dispatch,
	.init = (void *)lost_task_init,
	.exit = (void *)record_exit,
	.timeout_ms = 1000,
	.name = "lost_task",
};
