/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What fair schedulers of Linux have in common, cfs and eevdf: each CPU has a queue of its
 * own, in which tasks compete by virtual time, CPU time by weight. The one that runs takes
 * part, but is not in the tree of the waiting ones.
 *
 * The policy that includes this defines before it struct own_part and struct own_queue, its
 * parts of a task and of a queue, and its order, as tree.bpf.h wants it; after it
 *  - join(slot, cpu): gives a task its place in a queue, and calls join_queue();
 *  - leave(slot, sleeps): notes what the task comes back with, and calls leave_queue();
 *  - reweigh(slot, weight): the task's weight changes;
 *  - advanced(slot, by): the task's virtual time has just advanced by that.
 * and, as there are groups (fair_groups.bpf.h), which have queues within a CPU's,
 *  - tree_of(slot): the tree in which the task waits;
 *  - wait_above(slot), leave_above(slot): it has just come into or left that;
 *  - charge_above(slot, ns): it had the CPU for that long;
 *  - first_waiting(cpu), next_client(slot): those that wait in all trees of a CPU, one by one;
 *  - load_on(cpu): weight of those that take part on a CPU: groups count as one;
 *  - flat_weight(slot): what a task's weight is worth in that.
 * With FAIR_ELEVATION defined before it, a task that received something weighs more for a while.
 * Everything here needs the lock.
 */
#ifndef ROTA_FAIR_QUEUE_BPF_H
#define ROTA_FAIR_QUEUE_BPF_H

#include "tree.bpf.h"
#include "weights.bpf.h"

#define SHORT_NS 10000 /* as long as a switch can take: a CPU is not away before that */

static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;

struct client {
	s64 vruntime;	/* virtual time, ns */
	u64 ran_ns;	/* CPU time charged since then: */
	u64 since;	/* on the clock */
	u64 since_used; /* its CPU time then */
	u64 stopped_at; /* on the clock, when it had the CPU last */
	u32 weight;
	u32 home;     /* CPU + 1 with the queue in which it takes part, 0: none */
	u32 last_cpu; /* with the queue it was in last */
	bool known;   /* had a place in a queue before */
	bool waits;   /* in the tree */
	bool slept;   /* it is away, or was, to sleep */
	bool delayed; /* sleeps, and takes part still */
	bool off;     /* stopped, and is not runnable */
	bool changes; /* and was taken out where it runs, to be put back at once */
	bool looks;   /* whether it has to give way then */
	struct own_part own;
};

/*
 * Of the task that came last. What is known of it stays in memory, of which a verifier assumes
 * nothing: it would go through everything that follows for each value.
 */
struct arrival {
	bool comes;    /* and did not take part there, or slept */
	bool is_new;   /* for the first time */
	bool preempts; /* the task that runs there */
};

struct cpu_queue {
	u32 nr;		/* clients that take part */
	u32 nr_waiting; /* in the tree and not asleep */
	u32 running;	/* the task that runs, 0: none */
	u64 next_balance;
	u64 away_since; /* it runs a higher class, or is between two tasks; 0: neither */
	bool switches;	/* a decision picked another task, which does not run yet */
	bool gives_way; /* the running task does, at the next tick */
	struct arrival arrival;
	u32 picked;  /* by the last decision */
	u32 in_vain; /* times that balancing moved none, one after the other */
	struct own_queue own;
};

struct client clients[NR_SLOTS];
struct cpu_queue queues[MAX_CPUS];
u32 nr_waiting; /* on all CPUs */

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

static struct cpu_queue *queue_of(u32 cpu)
{
	return &queues[cpu % MAX_CPUS];
}

/*
 * A CPU that is neither idle nor runs a task of ours has one of a higher class: real-time,
 * deadline, or the kernel's stopper. ops.cpu_release would not report it of a CPU that was idle.
 */
static bool is_away(u32 cpu)
{
	return queue_of(cpu)->away_since;
}

static struct cpu_queue *home_of(const struct client *c)
{
	return queue_of(c->home - 1);
}

static void join(u32 slot, u32 cpu);
static void leave(u32 slot, bool sleeps);
static void reweigh(u32 slot, u32 weight);
static void advanced(u32 slot, s64 by);

