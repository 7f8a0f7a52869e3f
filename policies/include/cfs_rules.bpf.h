/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules of the completely fair scheduler of Linux 2.6.24, for cfs and for policies that give
 * its tasks other weights: see cfs.bpf.c.
 */
#ifndef ROTA_CFS_RULES_BPF_H
#define ROTA_CFS_RULES_BPF_H

enum { CREDIT_LATENCY, CREDIT_LOAD };

const volatile u64 sched_latency_ns help_text("the period, with one CPU") unit(ns)
range(100000, 200000000) = 20000000;
const volatile u64 sched_min_granularity_ns
	help_text("part of each when the period is stretched, with one CPU") unit(ns)
	range(10000, 200000000) = 4000000;
const volatile u64 sched_wakeup_granularity_ns
	help_text("by how much a woken task must be behind to preempt, with one CPU") unit(ns)
	range(0, 1000000000) = 10000000;
const volatile u32 imbalance_pct
	help_text("load of another CPU, in percent of its own, from which a CPU pulls")
	range(100, 1000) = 125;
const volatile bool no_scaling help_text("those times do not grow with the number of CPUs");
const volatile bool no_new_fair_sleepers help_text("a task that slept begins at min_vruntime");
const volatile u32 sleeper_credit help_text("how far before min_vruntime a task that slept begins: "
					    "sched_latency_ns, or that by the "
					    "others' load") values("latency|load") = CREDIT_LATENCY;
const volatile bool no_start_debit help_text("a new task begins at min_vruntime");
const volatile bool no_wakeup_preempt help_text("a task that wakes up waits for the next decision");

struct cfs_stats {
	u64 picks help_text("decisions that picked a task");
	u64 kept help_text("of these, for the task that ran");
	u64 preemptions help_text("tasks that came and preempted another");
	u64 pulls help_text("tasks pulled to another CPU");
#ifdef FAIR_ELEVATION
	u64 elevations
		help_text("times that a task that received something got another nice value");
	u64 load gauge help_text("load of each CPU, of 2048");
#endif
};

struct cfs_stats stats;

#define SCALED_LIMIT_NS 200000000

u64 latency, min_granularity, wakeup_granularity;
u32 nr_latency; /* clients that a period has room for */

#define NR_GROUPS 512
#ifndef CGROUPS_DEFAULT
#define CGROUPS_DEFAULT false
#endif

/* Of those that take part in a CPU's queue or in that of a group there, not in queues below. */
struct entity_queue {
	u32 root;
	u32 nr;
	u64 load;
};

struct own_part {
	u32 group;  /* its cgroup's */
	u32 around; /* the one with the queue in which it takes part, or did last */
	u32 above;  /* the slot of that on its CPU */
	bool is_group;
	bool is_batch;		   /* of SCHED_BATCH */
	struct entity_queue queue; /* of a group */
};

struct own_queue {
	struct entity_queue queue;
};

#include "fair_queue.bpf.h"
#include "fair_groups.bpf.h"
#include "fair_balance.bpf.h"
#include "fair_ops.bpf.h"

static bool tree_before(u32 a, u32 b)
{
	return client_at(a)->vruntime < client_at(b)->vruntime;
}

/* (place_entity) A task that takes part in @q since now slept when its @min_vruntime was less. */
static void place_slept(struct client *c, const struct entity_queue *q, s64 min_vruntime)
{
	u64 others = q->load - c->weight, credit = latency;
	s64 place;

	/* Alone it has no task to be before. */
	if (sleeper_credit == CREDIT_LOAD && others)
		credit = virtual_ns(latency, others);
	place = no_new_fair_sleepers ? min_vruntime : min_vruntime - (s64)credit;
	if (c->vruntime < place)
		c->vruntime = place;
}

#include "cfs_groups.bpf.h"

#if !defined(FAIR_FAMILIES) && !defined(FAIR_ELEVATION)
static void family_wants(u32 slot, bool wants)
{
}
#endif

#ifndef FAIR_FAMILIES
static u32 undivided(u32 slot)
{
	return client_at(slot)->weight;
}

static void family_slept(u32 slot)
{
}

static u64 debt_of_new(u32 slot, u64 after)
{
	return after;
}

static bool stretches(void)
{
	return true;
}

static u64 least_slice(u32 slot)
{
	return 0;
}
#endif

static u32 *tree_of(u32 slot)
{
	return root_in(above(slot), client_at(slot)->home - 1);
}

/* (__sched_period) */
static u64 period(u32 nr)
{
	return nr > nr_latency && stretches() ? latency * nr / nr_latency : latency;
}

/*
 * period × weight / load (sched_slice). The product can exceed 64 bits, so the period is taken
 * in two parts: of a load below 2^45 a remainder has room for 16 bits more.
 */
static u64 slice_in(const struct entity_queue *q, u64 weight, u64 floor)
{
	u64 ns = period(q->nr), high = (ns >> 16) * weight, low = (ns & 0xffff) * weight;

	ns = (high / q->load << 16) + ((high % q->load << 16) + low) / q->load;
	return !stretches() && ns < floor ? floor : ns;
}

/* Its own, or that of a group around it if that is shorter. */
static __attribute__((noinline)) u64 ideal_slice(u32 slot)
{
	u32 cpu = client_at(slot)->home - 1, level;
	u64 floor = least_slice(slot), ns;
	u64 least = slice_in(queue_in(above(slot), cpu), client_at(slot)->weight, floor);

	for (level = loop_start; above(slot) && level < MOST_LEVELS && can_loop(); level++) {
		slot = above(slot);
		ns = slice_in(queue_in(above(slot), cpu), client_at(slot)->weight, floor);
		if (ns < least)
			least = ns;
	}
	return least;
}

