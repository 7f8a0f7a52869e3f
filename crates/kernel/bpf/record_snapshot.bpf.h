/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is there when the recording begins.
 */
#ifndef ROTA_RECORD_SNAPSHOT_BPF_H
#define ROTA_RECORD_SNAPSHOT_BPF_H

#include "record_tasks.bpf.h"

/*
 * What all tasks do at the beginning. A task that has changed since has told so before: the
 * time is taken after its state is read.
 */
SEC("iter/task")
int snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	u16 state = WAS_SLEEPING;

	if (!p || !wanted(p))
		return 0;
	if (config.only_tree && (!config.root_pid || !descends(p)))
		return 0;
	if (read_int(p->on_cpu))
		state = WAS_RUNNING;
	else if (read_int(p->on_rq) && !read_int(p->se.sched_delayed))
		state = WAS_RUNNABLE;
	if (bpf_task_storage_get(&tasks, p, NULL, 0) || add(p))
		emit_task(p, state, p->thread_info.cpu, p->comm);
	return 0;
}

#endif
