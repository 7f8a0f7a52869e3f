/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Families: tasks that shall have together what one task has, usually the threads of a
 * process [PFS §5]. A member's weight is its own, times what the family counts for, divided by
 * the number of members (eq. 6) or, with active_only, of those that want to run (eq. 7, renewed
 * when CPUs balance, but for more of them at once). The number is looked up when a member is
 * charged or waits anew: no walk over siblings.
 *
 * Queues are per CPU, and hold shares among the tasks on them. For shares of the machine that
 * is right where all queues have the same mix only. So with scope=machine each family has a
 * virtual time for the whole machine, too: CPU time of its members by the family's weight. The
 * mean of these by weight is the machine's. A family that is ahead of that is charged more for CPU
 * time, one that is behind less, in proportion to the distance, so that the distance settles and
 * shares are right from then on. It is charged as many times as it has threads that want to run: by
 * all its members, one that starts a thousand others, which sleep, would hardly come to do so. A
 * new thread begins later by as much as its family is ahead, or one that makes new ones all the
 * time would never pay. A family that cannot use its share, for want of threads or as they sleep,
 * is not owed more than its threads use in a round of slices. Charges are a 32nd at least, and four
 * times as much at most: with 64, members that ran while their family was ahead waited for those
 * that had not, half a minute in a crowd of a thousand. (With 0.13 s at most a process of 100
 * threads lost a twentieth of its share: while the others had the CPUs it was owed more.)
 *
 * No charge takes a CPU from threads that have it for themselves, though: queues with even weights
 * may hold one family only, or three siblings here and one there. So in a queue a member of a
 * family that is ahead weighs less, and so does one that is ahead of its siblings, which have such
 * a virtual time, too. Then the queues are not even, and the balancing mixes them, until none is
 * ahead. Siblings are charged alike. Queues go by all members, as weights that changed with each
 * sleep would move threads about.
 *
 * Groups have their weights on each CPU, and families compete within one: what is the machine's
 * above is the group's then, and a family that is in two is a family in each.
 *
 * The policy that includes this defines FAIR_FAMILIES before fair_queue.bpf.h, and after this
 *  - family_parts(members): for how many tasks the family counts.
 * Everything but family_key() needs the lock.
 */
#ifndef ROTA_FAMILIES_BPF_H
#define ROTA_FAMILIES_BPF_H

#include "leads.bpf.h"

#define HORIZON_BITS 27 /* one that is 2^27 ns ahead, 0.13 s, is charged double */
#define HORIZON	     (1ull << HORIZON_BITS)
#define SIBLING_BITS 26			    /* of siblings 67 ms */
#define LEAD_BITS    10			    /* of precision in that */
#define LEAST_FACTOR (1 << (LEAD_BITS - 5)) /* one behind is charged a part, 1/32 at least */
#define MOST_FACTOR  (1 << (LEAD_BITS + 2)) /* or one that ran while ahead would wait for ever */
#define MOST_LEAD    (1ll << 33)
#define MANY	     16
#define PIDTYPE_SID  3

enum { BY_PROCESS, BY_USER, BY_CGROUP, BY_SESSION };
enum { SCOPE_MACHINE, SCOPE_QUEUE };

const volatile u32 by help_text("which threads are a family: those of a process, a user, …")
values("process|user|cgroup|session") = BY_PROCESS;
const volatile u32 scope
	help_text("where shares hold: of the machine, or of each CPU's queue as in the paper")
	values("machine|queue") = SCOPE_MACHINE;
const volatile bool active_only help_text("only those of a family's threads count that want to "
					  "run, seen when CPUs balance");

struct family {
	u64 key;
	u64 weight;	       /* own weights of the members, added up */
	struct account own;    /* of its group */
	struct account inside; /* its members, all together */
	u32 members;
	u32 active;  /* of these, those that want to run */
	u32 threads; /* as which it counts: all, or those that want to run */
	u32 counted; /* in which recount */
	u32 next;    /* in its bucket, or of the free ones */
	u32 group;
};

struct family families[NR_SLOTS]; /* 0: none */
u32 buckets[NR_SLOTS];
u32 families_used, free_family;
u32 family_of[NR_SLOTS]; /* by client */
u32 own_weight[NR_SLOTS];
struct account accounts[NR_SLOTS]; /* by client, of its family */
struct account wholes[NR_GROUPS];  /* the families of a group, all together */
u32 recounts;

struct cgroup *scx_bpf_task_cgroup___plain(struct task_struct *p) __ksym;

void bpf_cgroup_release(struct cgroup *cgrp) __ksym;

static u32 family_parts(u32 members);

