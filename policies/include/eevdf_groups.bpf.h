/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups as eevdf has them: kernel/sched/fair.c of Linux 7.2, with the functions named. What
 * groups are is in fair_groups.bpf.h. A group's weight is divided among its parts on the CPUs by
 * the load of their queues; a part is a client with lag, deadline and slice as a task, and can
 * take part, too, when all its tasks sleep (delayed). Parts stay, once made, for as long as the
 * group. Those above the task that runs are in no tree, and are the chain of their CPU.
 *
 * Not here: what a CPU's parts were used and runnable (util_avg and runnable_avg of their queues)
 * is known of the CPU only. Needs the lock.
 */
#ifndef ROTA_EEVDF_GROUPS_BPF_H
#define ROTA_EEVDF_GROUPS_BPF_H

u32 group_parts[NR_GROUPS][MAX_CPUS]; /* the slots of their parts, 0: none yet */
u64 group_loads[NR_GROUPS];	      /* of all parts (tg->load_avg) */
u32 group_aged[NR_GROUPS];	      /* the CPU of which the part was aged last, in turn */
u32 parts_used, free_part;

#define MOST_CHANGED NR_QUEUES /* each is in it once */

u32 changed_parts[MOST_CHANGED]; /* a ring, in the order in which they did */
u32 first_changed, nr_changed;

static u32 *part_of(u32 group, u32 cpu)
{
	return &group_parts[group % NR_GROUPS][cpu % MAX_CPUS];
}

static u64 *group_load(u32 group)
{
	return &group_loads[group % NR_GROUPS];
}

#include "eevdf_buddies.bpf.h"
#include "eevdf_limits.bpf.h"
#include "eevdf_group_loads.bpf.h"

static u32 *tree_of(u32 slot)
{
	return &queue_around(client_at(slot))->root;
}

/* A new part of a group on @cpu, 0: there is no room. */
static u32 part_take(u32 group, u32 cpu)
{
	u32 queue = free_part, slot;

	if (!queue && parts_used == NR_QUEUES - MAX_CPUS)
		return 0;
	slot = part_slot_take();
	if (!slot)
		return 0;
	if (queue)
		free_part = queue_at(queue)->next_free;
	else
		queue = MAX_CPUS + parts_used++;
	*queue_at(queue) = (struct entity_queue){.owner = slot, .aged_at = time_now};
	*client_at(slot) = (struct client){.last_cpu = cpu, .known = true};
	client_at(slot)->weight = group_at(group)->weight;
	client_at(slot)->own.slice_ns = base_slice;
	client_at(slot)->own.group = group;
	client_at(slot)->own.mine = queue;
	*average_of(slot) = (struct client_average){.attached = cpu + 1, .known = true};
	average_of(slot)->aged_at = work_clock(cpu, time_now);
	*part_of(group, cpu) = slot;
	begin_list(aside_of(queue));
	return slot;
}

static void put_around(u32 part, u32 queue)
{
	if (!part)
		return;
	client_at(part)->own.around = queue;
	client_at(part)->own.above = queue_at(queue)->owner;
	average_of(part)->queue = queue;
}

/* The queue of @group on @cpu; where there is no room for its part, of a group above it. */
static __attribute__((noinline)) u32 new_queue_for(u32 group, u32 cpu)
{
	u32 level, below = 0, found = 0;

	for (level = loop_start; group && level < MOST_LEVELS && can_loop_afresh(); level++) {
		u32 part = *part_of(group, cpu);
		bool begins = !part;

		if (begins)
			part = part_take(group, cpu);
		group = group_at(group)->parent;
		if (!part)
			continue;
		put_around(below, client_at(part)->own.mine);
		found = found ? found : client_at(part)->own.mine;
		if (!begins)
			return found;
		below = part;
	}
	put_around(below, first_queue(cpu));
	return found ? found : first_queue(cpu);
}

static u32 queue_for(u32 group, u32 cpu)
{
	u32 part;

	if (!cgroups || !group)
		return first_queue(cpu);
	part = *part_of(group, cpu);
	return part ? client_at(part)->own.mine : new_queue_for(group, cpu);
}

