/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy with a bug: it inserts tasks into a queue that it never created.
 *
 * The kernel notices at the first task:
 *   kind 1024, "runtime error", "non-existent DSQ 0x1267" (6.12 goes on
 *   with " for NAME[PID]")
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

#define NO_SUCH_QUEUE 4711
#define SLICE_NS      5000000

void BPF_STRUCT_OPS(bad_dsq_enqueue, struct task_struct *p, u64 enq_flags)
{
	dsq_insert(p, NO_SUCH_QUEUE, SLICE_NS, enq_flags);
}

SCX_OPS_DEFINE(bad_dsq_ops)
help_text("A bug: inserts into a queue that does not exist") = {
	.enqueue = (void *)bad_dsq_enqueue,
	.exit = (void *)record_exit,
	.name = "bad_dsq",
};
