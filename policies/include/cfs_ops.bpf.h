/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callbacks of policies on cfs's rules that are the same in all of them.
 */
#ifndef ROTA_CFS_OPS_BPF_H
#define ROTA_CFS_OPS_BPF_H

#include "cfs_rules.bpf.h"

s32 BPF_STRUCT_OPS(cfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_queue(p, prev_cpu, wake_flags);
}

/* One of SCHED_BATCH that yields goes behind the last. (yield_task_fair) */
static void yield_behind(u32 slot, u64 used_ns)
{
	struct client *c = client_at(slot);
	u32 last = 0, at;

	bpf_spin_lock(&lock);
	if (c->home && c->own.is_batch) {
		charge_used(slot, used_ns);
		for (at = *tree_of(slot); at && can_loop(); at = node_at(at)->right)
			last = at;
		if (last && client_at(last)->vruntime >= c->vruntime)
			c->vruntime = client_at(last)->vruntime + 1;
	}
	bpf_spin_unlock(&lock);
}

bool BPF_STRUCT_OPS(cfs_yield, struct task_struct *from, struct task_struct *to)
{
	u64 used_ns = from->se.sum_exec_runtime;

	if (to)
		return false;
	yield_behind(slot_of(from), used_ns);
	task_set_slice(from, 0);
	return true;
}

void BPF_STRUCT_OPS(cfs_update_idle, s32 cpu, bool idle)
{
	fair_update_idle(cpu, idle);
	if (idle)
		look_again(cpu, nr_waiting);
}

s32 BPF_STRUCT_OPS(cfs_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	return group_init(cgrp, args->weight);
}

/* All but enqueue, tick, disable, init_task, exit_task, init and the name. */
#define CFS_OPS                                                                                 \
	FAIR_OPS, .select_cpu = (void *)cfs_select_cpu, .update_idle = (void *)cfs_update_idle, \
		.yield = (void *)cfs_yield, .cgroup_init = (void *)cfs_cgroup_init

#endif
