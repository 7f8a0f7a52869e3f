/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decisions of eevdf from level to level of its groups: which competes with which, and what goes
 * on. As kernel/sched/fair.c of Linux 7.2, with the functions named. Needs the lock.
 */
#ifndef ROTA_EEVDF_LEVELS_BPF_H
#define ROTA_EEVDF_LEVELS_BPF_H

/* Until when it is protected. (set_protect_slice) */
static void protect(u32 slot)
{
	struct client *c = client_at(slot);
	struct own_part *own = &c->own;
	u64 slice_ns =
		no_run_to_parity ? base_slice_ns : least_slice(queue_around(c), own->slice_ns);

	own->protected_to = own->deadline;
	if (slice_ns < own->slice_ns)
		own->protected_to =
			min_s64(own->deadline, c->vruntime + virtual_ns(slice_ns, c->weight));
}

static u32 level_of(u32 part)
{
	return part ? group_at(client_at(part)->own.group)->level : 0;
}

static void settle_changed(void)
{
	if (nr_changed && cgroups)
		settle();
}

/*
 * Where a change of chains is, on both. In memory, of which a verifier assumes nothing: it would go
 * through both ways up again for each way to get there.
 */
struct rechaining {
	u32 old, at, part;
} rechaining;

/* The one above it. (put_prev_entity) */
static u32 leaves_chain(u32 part)
{
	struct client *c = client_at(part);

	queue_around(c)->curr = 0;
	if (c->home && !c->waits) {
		c->waits = true;
		tree_insert(tree_of(part), part);
	}
	return above(part);
}

/* (set_next_entity) */
static u32 joins_chain(u32 part)
{
	struct client *c = client_at(part);

	if (c->waits)
		tree_remove(tree_of(part), part);
	c->waits = false;
	queue_around(c)->curr = part;
	clear_buddies(part);
	protect(part);
	return above(part);
}

/*
 * @part and those above it have the CPU from here on, 0: none has. Those that had it, and do not
 * any more, wait. (put_prev_task_fair, set_next_task_fair)
 */
static __attribute__((noinline)) void change_chain(u32 cpu, u32 part)
{
	volatile struct rechaining *r = &rechaining;

	r->old = queue_of(cpu)->own.chain;
	r->at = part;
	r->part = part;
	queue_of(cpu)->own.chain = part;
	while ((r->old != r->at || r->part != r->at) && can_loop_afresh()) {
		if (r->old == r->at)
			r->part = joins_chain(r->part);
		else if (level_of(r->at) > level_of(r->old))
			r->at = above(r->at);
		else
			r->old = leaves_chain(r->old);
	}
}

static void chain_to(u32 cpu, u32 part)
{
	if (queue_of(cpu)->own.chain != part && cgroups)
		change_chain(cpu, part);
}

/* @slot is about to run, and takes part. */
static void gets_cpu(u32 slot, u32 cpu)
{
	settle_changed();
	chain_to(cpu, above(slot));
	queue_around(client_at(slot))->curr = slot;
}

static void gives_cpu(u32 slot)
{
	queue_around(client_at(slot))->curr = 0;
}

/* It slept, was picked, and so has worked off what it had too much. */
static void out_of_debt(u32 slot)
{
	if (!cgroups || !client_at(slot)->own.mine) {
		take_out(slot, true);
		return;
	}
	client_at(slot)->own.is_paid = true;
	changed(slot);
}

/* In that queue: @prev, or what has the CPU there, or another; 0: none. (pick_eevdf) */
static u32 earliest_in(u32 index, u32 cpu, u32 prev)
{
	u32 curr = queue_at(index)->curr;

	if (curr)
		prev = curr;
	else if (client_at(prev)->own.around != index && cgroups)
		prev = 0;
	return earliest_eligible(queue_of(cpu), queue_at(index), prev);
}

