/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups as cfs has them: see fair_groups.bpf.h. As in 2.6.24 each has its whole weight on each
 * CPU, however many it is on. Its part on a CPU is in a tree while a task in its own tree waits.
 * Everything here needs the lock.
 */
#ifndef ROTA_CFS_GROUPS_BPF_H
#define ROTA_CFS_GROUPS_BPF_H

/* What stays of a group on a CPU while no task takes part there. */
struct group_part {
	s64 vruntime;
	s64 min_vruntime; /* of its queue, as own_queue has it */
	u32 slot;	  /* 0: none takes part */
};

struct group_part group_parts[NR_GROUPS][MAX_CPUS]; /* of group 0: the CPU's own queue */

static struct group_part *part_of(u32 group, u32 cpu)
{
	return &group_parts[group % NR_GROUPS][cpu % MAX_CPUS];
}

/* The slot of the queue that a client or a part of a group takes part in; 0: the CPU's own. */
static u32 above(u32 slot)
{
	return cgroups ? client_at(slot)->own.above : 0;
}

/* The group of that queue, or its last one. */
static struct group_part *queue_around(u32 slot, u32 cpu)
{
	return part_of(client_at(slot)->own.around, cpu);
}

/* A queue: of a part of a group by its slot, or of the CPU. */
static struct entity_queue *queue_in(u32 slot, u32 cpu)
{
	return cgroups && slot ? &client_at(slot)->own.queue : &queue_of(cpu)->own.queue;
}

static u32 *root_in(u32 slot, u32 cpu)
{
	return &queue_in(slot, cpu)->root;
}

/* (update_min_vruntime) @slot had the CPU, or a task in it. */
static void min_advances(u32 slot, u32 cpu)
{
	struct group_part *q = queue_around(slot, cpu);
	s64 least = client_at(slot)->vruntime;
	u32 first = tree_first(*root_in(above(slot), cpu));

	if (first && client_at(first)->vruntime < least)
		least = client_at(first)->vruntime;
	if (least > q->min_vruntime)
		q->min_vruntime = least;
}

/* Those above a client that ran for @ns, where that may be less than was thought. */
static __attribute__((noinline)) void charge_above(u32 slot, s64 ns)
{
	u32 cpu = client_at(slot)->home - 1, level, at = above(slot);

	for (level = loop_start; at && level < MOST_LEVELS && can_loop(); level++) {
		struct client *c = client_at(at);
		u32 *root = root_in(c->own.above, cpu);
		s64 by = virtual_ns(ns < 0 ? -ns : ns, c->weight);

		if (c->waits)
			tree_remove(root, at);
		c->vruntime += ns < 0 ? -by : by;
		if (c->waits)
			tree_insert(root, at);
		min_advances(at, cpu);
		at = c->own.above;
	}
}

/* A task waits in @slot's queue: those above wait too. */
static __attribute__((noinline)) void wait_above(u32 slot)
{
	u32 cpu = client_at(slot)->home - 1, level, at = above(slot);

	for (level = loop_start; at && level < MOST_LEVELS && can_loop(); level++) {
		struct client *c = client_at(at);

		if (c->waits)
			return;
		c->waits = true;
		tree_insert(root_in(c->own.above, cpu), at);
		at = c->own.above;
	}
}

/* @slot waits no more: nor do those above in which no other does. */
static __attribute__((noinline)) void leave_above(u32 slot)
{
	u32 cpu = client_at(slot)->home - 1, level, at = above(slot);

	for (level = loop_start; at && level < MOST_LEVELS && can_loop(); level++) {
		struct client *c = client_at(at);

		if (c->own.queue.root)
			return;
		c->waits = false;
		tree_remove(root_in(c->own.above, cpu), at);
		at = c->own.above;
	}
}

/* The first client of a group's queue, or @slot itself if it is none of a group. */
static u32 first_client(u32 slot)
{
	u32 level;

	for (level = loop_start;
	     cgroups && client_at(slot)->own.is_group && level < MOST_LEVELS && can_loop();
	     level++)
		slot = tree_first(client_at(slot)->own.queue.root);
	return slot;
}