/* (update_curr) */
static void advanced(u32 slot, s64 by)
{
	min_advances(slot, client_at(slot)->home - 1);
}

/* What fair_balance.bpf.h goes by: of the CPU's own queue, with groups at their weights. */
static u64 load_on(u32 cpu)
{
	return queue_of(cpu)->own.queue.load;
}

/* (place_entity, set_task_cpu) */
static void join(u32 slot, u32 cpu)
{
	struct client *c = client_at(slot);
	s64 min = queue_around(slot, c->last_cpu)->min_vruntime;
	u32 part = group_joins(c->own.group, cpu);
	struct entity_queue *q = queue_in(part, cpu);

	c->own.above = part;
	c->own.around = part ? c->own.group : 0;
	q->nr++;
	q->load += c->weight;
	c->vruntime += queue_around(slot, cpu)->min_vruntime - min;
	if (!c->known) {
		/* What the period has room for is promised to the others. */
		u64 after = no_start_debit ? 0 : virtual_ns(period(q->nr), q->load);

		c->vruntime = queue_around(slot, cpu)->min_vruntime + debt_of_new(slot, after);
	} else if (c->slept) {
		family_slept(slot);
		place_slept(c, q, queue_around(slot, cpu)->min_vruntime);
	}
	c->slept = false;
	join_queue(c, cpu);
	family_wants(slot, true);
}

static void leave(u32 slot, bool sleeps)
{
	struct client *c = client_at(slot);
	struct entity_queue *q = queue_in(above(slot), c->last_cpu);

	c->slept = sleeps;
	q->nr--;
	q->load -= c->weight;
	group_leaves(above(slot), c->last_cpu);
	leave_queue(c);
	family_wants(slot, false);
}

static void reweigh(u32 slot, u32 weight)
{
	struct client *c = client_at(slot);

	if (c->home) {
		queue_in(above(slot), c->last_cpu)->load += (s64)weight - c->weight;
	}
	c->weight = weight;
}

static void comes_awake(u32 slot, struct task_struct *p)
{
}

static void ask(u32 slot, struct task_struct *p)
{
	client_at(slot)->own.is_batch = p->policy == POLICY_BATCH;
}

static void revive(u32 slot)
{
}

static void lies_down(u32 slot)
{
	leave(slot, true);
}

/* (pick_next_entity) */
static u32 pick(u32 cpu, u32 prev)
{
	u32 first;

	/* In a group it competes in what the group does: for a moment it waits there too. */
	if (prev && above(prev))
		start_waiting(prev);
	first = tree_first(*root_in(0, cpu));
	if (prev && !above(prev) &&
	    (!first || client_at(prev)->vruntime < client_at(first)->vruntime))
		return prev;
	first = first_client(first);
	if (prev)
		stop_waiting(prev);
	return first;
}

static void begin(u32 slot, bool again)
{
}

static void gets_cpu(u32 slot, u32 cpu)
{
}

static void gives_cpu(u32 slot)
{
}

static bool tick_above(u32 slot)
{
	return false;
}

static bool is_aside(u32 slot)
{
	return false;
}

static void not_aside(u32 slot)
{
}

/* Only cgroups are groups. */
static u32 group_in(u32 slot, u32 group)
{
	return group;
}

/* (check_preempt_tick) */
static bool is_over(u32 slot)
{
	return client_at(slot)->ran_ns > ideal_slice(slot);
}

static u64 time_left(u32 slot)
{
	u64 slice = ideal_slice(slot);

	return slice ? slice : 1;
}

static bool revives_first(void)
{
	return false;
}

static bool notices(u32 cpu, u32 slot)
{
	return false;
}

static bool is_lazy(void)
{
	return false;
}

static bool goes_on(void)
{
	return false;
}

static u32 level_of(u32 slot)
{
	return group_at(client_at(slot)->own.around)->level;
}

/* (check_preempt_wakeup, task_new_fair) They compare where their groups meet. */
static __attribute__((noinline)) bool preempts(u32 cpu, u32 slot, bool comes_first_time)
{
	u32 other = queue_of(cpu)->running, step;
	const struct client *running, *c = client_at(slot);
	u64 granularity;

	if (c->own.is_batch && !comes_first_time)
		return false;

	for (step = loop_start; above(slot) != above(other) && step < 2 * MOST_LEVELS && can_loop();
	     step++) {
		if (level_of(other) >= level_of(slot))
			other = above(other);
		else
			slot = above(slot);
	}
	running = client_at(other);
	c = client_at(slot);
	granularity = virtual_ns(wakeup_granularity, undivided(other));
	if (comes_first_time)
		return c->vruntime < running->vruntime;
	return !no_wakeup_preempt && c->vruntime + (s64)granularity < running->vruntime;
}

static u64 scaled(u64 ns, u64 factor, u64 limit)
{
	return ns * factor < limit ? ns * factor : limit;
}

/* (sched_init_granularity) */
static s32 cfs_start(void)
{
	s32 err = slots_init();
	u64 factor = 1 + loop_start;
	u32 cpus;

	for (cpus = nr_cpus + loop_start; cpus > 1 && !no_scaling && can_loop(); cpus /= 2)
		factor++;
	latency = scaled(sched_latency_ns, factor, SCALED_LIMIT_NS);
	min_granularity = scaled(sched_min_granularity_ns, factor, SCALED_LIMIT_NS);
	wakeup_granularity = sched_wakeup_granularity_ns * factor;
	nr_latency = (latency + min_granularity - 1) / min_granularity;
	return err;
}

#endif
