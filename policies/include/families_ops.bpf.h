/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callbacks of a policy with families on cfs's rules.
 */
#ifndef ROTA_FAMILIES_OPS_BPF_H
#define ROTA_FAMILIES_OPS_BPF_H

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

s32 BPF_STRUCT_OPS(family_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_queue(p, prev_cpu, wake_flags);
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

void BPF_STRUCT_OPS(family_dispatch, s32 cpu, struct task_struct *prev)
{
	fair_dispatch(cpu, prev);
}

void BPF_STRUCT_OPS(family_running, struct task_struct *p)
{
	fair_running(p);
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

void BPF_STRUCT_OPS(family_stopping, struct task_struct *p, bool runnable)
{
	fair_stopping(p, runnable);
}

void BPF_STRUCT_OPS(family_quiescent, struct task_struct *p, u64 deq_flags)
{
	fair_quiescent(p, deq_flags);
}

void BPF_STRUCT_OPS(family_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, nr_waiting);
}

void BPF_STRUCT_OPS(family_set_weight, struct task_struct *p, u32 weight)
{
	fair_set_weight(p);
}

void BPF_STRUCT_OPS(family_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
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
	s32 err = cfs_new_task(p, args);

	if (!err)
		own_weight[slot_of(p) & SLOT_MASK] = weight_of(p);
	return err;
}

void BPF_STRUCT_OPS(family_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	forsake_family(p);
	cfs_task_gone(p);
}

s32 BPF_STRUCT_OPS(family_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	return group_init(cgrp, args->weight);
}

void BPF_STRUCT_OPS(family_cgroup_exit, struct cgroup *cgrp)
{
	group_exit(cgrp);
}

void BPF_STRUCT_OPS(family_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	cfs_move(p, to);
}

void BPF_STRUCT_OPS(family_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	group_set_weight(cgrp, weight);
}

/* All but init and the name. */
#define FAMILY_OPS                                                                            \
	.select_cpu = (void *)family_select_cpu, .enqueue = (void *)family_enqueue,           \
	.dispatch = (void *)family_dispatch, .running = (void *)family_running,               \
	.tick = (void *)family_tick, .stopping = (void *)family_stopping,                     \
	.quiescent = (void *)family_quiescent, .set_weight = (void *)family_set_weight,       \
	.set_cpumask = (void *)family_set_cpumask, .update_idle = (void *)family_update_idle, \
	.enable = (void *)family_enable, .disable = (void *)family_disable,                   \
	.init_task = (void *)family_init_task, .exit_task = (void *)family_exit_task,         \
	.cgroup_init = (void *)family_cgroup_init, .cgroup_exit = (void *)family_cgroup_exit, \
	.cgroup_move = (void *)family_cgroup_move,                                            \
	.cgroup_set_weight = (void *)family_cgroup_set_weight, .exit = (void *)record_exit,   \
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE

#endif
