/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy with a bug: ops.dispatch() inserts, again and again, a task that is in the
 * queue already, and takes nobody out.
 *
 * The kernel ignores the insertions, and as there were some, asks again, 32 times, then
 * gives the CPU a break and starts over. All CPUs are busy with that and run nobody,
 * until the watchdog, or the timer tick that misses it, ends it after timeout_ms:
 *   kind 1026, "runnable task stall", "NAME[PID] failed to run for 0.…s"
 *   or "watchdog failed to check in for 0.…s"
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

#define QUEUE	 0
#define SLICE_NS 5000000

u32 queued_pid;

void BPF_STRUCT_OPS(endless_dispatch_enqueue, struct task_struct *p, u64 enq_flags)
{
	queued_pid = p->pid;
	dsq_insert(p, QUEUE, SLICE_NS, enq_flags);
	kick_idle_cpu_for(p);
}

void BPF_STRUCT_OPS(endless_dispatch_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_struct *p = bpf_task_from_pid(queued_pid);

	if (!p)
		return;
	dsq_insert(p, QUEUE, SLICE_NS, ENQ_NONE);
	bpf_task_release(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(endless_dispatch_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(endless_dispatch_ops)
help_text("A bug: dispatches the same queued task without end") = {
	.enqueue = (void *)endless_dispatch_enqueue,
	.dispatch = (void *)endless_dispatch_dispatch,
	.init = (void *)endless_dispatch_init,
	.exit = (void *)record_exit,
	.timeout_ms = 200,
	.name = "endless_dispatch",
};
