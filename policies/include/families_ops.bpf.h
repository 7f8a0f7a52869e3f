/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callbacks of a policy with families on cfs's rules.
 */
#ifndef ROTA_FAMILIES_OPS_BPF_H
#define ROTA_FAMILIES_OPS_BPF_H

#include "cfs_ops.bpf.h"

u64 next_recount;

/* It may have another user, session, cgroup or group than before. */
static void seek_family(struct task_struct *p)
{
	u32 slot = slot_of(p);
	u64 key = family_key(p);

	bpf_spin_lock(&lock);
	family_join(slot, key);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(family_enable, struct task_struct *p)
{
	seek_family(p);
}

void BPF_STRUCT_OPS(family_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (by != BY_PROCESS || cgroups)
		seek_family(p);
	fair_enqueue(p);
}

void BPF_STRUCT_OPS(family_tick, struct task_struct *p)
{
	u64 now = bpf_ktime_get_ns();

	/* Races are harmless: one recount more. */
	if (active_only && now >= next_recount) {
		next_recount = now + balance_interval_ns;
		recounts++;
	}
	fair_tick(p);
}

static void forsake_family(struct task_struct *p)
{
	u32 slot = slot_of(p);

	fair_disable(p);
	bpf_spin_lock(&lock);
	family_leave(slot);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(family_disable, struct task_struct *p)
{
	forsake_family(p);
}

s32 BPF_STRUCT_OPS(family_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	s32 err = fair_new_task(p, args);

	if (!err)
		own_weight[slot_of(p) & SLOT_MASK] = weight_of(p);
	return err;
}

void BPF_STRUCT_OPS(family_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	forsake_family(p);
	fair_task_gone(p);
}

/* All but init and the name. */
#define FAMILY_OPS                                                                  \
	CFS_OPS, .enqueue = (void *)family_enqueue, .tick = (void *)family_tick,    \
		.enable = (void *)family_enable, .disable = (void *)family_disable, \
		.init_task = (void *)family_init_task, .exit_task = (void *)family_exit_task

#endif