/* 0 also if it was one that slept, which is out now. (pick_next_entity) */
static u32 pick_in(u32 index, u32 cpu, u32 prev)
{
	u32 slot = earliest_in(index, cpu, prev);

	if (!client_at(slot)->delayed)
		return slot;
	out_of_debt(slot);
	return 0;
}

/* Those that slept and have worked off what they had too much do not count. */
static __attribute__((noinline)) u32 pick_awake_in(u32 index, u32 cpu, u32 prev)
{
	u32 picked, nr;

	do {
		nr = queue_at(index)->nr;
		picked = pick_in(index, cpu, prev);
		settle_changed();
	} while (!picked && queue_at(index)->nr < nr && can_loop_afresh());
	return picked;
}

/* All that takes part in a queue is on its way to a CPU: its part does not wait till then. */
static void part_waits_no_more(u32 part, u32 cpu)
{
	struct client *c = client_at(part);

	if (queue_around(c)->curr == part)
		chain_to(cpu, above(part));
	if (c->waits)
		tree_remove(tree_of(part), part);
	c->waits = false;
}

/*
 * Where a descent from level to level is. In memory, of which a verifier assumes nothing: it would
 * go through each level again for each way to get there.
 */
struct descent {
	u32 queue, nr, prev;
} descent;

static __attribute__((noinline)) u32 pick_by_levels(u32 cpu, u32 prev)
{
	volatile struct descent *d = &descent;
	u32 slot;

	d->queue = first_queue(cpu);
	d->prev = prev;
	for (;;) {
		settle_changed();
		d->nr = queue_at(d->queue)->nr;
		if (!d->nr || !can_loop_afresh())
			return 0;
		slot = pick_in(d->queue, cpu, d->prev);
		if (slot && (!cgroups || !client_at(slot)->own.mine)) {
			if (!set_aside(slot))
				return slot;
			if (slot == d->prev)
				d->prev = 0;
			d->queue = first_queue(cpu);
			continue;
		}
		if (slot) {
			d->queue = client_at(slot)->own.mine;
			continue;
		}
		if (d->nr == queue_at(d->queue)->nr && !nr_changed) {
			/* None slept. */
			if (!queue_at(d->queue)->owner)
				return 0;
			part_waits_no_more(queue_at(d->queue)->owner, cpu);
		}
		d->queue = first_queue(cpu);
	}
	return 0;
}

/* (pick_task_fair) */
static u32 pick_from(u32 cpu, u32 prev)
{
	u32 slot = nr_changed && cgroups ? 0 : earliest_in(first_queue(cpu), cpu, prev);
	const struct client *c = client_at(slot);

	return slot && !c->own.mine && !c->delayed ? slot : pick_by_levels(cpu, prev);
}

/* It, or a part above it, has had what protects it from others there. (update_curr) */
static __attribute__((noinline)) bool part_is_over(u32 part)
{
	u32 level;

	for (level = loop_start; part && level < MOST_LEVELS && can_loop_afresh(); level++) {
		const struct client *c = client_at(part);

		if (queue_around(c)->nr > 1 && c->vruntime >= c->own.protected_to)
			return true;
		part = above(part);
	}
	return false;
}

static bool is_over(u32 slot)
{
	const struct client *c = client_at(slot);

	if (c->vruntime >= c->own.protected_to && (queue_around(c)->nr > 1 || !cgroups))
		return true;
	return above(slot) && part_is_over(above(slot));
}

/* Until its protection ends; after that, each tick checks whether to pick another. */
static u64 time_left_there(u32 slot)
{
	const struct client *c = client_at(slot);
	bool is_protected = c->vruntime < c->own.protected_to;
	s64 until = is_protected ? c->own.protected_to : c->own.deadline;

	return real_ns(max_s64(until - c->vruntime, 1), c->weight);
}

static __attribute__((noinline)) u64 time_left_above(u32 part, u64 ns)
{
	u32 level;

	for (level = loop_start; part && level < MOST_LEVELS && can_loop_afresh(); level++) {
		if (queue_around(client_at(part))->nr > 1)
			ns = min_s64(ns, time_left_there(part));
		part = above(part);
	}
	return ns;
}