static u64 family_key(struct task_struct *p)
{
	struct cgroup *cgrp;
	u64 key;

	switch (by) {
	case BY_USER:
		return p->cred->uid.val;
	case BY_SESSION:
		return p->signal->pids[PIDTYPE_SID]->numbers[0].nr;
	case BY_CGROUP:
		cgrp = scx_bpf_task_cgroup___plain(p);
		key = cgrp->kn->id;
		bpf_cgroup_release(cgrp);
		return key;
	default:
		return p->tgid;
	}
}

static struct family *family_at(u32 family)
{
	return &families[family & SLOT_MASK];
}

static struct family *family_around(u32 slot)
{
	return family_at(family_of[slot & SLOT_MASK]);
}

static struct account *whole_of(const struct family *f)
{
	return &wholes[f->group % NR_GROUPS];
}

/* By multiplicative hashing. */
static u32 *bucket_of(u64 key, u32 group)
{
	return &buckets[(key + ((u64)group << 32)) * 0x9e3779b97f4a7c15 >> 49 & SLOT_MASK];
}

static s64 family_lead(const struct family *f)
{
	return lead_of(&f->own, whole_of(f));
}

/* The least lead that is kept. */
static s64 most_owed(const struct family *f)
{
	return -(s64)(HORIZON + f->active * min_granularity);
}

/* By how many weights are divided. */
static u32 divisor_of(const struct family *f)
{
	if (scope == SCOPE_QUEUE)
		return f->threads;
	return f->active ?: 1;
}

/* The weight of the family as a whole. */
static u64 family_weight(const struct family *f)
{
	return f->members ? f->weight / f->members * family_parts(f->threads) : 0;
}

/* Something changed: how many there are, their weights, whether they want to run. */
static void renew_family(struct family *f)
{
	u64 pull = 0;

	if (!active_only)
		f->threads = f->members;
	else if (f->active > f->threads || f->counted != recounts)
		f->threads = f->active;
	f->counted = recounts;
	if (!f->threads)
		f->threads = 1;
	if (scope == SCOPE_QUEUE)
		return;
	if (f->active)
		pull = (family_weight(f) >> PULL_SHIFT) + 1;
	set_pull(&f->own, whole_of(f), pull, most_owed(f), MOST_LEAD);
}

/* Its own weight changed, or whether it wants to run. */
static void renew_member(u32 slot, bool wants)
{
	struct family *f = family_around(slot);
	u64 pull = wants ? (own_weight[slot & SLOT_MASK] >> PULL_SHIFT) + 1 : 0;

	if (scope == SCOPE_MACHINE)
		set_pull(&accounts[slot & SLOT_MASK], &f->inside, pull, -(s64)HORIZON, HORIZON);
}

/* Above 1, which is 1 << LEAD_BITS, for one that is ahead; 2 at 2^@horizon ns. */
static s64 factor_by(s64 lead, u32 horizon, s64 least, s64 most)
{
	s64 factor = (1 << LEAD_BITS) + (lead >> (horizon - LEAD_BITS));

	if (factor < least)
		return least;
	return factor > most ? most : factor;
}

/* By how much more CPU time is charged to the members. */
static u64 charge_factor(const struct family *f)
{
	if (scope == SCOPE_QUEUE)
		return 1 << LEAD_BITS;
	return factor_by(family_lead(f), HORIZON_BITS, LEAST_FACTOR, MOST_FACTOR);
}

/* How much less a member that is ahead of its siblings weighs in a queue. */
static u64 sibling_factor(u32 slot, const struct family *f)
{
	s64 lead = lead_of(&accounts[slot & SLOT_MASK], &f->inside);

	return factor_by(lead, SIBLING_BITS, 1 << (LEAD_BITS - 2), 1 << (LEAD_BITS + 2));
}

/* By what a client's own weight comes to in its family; at least 1. */
static u32 divided(u32 slot, u32 weight)
{
	struct family *f = family_around(slot);
	u32 *own = &own_weight[slot & SLOT_MASK];
	u64 most, part;

	f->weight += (s64)weight - *own;
	*own = weight;
	renew_member(slot, client_at(slot)->home);
	renew_family(f);
	most = (u64)weight * family_parts(f->threads);
	if (scope == SCOPE_QUEUE)
		part = most / f->threads;
	else
		part = (most << 2 * LEAD_BITS) / f->threads /
		       (charge_factor(f) * sibling_factor(slot, f));
	if (part > most) /* the family's */
		return most;
	return part ? part : 1;
}

/* Of a client or a group. */
static u32 undivided(u32 slot)
{
	const struct client *c = client_at(slot);

	return scope == SCOPE_QUEUE || c->own.is_group ? c->weight : own_weight[slot & SLOT_MASK];
}

