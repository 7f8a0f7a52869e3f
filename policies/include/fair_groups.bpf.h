/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups of fair_queue.bpf.h's tasks, which are cgroups: which there are, with what weight, and
 * which task is in which. For cfs and eevdf. On each CPU where a task of a group wants to run the
 * group takes part as one in the queue of the group above, and has a queue of its own for its
 * members (CONFIG_FAIR_GROUP_SCHED: sched_entity, my_q and parent). Such a part of a group has a
 * slot, as tasks have, and counts as a task in trees and in what fair_queue.bpf.h knows of one.
 *
 * The policy that includes this defines before it NR_GROUPS, CGROUPS_DEFAULT (and
 * CGROUPS_TAGS, more tags of that tunable) and, in struct own_part, group; after it
 *  - group_begins(group), group_ends(group): it is new, or gone;
 *  - group_weighs(group, weight): its weight changes;
 *  - group_in(slot, group): the client is in a cgroup of that group; the group that it counts in;
 *  - regrouped(slot): the client, which takes part in no queue, is in another group.
 *
 * Groups for which there is no room, and those on too deep a level, count as the one above.
 * Everything but the callbacks needs the lock.
 */
#ifndef ROTA_FAIR_GROUPS_BPF_H
#define ROTA_FAIR_GROUPS_BPF_H

#ifndef CGROUPS_TAGS
#define CGROUPS_TAGS
#endif
#define MOST_LEVELS 32

struct group {
	u32 parent;
	u32 level; /* 0: the root, group 0 */
	u32 weight;
	u32 users; /* clients and groups in it, and its cgroup; without any it is free */
	u32 next_free;
	u32 session; /* 0: it is a cgroup's */
	bool idle;   /* cpu.idle */
};

struct group_ref {
	u32 group;
	bool is_own; /* and not that of one above */
};

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct group_ref);
} group_refs SEC(".maps");

static void *(*const bpf_cgrp_storage_get)(void *map, struct cgroup *cgrp, void *init,
					   u64 flags) = (void *)210;
struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, s32 level) __ksym;
void bpf_cgroup_release(struct cgroup *cgrp) __ksym;

const volatile bool cgroups
	help_text("cgroups take part by their cpu.weight; loading takes the kernel longer")
	CGROUPS_TAGS = CGROUPS_DEFAULT;

struct group groups[NR_GROUPS];
u32 groups_used, free_group;

static void group_begins(u32 group);
static void group_ends(u32 group);
static void group_weighs(u32 group, u32 weight);
static void regrouped(u32 slot);
static u32 group_in(u32 slot, u32 group);

static struct group *group_at(u32 group)
{
	return &groups[group % NR_GROUPS];
}

/* Of a cpu.weight: 100 is as nice 0. (sched_weight_from_cgroup) */
static u32 weight_of_cgroup(u32 weight)
{
	return (weight * 1024 + 50) / 100 * 100;
}

/* A slot for a part of a group, from those of tasks; 0: there is none. */
static u32 part_slot_take(void)
{
	u32 slot = free_slot & SLOT_MASK;

	if (slot)
		free_slot = free_next[slot];
	else if (slots_used < NR_SLOTS - 1)
		slot = ++slots_used;
	return slot;
}

static void part_slot_give_back(u32 slot)
{
	free_next[slot & SLOT_MASK] = free_slot;
	free_slot = slot;
}

/* A new group below @parent; 0: there is no room. */
static u32 group_take(u32 parent, u32 weight)
{
	u32 group = free_group, level = group_at(parent)->level + 1;

	if (level >= MOST_LEVELS)
		return 0;
	if (group)
		free_group = group_at(group)->next_free;
	else if (groups_used < NR_GROUPS - 1)
		group = ++groups_used;
	if (!group)
		return 0;
	*group_at(group) =
		(struct group){.parent = parent, .level = level, .weight = weight, .users = 1};
	group_at(parent)->users++;
	group_begins(group);
	return group;
}

static void group_give_back(u32 group)
{
	u32 level;

	for (level = loop_start; group && level < MOST_LEVELS && can_loop_afresh(); level++) {
		struct group *g = group_at(group);

		if (--g->users)
			return;
		group_ends(group);
		g->next_free = free_group;
		free_group = group;
		group = g->parent;
	}
}

