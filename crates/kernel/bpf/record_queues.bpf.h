/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Insertions into dispatch queues.
 */
#ifndef ROTA_RECORD_QUEUES_BPF_H
#define ROTA_RECORD_QUEUES_BPF_H

#include "record_tasks.bpf.h"

#define DSQ_LOCAL 0x8000000000000002ULL /* SCX_DSQ_LOCAL */

/* A task enters a queue. */
SEC("fentry")
int on_dispatch(u64 *ctx)
{
	u64 task = 0, queue = 0;
	u32 pid = 0;

	if (bpf_get_func_arg(ctx, config.dispatch_task, &task) ||
	    bpf_get_func_arg(ctx, config.dispatch_queue, &queue))
		return 0;
	read_field(&pid, ((struct task_struct *)task)->pid);
	if (!config.queue_is_id && has_field(((struct scx_dispatch_q *)0)->id))
		read_field(&queue, ((struct scx_dispatch_q *)queue)->id);
	if (bpf_map_lookup_elem(&pids, &pid))
		emit(REC_DISPATCH, 0, pid, 0, queue);
	return 0;
}

/* A task moves from a queue to this CPU's own one. */
SEC("fentry/move_local_task_to_local_dsq")
int on_move(u64 *ctx)
{
	u64 task = 0;
	u32 pid = 0;

	if (bpf_get_func_arg(ctx, config.move_task, &task))
		return 0;
	read_field(&pid, ((struct task_struct *)task)->pid);
	if (bpf_map_lookup_elem(&pids, &pid))
		emit(REC_DISPATCH, 0, pid, 0, DSQ_LOCAL);
	return 0;
}

#endif