/* The first of all clients that wait on the CPU, 0: none does. */
static u32 first_waiting(u32 cpu)
{
	return first_client(tree_first(*root_in(0, cpu)));
}

/* The client after this one in all trees of the CPU, 0: it is the last. */
static u32 next_client(u32 slot)
{
	u32 level, next = tree_next(slot);

	for (level = loop_start; !next && above(slot) && level < MOST_LEVELS && can_loop();
	     level++) {
		slot = above(slot);
		next = tree_next(slot);
	}
	return first_client(next);
}

/* What a client's weight comes to in the CPU's own queue. */
static __attribute__((noinline)) u64 flat_weight(u32 slot)
{
	u64 weight = client_at(slot)->weight;
	u32 level, at = above(slot);

	for (level = loop_start; at && level < MOST_LEVELS && can_loop(); level++) {
		const struct client *c = client_at(at);

		if (c->own.queue.load)
			weight = weight * c->weight / c->own.queue.load;
		at = c->own.above;
	}
	return weight;
}

/* @slot takes part in the queue @above, which is that of @group there, as one that slept does. */
static void takes_part(u32 slot, u32 above, u32 group, u32 cpu)
{
	struct entity_queue *q = queue_in(above, cpu);
	struct client *c = client_at(slot);

	c->own.above = above;
	c->own.around = group;
	q->nr++;
	q->load += c->weight;
	place_slept(c, q, part_of(group, cpu)->min_vruntime);
}

/*
 * The slot of @group's part on @cpu, for a task that is about to take part in it; 0: the CPU's
 * own queue (if there is no slot left, too).
 */
static __attribute__((noinline)) u32 group_joins(u32 group, u32 cpu)
{
	u32 level, below = 0, wanted = 0;

	for (level = loop_start; cgroups && group && level < MOST_LEVELS && can_loop(); level++) {
		struct group_part *part = part_of(group, cpu);
		bool begins = !part->slot;
		u32 slot = begins ? part_slot_take() : part->slot;
		struct client *c = client_at(slot);

		if (!slot)
			break;
		if (begins) {
			part->slot = slot;
			*c = (struct client){.vruntime = part->vruntime, .home = cpu + 1};
			c->weight = group_at(group)->weight;
			c->own.is_group = true;
			c->own.group = group;
		}
		if (below)
			takes_part(below, slot, group, cpu);
		else
			wanted = slot;
		if (!begins)
			return wanted;
		below = slot;
		group = group_at(group)->parent;
	}
	if (below)
		takes_part(below, 0, 0, cpu);
	return wanted;
}

/* A task has left the queue of @slot. Parts in which none is left end. */
static __attribute__((noinline)) void group_leaves(u32 slot, u32 cpu)
{
	u32 level;

	for (level = loop_start; cgroups && slot && level < MOST_LEVELS && can_loop(); level++) {
		struct client *c = client_at(slot);
		struct entity_queue *q = queue_in(c->own.above, cpu);
		struct group_part *part = part_of(c->own.group, cpu);

		if (c->own.queue.nr)
			return;
		q->nr--;
		q->load -= c->weight;
		part->vruntime = c->vruntime;
		part->slot = 0;
		c->own.is_group = false;
		part_slot_give_back(slot);
		slot = c->own.above;
	}
}

static void group_weighs(u32 group, u32 weight)
{
	u32 cpu;

	for (cpu = loop_start; group && cpu < nr_cpus && can_loop(); cpu++) {
		u32 slot = part_of(group, cpu)->slot;

		if (!slot)
			continue;
		queue_in(above(slot), cpu)->load += (s64)weight - client_at(slot)->weight;
		client_at(slot)->weight = weight;
	}
	group_at(group)->weight = weight;
}

static void group_begins(u32 group)
{
	u32 cpu;

	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++)
		part_of(group, cpu)->vruntime = 0;
}

static void group_ends(u32 group)
{
}

static void regrouped(u32 slot)
{
}

#endif
