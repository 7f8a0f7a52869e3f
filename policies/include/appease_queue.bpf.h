/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which task is next [CAS §4]: those that serve a request (Q0), the highest total first; then all
 * others (Q1), by virtual time. And the reserve of Q1.
 */
#ifndef ROTA_APPEASE_QUEUE_BPF_H
#define ROTA_APPEASE_QUEUE_BPF_H

#include "elevation.bpf.h"
#include "slots.bpf.h"

struct appease_stats {
	u64 requests help_text("requests that arrived");
	u64 answered help_text("of these, answered");
	u64 waited_ns help_text("total unhappiness of the customers that were answered");
	u64 open gauge help_text("requests that are not over");
	u64 services help_text("requests of tasks on behalf of a request");
	u64 pooled help_text("threads woken on behalf of a request");
	u64 refused help_text("requests of clients that do not count as customers");
	u64 forgotten help_text("requests that needed no answer, or got none");
	u64 reserved help_text("quanta of the others' reserve");
	u64 preemptions help_text("tasks that came and preempted another");
	u64 load gauge help_text("mode=rbpe: load of each CPU, of 2048");
	u64 scans help_text("decisions that compared every waiting task");
	u64 no_room help_text("requests beyond the 32767 that there is room for");
};

struct appease_stats stats;

#include "unhappiness.bpf.h"

#define MOST_OWED 16 /* quanta */

enum newborns { NEWBORNS_Q1, NEWBORNS_Q0 };

QUANTUM_TUNABLE_OF(4000000);
volatile u32 reserve help_text("part of the CPU time reserved for tasks that serve no request")
scale(1000) range(0, 0.9) = 50;
const volatile u64 newborn_ns
	help_text("virtual time by which a new process is before others, and its parent pays; with "
		  "newborns=q0 what it has waited as it begins") unit(ns) range(0, 1000000000) =
		4000000;
const volatile u32 newborns help_text("new processes begin among the others, or for a quantum "
				      "among those that serve [CAS "
				      "§4, 8]") values("q1|q0") = NEWBORNS_Q1;

enum rank { RANK_REQUEST, RANK_OTHERS };

struct client {
	u64 virt;	/* in Q1, ns of nice 0 */
	u64 charged_at; /* its CPU time when last charged */
	u64 charged_ns; /* the time then */
	u64 newborn_ns; /* CPU time that it may have in Q0, as it is new */
	u64 place;	/* in the order of all that wait, lowest first */
	struct elevation elevation;
	u32 weight;
	u32 elevated_weight; /* when last charged */
	u32 share;	     /* as its requests weigh, 100: nice 0 */
	u32 tgid;	     /* its process and session when it last read from a socket */
	u32 session;
	u32 best;    /* that request; 0: none */
	u32 rank;    /* enum rank */
	u32 runs_as; /* that for which it has the CPU */
	u32 expects; /* the request that it was woken for and has not read yet */
	bool serves; /* it has read from a socket */
	u32 next_misplaced;
	bool misplaced;
	bool queued;
	bool comes; /* became runnable and was not enqueued yet */
};

struct cpu_state {
	u32 running; /* 0: none of ours */
	bool gives_way;
	bool reserved; /* a quantum of what Q1 has in any case */
};

struct client clients[NR_SLOTS];
struct cpu_state cpus[MAX_CPUS];
u64 min_virt; /* of Q1 */
u64 owed_ns;  /* to Q1 */
u64 decided_at;
u32 others_wait; /* of Q1 */
u32 misplaced;	 /* it waits, but not where it belongs any more: the first of a list */
u32 nr_runnable;
bool others_turn;

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

/* How late in the order a client is: any of Q1 after any of Q0, and there by virtual time. */
#define LATER_RANK (1ull << 63)

static u64 lateness(const struct client *c, u64 virt)
{
	return c->rank * LATER_RANK | (virt & (LATER_RANK - 1));
}

/* How long a customer has waited for this task of Q0, or what a new one has itself. */
static u64 waited_for(u32 slot, u64 now)
{
	const struct client *c = client_at(slot);
	const struct request *r = request_at(c->best);

	if (c->best)
		return unhappiness_of(r, now) + r->above;
	return newborn_ns + clock_of(holder_at(slot), now);
}

static u64 total_at(u32 slot, u64 now)
{
	const struct client *c = client_at(slot);

	return waited_for(slot, now) / 1000 * (c->best ? request_at(c->best)->weight : PLAIN);
}

/* Where it belongs, by what it holds now. */
static void rank_anew(u32 slot, u64 now)
{
	struct client *c = client_at(slot);

	c->best = request_to_serve(slot, now);
	c->rank = c->best || c->newborn_ns ? RANK_REQUEST : RANK_OTHERS;
	/* Totals grow as time does. */
	c->place = c->rank == RANK_REQUEST ? LATER_RANK / 2 + now - waited_for(slot, now)
					   : lateness(c, c->virt);
}