/* The weight that a part has of its group's. (calc_group_shares) */
static u32 weight_of_part(u32 part)
{
	struct client *c = client_at(part);
	const struct entity_queue *q = queue_at(c->own.mine);
	u64 load = max_s64(q->load, q->load_average), weight = group_at(c->own.group)->weight;
	u64 sum = max_s64(0, *group_load(c->own.group) - q->counted) + load;

	/* One that is empty keeps what it has. (update_cfs_group) */
	if (!q->load)
		return c->weight;
	return max_s64(1, min_s64(weight, weight * load / sum));
}

/* What has changed in a part's queue, it must follow: see settle(). */
static void changed(u32 part)
{
	struct client *c = client_at(part);

	if (!part || c->own.changed)
		return;
	c->own.changed = true;
	changed_parts[(first_changed + nr_changed) % MOST_CHANGED] = part;
	nr_changed++;
}

/* The first comes, or is awake again. (enqueue_entity, requeue_delayed_entity) */
static void part_comes(u32 part)
{
	struct client *c = client_at(part);

	if (c->delayed) {
		note_lag(c);
		c->delayed = false;
		if (average(queue_around(c)) - c->own.lag == c->vruntime)
			return;
		count_out(c);
	}
	place(part);
	c->home = c->last_cpu + 1;
}

/* The last has gone. One that is behind takes part still, until it is picked. (dequeue_entity) */
static void part_goes(u32 part)
{
	struct client *c = client_at(part);
	bool delays = !c->own.is_paid && !no_delay_dequeue && c->own.went != WENT_ASIDE &&
		      !is_eligible(c);

	clear_buddies(part);
	if (are_limited())
		give_time_back(queue_at(c->own.mine), c->own.group);
	note_lag(c);
	c->delayed = delays;
	if (c->own.is_paid)
		c->own.went = WENT_TO_SLEEP;
	c->own.is_paid = false;
	if (delays)
		return;
	count_out(c);
	c->home = 0;
	one_went(above(part), c->own.went);
	if (queue_around(c)->curr == part) {
		queue_around(c)->curr = 0;
		queue_of(c->last_cpu)->own.chain = above(part);
	}
}

enum settle_step { SETTLE_NEXT, SETTLE_WEIGHT, SETTLE_OUT, SETTLE_REWEIGH, SETTLE_IN };

/*
 * What settles, and what it has to do. In memory, of which a verifier assumes nothing: it would go
 * through everything that follows for each value.
 */
struct settling {
	u32 part, weight;
	u8 step; /* that comes next */
	bool comes, goes;
	bool waits; /* as it should */
} settling;

/* The next part: as its members want to run, or do not. */
static void settle_next(volatile struct settling *s)
{
	u32 part = changed_parts[first_changed % MOST_CHANGED];
	struct client *c = client_at(part);
	struct entity_queue *q = queue_at(c->own.mine);

	first_changed++;
	nr_changed--;
	c->own.changed = false;
	s->part = part;
	s->comes = q->nr && (!c->home || c->delayed);
	s->goes = !q->nr && c->home && (!c->delayed || c->own.is_paid);
	s->step = SETTLE_WEIGHT;
	age_group_queue(q);
}

/* (update_cfs_group; se->slice) */
static void settle_weight(volatile struct settling *s, u32 part)
{
	struct client *c = client_at(part);
	const struct entity_queue *q = queue_at(c->own.mine);

	s->step = SETTLE_OUT;
	load_of(part, time_now);
	s->weight = weight_of_part(part);
	if (q->nr && (q->root || q->curr))
		c->own.slice_ns = least_slice(q, 1ll << 61);
}

/* Out of its tree. One that stays keeps its place among those with the same deadline. */
static void settle_out(volatile struct settling *s, u32 part)
{
	struct client *c = client_at(part);

	s->waits = c->home && queue_around(c)->curr != part;
	if (!s->comes && !s->goes && s->weight == c->weight && c->waits == s->waits) {
		s->step = SETTLE_NEXT;
		if (c->waits)
			tree_renew_notes_up(part);
		changed(above(part));
		return;
	}
	s->step = SETTLE_REWEIGH;
	if (c->waits)
		tree_remove(tree_of(part), part);
}

static void settle_reweigh(volatile struct settling *s, u32 part)
{
	s->step = SETTLE_IN;
	if (queue_at(client_at(part)->own.mine)->nr)
		reweigh(part, s->weight);
}

/* (enqueue_task_fair, dequeue_entities) */
static void settle_in(volatile struct settling *s, u32 part)
{
	struct client *c = client_at(part);

	s->step = SETTLE_NEXT;
	if (s->comes)
		part_comes(part);
	else if (s->goes)
		part_goes(part);
	s->waits = c->home && queue_around(c)->curr != part;
	c->waits = s->waits;
	if (s->waits)
		tree_insert(tree_of(part), part);
	changed(above(part));
}