static u32 *tree_of(u32 slot);
static void wait_above(u32 slot);
static void leave_above(u32 slot);
static void charge_above(u32 slot, s64 ns);
static u32 first_waiting(u32 cpu);
static u32 next_client(u32 slot);
static u64 load_on(u32 cpu);
static u64 flat_weight(u32 slot);

#ifdef FAIR_ELEVATION
#include "elevated.bpf.h"
#else
u64 time_now;

/* For the begin of callbacks. */
static void time_is(u64 now)
{
	time_now = now;
}
#endif

#ifdef FAIR_FAMILIES
#include "families.bpf.h"
#else
#ifndef FAIR_ELEVATION
/* What a client's own weight is here. */
static u32 divided(u32 slot, u32 weight)
{
	return weight;
}
#endif

static u64 virtual_of(u32 slot, u64 ns)
{
	return virtual_ns(ns, client_at(slot)->weight);
}

static void serve_family(u32 slot, s64 ns)
{
}

#endif

static void join_queue(struct client *c, u32 cpu)
{
	struct cpu_queue *q = queue_of(cpu);

	c->home = cpu + 1;
	c->last_cpu = cpu;
	c->known = true;
	q->nr++;
}

static void leave_queue(struct client *c)
{
	struct cpu_queue *q = home_of(c);

	c->home = 0;
	q->nr--;
}

/* In its caller, where that is eight calls deep already. */
__kinline void begin_waiting(u32 slot)
{
	struct client *c = client_at(slot);
	struct cpu_queue *q = home_of(c);

	if (c->waits || !c->home)
		return;
	c->waits = true;
	q->nr_waiting += !c->delayed;
	nr_waiting += !c->delayed;
	tree_insert(tree_of(slot), slot);
	wait_above(slot);
}

static void start_waiting(u32 slot)
{
	begin_waiting(slot);
}

static void stop_waiting(u32 slot)
{
	struct client *c = client_at(slot);
	struct cpu_queue *q = home_of(c);

	if (!c->waits)
		return;
	c->waits = false;
	q->nr_waiting -= !c->delayed;
	nr_waiting -= !c->delayed;
	tree_remove(tree_of(slot), slot);
	leave_above(slot);
}

/* It takes part no more, wherever that was. */
static void take_out(u32 slot, bool sleeps)
{
	struct client *c = client_at(slot);

	if (!c->home)
		return;
	stop_waiting(slot);
	leave(slot, sleeps);
	c->delayed = false;
}

/* A client that does not wait takes part in @cpu's queue from here on. */
static void move_in(u32 slot, u32 cpu)
{
	struct client *c = client_at(slot);

	if (c->home == cpu + 1)
		return;
	if (c->home)
		take_out(slot, false);
	join(slot, cpu);
}

static void begin_charging(struct client *c, u64 now, u64 used_ns)
{
	c->ran_ns = 0;
	c->since = now;
	c->since_used = used_ns;
}

/* It has run for @ran_ns since charging began. Of less than was thought takes some back. */
__kinline void charge(u32 slot, u64 ran_ns)
{
	struct client *c = client_at(slot);
	s64 by = virtual_of(slot, ran_ns) - virtual_of(slot, c->ran_ns);
	s64 ns = ran_ns - c->ran_ns;

	c->ran_ns = ran_ns;
	if (!by || !c->home)
		return;
	c->vruntime += by;
	advanced(slot, by);
	charge_above(slot, ns);
	serve_family(slot, ns);
}

__kinline void charge_used(u32 slot, u64 used_ns)
{
	charge(slot, used_ns - client_at(slot)->since_used);
}

/* Of one that runs elsewhere only the clock can tell; charge_used() sets it right later. */
static void charge_clock(u32 slot, u64 now)
{
	const struct client *c = client_at(slot);

	if (slot && (s64)(now - c->since) > (s64)c->ran_ns)
		charge(slot, now - c->since);
}

static void set_weight(u32 slot, u32 weight)
{
	struct client *c = client_at(slot);
	bool waited = c->waits;

	weight = divided(slot, weight);
	if (weight == c->weight)
		return;
	c->looks |= c->changes & (weight < c->weight);
	stop_waiting(slot);
	reweigh(slot, weight);
	if (waited)
		start_waiting(slot);
}

#endif