/*
 * What a client that changes groups comes back to. In memory, of which a verifier assumes nothing:
 * it would go through everything that follows for each value.
 */
struct regrouping {
	bool took_part, waited;
} regrouping;

/* The client is in another group from here on. */
__kinline void regroup(u32 slot, u32 group)
{
	struct client *c = client_at(slot);
	volatile struct regrouping *r = &regrouping;
	u32 old = c->own.group;

	r->waited = c->waits;
	r->took_part = c->home;
	stop_waiting(slot);
	if (r->took_part)
		leave(slot, false);
	group_at(group)->users++;
	c->own.group = group;
	regrouped(slot);
	group_give_back(old);
	if (r->took_part)
		join(slot, c->last_cpu);
	if (r->waited)
		start_waiting(slot);
}

/* Without the lock. A cgroup that was never announced has no group: the root's. */
static u32 group_of(struct cgroup *cgrp)
{
	struct group_ref *ref = bpf_cgrp_storage_get(&group_refs, cgrp, NULL, 0);

	return ref ? ref->group : 0;
}

/* Of a new task. */
static u32 group_of_new(struct scx_init_task_args *args)
{
	return cgroups && kernel_has_field(args->cgroup) && args->cgroup ? group_of(args->cgroup)
									 : 0;
}

/* For ops.cgroup_move, and for a new task. */
static void group_move(u32 slot, u32 group)
{
	u64 now = bpf_ktime_get_ns();

	if (!cgroups)
		return;
	bpf_spin_lock(&lock);
	time_is(now);
	regroup(slot, group_in(slot, group));
	bpf_spin_unlock(&lock);
}

/* It is gone. */
static void group_leave(u32 slot)
{
	u64 now = bpf_ktime_get_ns();

	if (!cgroups)
		return;
	bpf_spin_lock(&lock);
	time_is(now);
	regroup(slot, 0);
	bpf_spin_unlock(&lock);
}

/* For ops.cgroup_init. */
static s32 group_init(struct cgroup *cgrp, u32 weight)
{
	struct group_ref *ref;
	struct cgroup *outer;
	u32 parent = 0, group;

	if (!cgroups || !cgrp->level)
		return 0;
	ref = bpf_cgrp_storage_get(&group_refs, cgrp, NULL, STORAGE_GET_CREATE);
	if (!ref)
		return -ENOMEM;
	outer = bpf_cgroup_ancestor(cgrp, cgrp->level - 1);
	if (outer) {
		parent = group_of(outer);
		bpf_cgroup_release(outer);
	}
	bpf_spin_lock(&lock);
	group = group_take(parent, weight_of_cgroup(weight));
	bpf_spin_unlock(&lock);
	ref->is_own = group;
	ref->group = group ? group : parent;
	return 0;
}

/* The group of a cgroup that has one of its own; 0: it has none. */
static u32 own_group_of(struct cgroup *cgrp)
{
	struct group_ref *ref = bpf_cgrp_storage_get(&group_refs, cgrp, NULL, 0);

	return cgroups && ref && ref->is_own ? ref->group : 0;
}

/* The same, with the lock if there is one: to change it. */
__kinline u32 own_group_locked(struct cgroup *cgrp)
{
	u32 group = own_group_of(cgrp);
	u64 now = bpf_ktime_get_ns();

	if (!group)
		return 0;
	bpf_spin_lock(&lock);
	time_is(now);
	return group;
}

/* For ops.cgroup_exit. */
static void group_exit(struct cgroup *cgrp)
{
	struct group_ref *ref = bpf_cgrp_storage_get(&group_refs, cgrp, NULL, 0);
	u64 now = bpf_ktime_get_ns();
	u32 group;

	if (!cgroups || !ref || !ref->is_own)
		return;
	group = ref->group;
	ref->is_own = false;
	ref->group = 0;
	bpf_spin_lock(&lock);
	time_is(now);
	group_give_back(group);
	bpf_spin_unlock(&lock);
}

/* For ops.cgroup_set_weight. */
static void group_set_weight(struct cgroup *cgrp, u32 weight)
{
	u32 group = own_group_locked(cgrp);

	if (!group)
		return;
	group_weighs(group, weight_of_cgroup(weight));
	bpf_spin_unlock(&lock);
}

#endif
