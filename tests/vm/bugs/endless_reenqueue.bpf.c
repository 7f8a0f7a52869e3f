/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy with a bug: every task must have its CPU at once (SCX_ENQ_IMMED, since
 * Linux 7.1), also when that is busy.
 *
 * The kernel hands a task that cannot run at once back to ops.enqueue(), which insists,
 * and gives up after 256 times:
 *   kind 1024, "runtime error", "SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times"
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

#define SLICE_NS  5000000
#define ENQ_IMMED kernel_value(scx_enq_flags, SCX_ENQ_IMMED)

void BPF_STRUCT_OPS(endless_reenqueue_enqueue, struct task_struct *p, u64 enq_flags)
{
	dsq_insert(p, DSQ_LOCAL, SLICE_NS, enq_flags | ENQ_IMMED);
}

SCX_OPS_DEFINE(endless_reenqueue_ops)
help_text("A bug: tasks that cannot run at once are enqueued without end") = {
	.enqueue = (void *)endless_reenqueue_enqueue,
	.exit = (void *)record_exit,
	.timeout_ms = 1000,
	.name = "endless_reenq",
};
