/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups of eevdf begin and end, get another weight and other tasks. As kernel/sched/core.c and
 * fair.c of Linux 7.2, with the functions named. Needs the lock, but where it takes it.
 */
#ifndef ROTA_EEVDF_GROUP_CHANGES_BPF_H
#define ROTA_EEVDF_GROUP_CHANGES_BPF_H

static void group_begins(u32 group)
{
	*group_load(group) = 0;
}

/* A part of a group that ends; it takes part no more. */
static void part_ends(u32 part, u32 group, u32 cpu)
{
	u32 queue = client_at(part)->own.mine;

	less(load_average_of(average_of(part)->queue), average_of(part)->load);
	*average_of(part) = (struct client_average){};
	*part_of(group, cpu) = 0;
	client_at(part)->own.mine = 0;
	queue_at(queue)->next_free = free_part;
	free_part = queue;
	part_slot_give_back(part);
}

/* All parts leave first, and then end: on a CPU of its own each, none sees another. */
static __attribute__((noinline)) void group_ends(u32 group)
{
	u32 cpu, part;

	settle_changed();
	forget_limit(group);
	for (cpu = loop_start; cpu < nr_cpus && can_loop_afresh(); cpu++) {
		part = *part_of(group, cpu);
		if (part && queue_of(cpu)->own.chain == part)
			chain_to(cpu, 0);
		if (part && client_at(part)->home) {
			client_at(part)->own.is_paid = true;
			changed(part);
		}
	}
	settle_changed();
	for (cpu = loop_start; cpu < nr_cpus && can_loop_afresh(); cpu++) {
		part = *part_of(group, cpu);
		if (part)
			part_ends(part, group, cpu);
	}
}

/* (__sched_group_set_shares) */
static void group_weighs(u32 group, u32 weight)
{
	u32 cpu;

	group_at(group)->weight = weight;
	for (cpu = loop_start; cpu < nr_cpus && can_loop_afresh(); cpu++) {
		changed(*part_of(group, cpu));
		settle_changed();
	}
}

/* (sched_group_set_idle) */
static void group_set_idle(struct cgroup *cgrp, bool idle)
{
	u32 group = own_group_locked(cgrp);

	if (!group)
		return;
	if (group_at(group)->idle != idle) {
		group_at(group)->idle = idle;
		group_weighs(group, idle ? IDLE_WEIGHT : NICE_0_WEIGHT);
	}
	bpf_spin_unlock(&lock);
}

/* (se_is_idle) */
static bool idles_by_policy(u32 slot)
{
	const struct client *c = client_at(slot);

	return is_idle_task(c) || (cgroups && c->own.mine && group_at(c->own.group)->idle);
}

/* A task is in another group: what it did goes with it. (task_change_group_fair) */
static void regrouped(u32 slot)
{
	const struct client_average *a = average_of(slot);

	if (a->attached)
		attach(slot, a->attached - 1, time_now);
}

#endif