/* Exact, where the weight is rounded. */
static u64 virtual_of(u32 slot, u64 ns)
{
	const struct family *f = family_around(slot);
	u64 whole = (u64)own_weight[slot & SLOT_MASK] * family_parts(f->threads);
	u64 virt = virtual_ns(ns, whole) * divisor_of(f);

	return virt * charge_factor(f) >> LEAD_BITS;
}

static void serve(struct account *a, struct account *all, s64 ns, u64 weight)
{
	s64 virt = virtual_ns(ns < 0 ? -ns : ns, weight);

	advance(a, all, ns < 0 ? -virt : virt);
}

/* A member had the CPU for @ns, where that may be less than was thought. */
static void serve_family(u32 slot, s64 ns)
{
	struct family *f = family_around(slot);
	struct account *a = &accounts[slot & SLOT_MASK];

	if (scope == SCOPE_QUEUE)
		return;
	serve(&f->own, whole_of(f), ns, family_weight(f));
	bound_lead(&f->own, whole_of(f), most_owed(f), MOST_LEAD);
	serve(a, &f->inside, ns, own_weight[slot & SLOT_MASK]);
	bound_lead(a, &f->inside, -(s64)HORIZON, HORIZON);
}

/* A member wants to run from here on, or does not any more. */
static void family_wants(u32 slot, bool wants)
{
	struct family *f = family_around(slot);

	f->active += wants ? 1 : -1;
	renew_member(slot, wants);
	renew_family(f);
}

/* A member that slept is about to want to run. Its siblings owe it nothing for that. */
static void family_slept(u32 slot)
{
	struct account *a = &accounts[slot & SLOT_MASK], *all = &family_around(slot)->inside;

	if (lead_of(a, all) < 0)
		a->served = all->served;
}

/* Where a new member begins after min_vruntime, if cfs's clients do @after that. */
static u64 debt_of_new(u32 slot, u64 after)
{
	s64 lead = family_lead(family_around(slot));

	if (scope == SCOPE_QUEUE)
		return after;
	return lead > 0 ? lead : 0;
}

/*
 * Whether a client's slice grows with the number of all: with 1000 threads that weigh as much as
 * it does together it would have the CPU for seconds.
 */
static bool stretches(void)
{
	return scope == SCOPE_QUEUE;
}

/* Each of many members shall come in time: a tick long, or a millisecond. */
static u64 least_slice(u32 slot)
{
	return divisor_of(family_around(slot)) > MANY ? min_granularity / 4 : min_granularity;
}

static u32 family_find(u64 key, u32 group)
{
	u32 family = *bucket_of(key, group);

	while (family && can_loop()) {
		const struct family *f = family_at(family);

		if (f->key == key && f->group == group)
			break;
		family = f->next;
	}
	return family;
}

/* A new one; there is room, as none is without members. */
static u32 family_take(u64 key, u32 group)
{
	u32 family = free_family, *bucket = bucket_of(key, group);
	struct family *f;

	if (family)
		free_family = family_at(family)->next;
	else
		family = ++families_used;
	f = family_at(family);
	*f = (struct family){.key = key, .group = group, .next = *bucket};
	f->own.served = whole_of(f)->served;
	*bucket = family;
	return family;
}

static void family_give_back(u32 family)
{
	struct family *f = family_at(family);
	u32 *link = bucket_of(f->key, f->group);

	while (*link && *link != family && can_loop())
		link = &family_at(*link)->next;
	*link = f->next;
	f->next = free_family;
	free_family = family;
}

static void family_leave(u32 slot)
{
	u32 family = family_of[slot & SLOT_MASK];
	struct family *f = family_at(family);

	if (!family)
		return;
	if (client_at(slot)->home)
		family_wants(slot, false);
	f->members--;
	f->weight -= own_weight[slot & SLOT_MASK];
	family_of[slot & SLOT_MASK] = 0;
	renew_family(f);
	if (!f->members)
		family_give_back(family);
}

static void family_join(u32 slot, u64 key)
{
	u32 group = client_at(slot)->own.group, family = family_find(key, group);
	struct family *f;

	if (family && family == family_of[slot & SLOT_MASK])
		return;
	family_leave(slot);
	family = family_find(key, group);
	if (!family)
		family = family_take(key, group);
	f = family_at(family);
	f->members++;
	f->weight += own_weight[slot & SLOT_MASK];
	family_of[slot & SLOT_MASK] = family;
	accounts[slot & SLOT_MASK] = (struct account){.served = f->inside.served};
	if (client_at(slot)->home)
		family_wants(slot, true);
	else
		renew_family(f);
}

#endif