/*
 * Parts of which the queues have changed follow that, and those above them. Later, and in a loop,
 * not where it happens: a verifier goes through all of it wherever it is called. Step by step, as
 * where a loop begins anew it goes on only if it does not know that already. What came first is
 * placed first: of equal deadlines its is the earlier one.
 */
static __attribute__((noinline)) void settle(void)
{
	volatile struct settling *s = &settling;

	s->step = SETTLE_NEXT;
	while ((s->step || nr_changed) && can_loop_afresh()) {
		switch (s->step) {
		case SETTLE_NEXT:
			settle_next(s);
			break;
		case SETTLE_WEIGHT:
			settle_weight(s, s->part);
			break;
		case SETTLE_OUT:
			settle_out(s, s->part);
			break;
		case SETTLE_REWEIGH:
			settle_reweigh(s, s->part);
			break;
		default:
			settle_in(s, s->part);
		}
	}
}

/* A task that was moved is not hot. (enqueue_entity) */
static void join(u32 slot, u32 cpu)
{
	struct client *c = client_at(slot);

	if (c->last_cpu != cpu)
		c->stopped_at = 0;
	list_in(slot, cpu);
	if (!c->delayed)
		expect(slot, cpu);
	c->own.around = queue_for(c->own.group, cpu);
	c->own.above = cgroups ? queue_around(c)->owner : 0;
	place_here(slot);
	join_queue(c, cpu);
	overloaded |= queue_of(cpu)->nr >> 1; /* (add_nr_running) */
	c->own.counts_idle = is_idle_task(c);
	queue_of(cpu)->own.nr_idle += c->own.counts_idle;
	changed(above(slot));
}

/* (dequeue_entity) */
static void leave(u32 slot, bool sleeps)
{
	struct client *c = client_at(slot);
	struct cpu_queue *q = home_of(c);

	note_lag(c);
	if (!sleeps && !no_place_rel_deadline) {
		c->own.deadline -= c->vruntime;
		c->own.has_rel_deadline = true;
	}
	list_out(slot);
	if (!c->delayed)
		expect_less(slot, c->home - 1, sleeps);
	count_out(c);
	/* One that has the CPU is taken away from it. */
	if (queue_around(c)->curr == slot)
		queue_around(c)->curr = 0;
	q->own.nr_idle -= c->own.counts_idle;
	leave_queue(c);
	/* (dequeue_entities) */
	q->own.hurries |= !c->own.counts_idle & (q->own.nr_idle != 0) & (q->own.nr_idle == q->nr);
	one_went(above(slot), sleeps ? WENT_TO_SLEEP : WENT_AWAY);
	changed(above(slot));
}

static void wait_above(u32 slot)
{
	u32 part = above(slot);

	/* All that took part was on its way to a CPU: see part_waits_no_more(). */
	if (part && !client_at(part)->waits && queue_around(client_at(part))->curr != part)
		changed(part);
}

static void leave_above(u32 slot)
{
}

static __attribute__((noinline)) void charge_parts(u32 part, s64 ns)
{
	bool clears = false;
	u32 level;

	for (level = loop_start; part && level < MOST_LEVELS && can_loop_afresh(); level++) {
		struct client *c = client_at(part);
		struct entity_queue *q = queue_around(c);
		s64 by = virtual_ns(ns < 0 ? -ns : ns, c->weight);

		by = ns < 0 ? -by : by;
		/* All of them are in the chain of the CPU. */
		if (c->home && !c->waits) {
			c->vruntime += by;
			advanced(part, by);
			clears |= c->vruntime >= c->own.protected_to && q->nr > 1;
		}
		/* As clear_buddies() on the way up, which would be a call too deep. */
		clears &= q->buddy == part;
		if (clears)
			q->buddy = 0;
		if (are_limited() && limit_of(c->own.group)->quota_ns)
			account(queue_at(c->own.mine), c->own.group, ns);
		part = above(part);
	}
}

/* Those above a client that ran for @ns, where that may be less than was thought. (update_curr) */
static void charge_above(u32 slot, s64 ns)
{
	if (above(slot))
		charge_parts(above(slot), ns);
}

#include "eevdf_levels.bpf.h"

#endif