/* In an order that does not change while they wait, if all requests weigh the same. */
static bool ranks_above(u32 a, u32 b)
{
	const struct client *one = client_at(a), *other = client_at(b);

	if (one->place != other->place)
		return one->place < other->place;
	return pid_of[a & SLOT_MASK] < pid_of[b & SLOT_MASK];
}

static bool pick_rule_differs(void)
{
	return others_turn || uneven_requests;
}

static bool runs_before(u32 a, u32 b)
{
	const struct client *one = client_at(a), *other = client_at(b);
	u64 total, other_total;

	if (others_turn && (one->rank == RANK_OTHERS) != (other->rank == RANK_OTHERS))
		return one->rank == RANK_OTHERS;
	if (one->rank == RANK_REQUEST && other->rank == RANK_REQUEST) {
		total = total_at(a, decided_at);
		other_total = total_at(b, decided_at);
		if (total != other_total)
			return total > other_total;
	}
	return ranks_above(a, b);
}

#include "ranked.bpf.h"
#include "preemption.bpf.h"

static void queue_add(u32 slot, u64 now)
{
	struct client *c = client_at(slot);

	if (c->queued)
		return;
	rank_anew(slot, now);
	c->queued = true;
	others_wait += c->rank == RANK_OTHERS;
	ranked_add(slot);
}

static void queue_remove(u32 slot)
{
	struct client *c = client_at(slot);

	ranked_remove(slot);
	if (slot && c->queued) {
		c->queued = false;
		others_wait -= c->rank == RANK_OTHERS;
	}
}

/* What it holds has changed: if it waits it has another place, at the next decision. */
static void holder_changed(u32 slot)
{
	struct client *c = client_at(slot);

	if (!c->queued || c->misplaced)
		return;
	c->misplaced = true;
	c->next_misplaced = misplaced;
	misplaced = slot;
}

static void queue_renew(u64 now)
{
	while (misplaced && can_loop()) {
		u32 slot = misplaced;
		struct client *c = client_at(slot);

		misplaced = c->next_misplaced;
		c->misplaced = false;
		if (!c->queued)
			continue;
		queue_remove(slot);
		queue_add(slot, now);
	}
}

static void charge(struct client *c, u64 cpu_time, u64 now)
{
	u64 ran = cpu_time - c->charged_at, part = reserve;

	c->charged_at = cpu_time;
	c->charged_ns = now;
	c->elevated_weight = elevated(c->weight, elevation_level(&c->elevation, now));
	c->newborn_ns -= ran < c->newborn_ns ? ran : c->newborn_ns;
	decided_at = now;
	if (c->runs_as == RANK_OTHERS) {
		c->virt += virtual_ns(ran, c->elevated_weight);
		owed_ns -= ran < owed_ns ? ran : owed_ns;
		return;
	}
	if (part > 900)
		part = 900;
	if (others_wait)
		owed_ns += ran * part / (1000 - part);
	if (owed_ns > MOST_OWED * quantum_now())
		owed_ns = MOST_OWED * quantum_now();
}

/* The client to run on @cpu next: one that waits, or @prev (0: none). */
static struct choice queue_pick(u32 cpu, u32 prev, u64 now)
{
	struct choice choice;
	struct client *c;

	decided_at = now;
	queue_renew(now);
	others_turn = others_wait && owed_ns >= quantum_now();
	if (prev)
		rank_anew(prev, now);
	choice = ranked_pick(cpu, prev);
	cpus[cpu % MAX_CPUS].reserved = others_turn && client_at(choice.slot)->rank == RANK_OTHERS;
	others_turn = false;
	c = client_at(choice.slot);
	c->runs_as = c->rank;
	/* Here, as it may be the one that has the CPU, and keeps it for long. */
	if (choice.slot && c->rank == RANK_OTHERS && c->virt > min_virt)
		min_virt = c->virt;
	return choice;
}

static bool may_preempt(void)
{
	return true;
}

/* The CPU that should be preempted for @slot, which comes: 1 + its number, 0: none. */
static u32 cpu_to_preempt(u32 slot, u64 now)
{
	struct client *comes = client_at(slot);
	u32 cpu, found = 0;
	bool of_others;
	u64 latest;

	if (!place_of(slot))
		return 0;
	of_others = comes->rank == RANK_OTHERS;
	/* One of Q0 never takes a CPU from another one of Q0, whatever its virtual time. */
	latest = of_others ? lateness(comes, comes->virt + quantum_now() / 4) : LATER_RANK - 1;
	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++) {
		const struct cpu_state *state = &cpus[cpu % MAX_CPUS];
		struct client *c = client_at(state->running);
		u64 ran = now > c->charged_ns ? now - c->charged_ns : 0;
		u64 late = lateness(c, c->virt + virtual_ns(ran, c->elevated_weight));

		if (!state->running || state->gives_way || !slot_may_use(slot, cpu))
			continue;
		/* A reserved quantum is Q1's, whatever comes. */
		if (late <= latest || (state->reserved && !of_others))
			continue;
		latest = late;
		found = cpu + 1;
	}
	return taken(found);
}

#endif