static u64 time_left(u32 slot)
{
	u64 ns = time_left_there(slot);

	return above(slot) ? time_left_above(above(slot), ns) : ns;
}

/* The queue in which a client, or a part above it, meets those that take part on @cpu already. */
static __attribute__((noinline)) u32 meets_in(u32 group, u32 cpu)
{
	u32 level;

	for (level = loop_start; group && level < MOST_LEVELS && can_loop_afresh(); level++) {
		u32 part = *part_of(group, cpu);

		if (part && client_at(part)->home)
			return client_at(part)->own.mine;
		group = group_at(group)->parent;
	}
	return first_queue(cpu);
}

/* What has the CPU in that queue was charged, and has had what protects it. (update_curr) */
static bool notices_in(u32 index)
{
	const struct entity_queue *q = queue_at(index);
	const struct client *c = client_at(q->curr);

	return q->curr && q->nr > 1 && c->vruntime >= c->own.protected_to;
}

static bool notices(u32 cpu, u32 slot)
{
	u32 group = cgroups ? client_at(slot)->own.group : 0;

	return notices_in(group ? meets_in(group, cpu) : first_queue(cpu));
}

/* Both in one queue, or the parts above them that are. (find_matching_se) */
static __attribute__((noinline)) void find_matching(u32 *slot, u32 *other)
{
	u32 step;

	for (step = loop_start; client_at(*slot)->own.around != client_at(*other)->own.around &&
				step < 2 * MOST_LEVELS && can_loop_afresh();
	     step++) {
		if (level_of(above(*slot)) >= level_of(above(*other)))
			*slot = above(*slot);
		else
			*other = above(*other);
	}
}

/* Each tick: weights of the parts above the task that runs, and one of other CPUs. (entity_tick) */
static __attribute__((noinline)) void tick_of_parts(u32 part)
{
	u32 level, other, group;

	for (level = loop_start; part && level < MOST_LEVELS && can_loop_afresh(); level++) {
		group = client_at(part)->own.group;
		group_aged[group % NR_GROUPS] = (group_aged[group % NR_GROUPS] + 1) % nr_cpus;
		other = *part_of(group, group_aged[group % NR_GROUPS]);
		if (other)
			age_queue(queue_at(client_at(other)->own.mine));
		changed(part);
		part = above(part);
	}
	settle();
}

/* True: it is throttled. */
static bool tick_above(u32 slot)
{
	if (!above(slot))
		return false;
	tick_of_parts(above(slot));
	return is_throttled(slot);
}

/* The first that waits on a CPU, and the one after it: with groups in the order of coming. */
static u32 next_on_list(u32 at)
{
	at = list_newer[at % LIST_PLACE];
	while (at < NR_SLOTS && !client_at(at)->waits && can_loop_afresh())
		at = list_newer[at % LIST_PLACE];
	return at < NR_SLOTS ? at : 0;
}

static u32 first_waiting(u32 cpu)
{
	return parts_used && cgroups ? next_on_list(list_of(cpu))
				     : tree_first(queue_at(first_queue(cpu))->root);
}

static u32 next_client(u32 slot)
{
	return parts_used && cgroups ? next_on_list(slot) : tree_next(slot);
}

/* What a client's weight comes to in the CPU's own queue. */
static u64 flat_weight(u32 slot)
{
	u64 weight = client_at(slot)->weight;
	u32 level, part = above(slot);

	for (level = loop_start; part && level < MOST_LEVELS && can_loop_afresh(); level++) {
		weight = weight * client_at(part)->weight /
			 (queue_at(client_at(part)->own.mine)->load | 1);
		part = above(part);
	}
	return weight;
}

#include "eevdf_group_changes.bpf.h"

static bool is_aside(u32 slot)
{
	return client_at(slot)->own.aside;
}

#include "eevdf_sessions.bpf.h"

#endif
