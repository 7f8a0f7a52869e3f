/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy that gives up: it calls scx_bpf_error() at its third enqueue.
 *
 *   kind 1025, "scx_bpf_error", "enough after 3 tasks"
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

#define ENOUGH	 3
#define SLICE_NS 5000000

u64 enqueued;

void BPF_STRUCT_OPS(says_error_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (__sync_fetch_and_add(&enqueued, 1) == ENOUGH - 1)
		policy_error("enough after %llu tasks", ENOUGH);
	dsq_insert(p, DSQ_LOCAL, SLICE_NS, enq_flags);
}

SCX_OPS_DEFINE(says_error_ops)
help_text("Gives up with scx_bpf_error() at its third task") = {
	.enqueue = (void *)says_error_enqueue,
	.exit = (void *)record_exit,
	.name = "says_error",
};
