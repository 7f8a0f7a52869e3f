/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lag, eligibility and placement in eevdf.bpf.c: kernel/sched/fair.c of Linux 7.2, with the
 * functions named. Part of that policy, split off for length; all under its lock.
 *
 * V, the queue's virtual time, is the average of its tasks' vruntime by weight. A task's
 * lag is V - vruntime: positive if it has had less than its share, and then it is eligible. Sums
 * are kept relative to a zero point near V, so that they fit, and are exact.
 */
#ifndef ROTA_EEVDF_RULES_BPF_H
#define ROTA_EEVDF_RULES_BPF_H

struct own_part {
	s64 deadline;	  /* virtual; while away and has_rel_deadline: from vruntime on */
	s64 protected_to; /* virtual time until which none takes the CPU */
	s64 lag;	  /* while away or delayed */
	u64 slice_ns;	  /* what it requests */
	u32 group;	  /* its cgroup's, or the one that it is a part of */
	u32 around;	  /* the queue in which it takes part, or did last: */
	u32 above;	  /* that of this part of a group; 0: its CPU's own */
	u32 mine;	  /* the queue of a part of a group; 0: it is a task */
	u32 aside;	  /* the queue for which it is set aside, 0: it is not */
	u32 session;	  /* its */
	bool in_cgroup;	  /* and not in the root one */
	bool changed;	  /* a part, in its queue: see settle() */
	bool is_paid;	  /* and it slept, and was picked */
	u8 went;	  /* how the last member of a part did: WENT_… */
	bool has_rel_deadline;
	u8 policy;	  /* POLICY_… */
	bool counts_idle; /* in its queue's nr_idle */
	/* Of the subtree below it in the tree of those that wait */
	s64 least_vruntime;
	u64 least_slice_ns, most_slice_ns;
};

enum went { WENT_AWAY, WENT_TO_SLEEP, WENT_ASIDE };

struct own_queue {
	u32 chain;    /* the part of a group in which the task is that runs or ran last, or 0 */
	bool cancels; /* this decision does not heed protected_to */
	u32 nr_idle;  /* of nr, those of SCHED_IDLE (h_nr_idle) */
	bool hurries; /* only they are left since it balanced */
};

/* Of those that compete: in a CPU's own queue, or in that of a part of a group. (cfs_rq) */
struct entity_queue {
	u32 root; /* of the tree of those that wait */
	u32 nr;
	u64 load;	  /* weight of those that take part */
	s64 zero;	  /* virtual time from which sum counts */
	s64 weighted_sum; /* of weight × (vruntime - zero) */
	u32 owner;	  /* the part of a group, 0: the queue is the CPU's own */
	u32 curr;	  /* what has the CPU here, and is not in the tree: a task or a part */
	u32 buddy;	  /* the part that goes first if it is eligible, 0: none (next) */
	/* Of a part of a group: */
	u64 load_average, aged_at;
	u64 counted, counted_at; /* of that in the group's sum (tg_load_avg_contrib) */
	s64 left_ns;		 /* of CPU time, if the group is limited (runtime_remaining) */
	bool throttled;		 /* none is left */
	u32 next_free;
};

#define NR_QUEUES	16384 /* the first of them are the CPUs' own */
#define NR_GROUPS	512
#define CGROUPS_DEFAULT true
#define CGROUPS_TAGS	in_kernel(false) /* too much for its verifier */

#define TREE_NOTES
#include "fair_queue.bpf.h"
#include "fair_groups.bpf.h"
#include "eevdf_numbers.bpf.h"

struct entity_queue entity_queues[NR_QUEUES];

static struct entity_queue *queue_at(u32 index)
{
	return &entity_queues[index % NR_QUEUES];
}

static struct entity_queue *queue_around(const struct client *c)
{
	return queue_at(c->own.around);
}

/* The CPU's own. */
static u32 first_queue(u32 cpu)
{
	return cpu % MAX_CPUS;
}

/* What fair_balance.bpf.h goes by: groups count as one. */
static u64 load_on(u32 cpu)
{
	return queue_at(first_queue(cpu))->load;
}

/*
 * The part of a group in the queue of which it takes part, 0: it is in the CPU's own. What is 0
 * without groups is looked at first, here and elsewhere: that is fewer instructions, and a verifier
 * knows that the rest is never done where cgroups is off.
 */
static u32 above(u32 slot)
{
	u32 part = client_at(slot)->own.above;

	return part && cgroups ? part : 0;
}

static u32 buddy_in(const struct entity_queue *q);

#include "eevdf_averages.bpf.h"

/* BPF divides signed numbers from Linux 6.7 on only. Rounds towards zero. */
static s64 divide(s64 a, u64 by)
{
	return a < 0 ? -(s64)((u64)-a / by) : (s64)((u64)a / by);
}

/* The CPU time in which that much virtual time has passed. */
static u64 real_ns(u64 virtual_ns, u32 weight)
{
	return (virtual_ns * weight + NICE_0_WEIGHT - 1) / NICE_0_WEIGHT;
}

static bool tree_before(u32 a, u32 b)
{
	return client_at(a)->own.deadline < client_at(b)->own.deadline;
}

static void tree_note(u32 slot, u32 left, u32 right)
{
	const struct client *c = client_at(slot);
	struct own_part *own = &client_at(slot)->own;
	const struct own_part *l = &client_at(left)->own, *r = &client_at(right)->own;

	own->least_vruntime = min_s64(c->vruntime, min_s64(l->least_vruntime, r->least_vruntime));
	own->least_slice_ns = min_s64(own->slice_ns, min_s64(l->least_slice_ns, r->least_slice_ns));
	own->most_slice_ns = max_s64(own->slice_ns, max_s64(l->most_slice_ns, r->most_slice_ns));
}

/* No task, as a subtree: there are no tasks in it. */
static void rules_init(void)
{
	client_at(0)->own.least_vruntime = 1ll << 61;
	client_at(0)->own.least_slice_ns = 1ll << 61;
}

/* V, rounded down: a task with just that is eligible. (avg_vruntime) */
static s64 average(struct entity_queue *q)
{
	s64 sum = q->weighted_sum, delta;

	if (!q->load)
		return q->zero;
	delta = sum < 0 ? -(s64)(((u64)-sum + q->load - 1) / q->load) : (s64)(sum / q->load);
	q->zero += delta;
	q->weighted_sum -= delta * (s64)q->load;
	return q->zero;
}

/* Is it of SCHED_IDLE? (task_has_idle_policy) */
static bool is_idle_task(const struct client *c)
{
	return c->own.policy == POLICY_IDLE;
}

/* (normal_policy) */
static bool is_batch_or_idle(const struct client *c)
{
	return c->own.policy == POLICY_BATCH || is_idle_task(c);
}

/* A task that takes part is of SCHED_IDLE, or is not any more. */
static void count_idle(struct client *c)
{
	home_of(c)->own.nr_idle += is_idle_task(c) - c->own.counts_idle;
	c->own.counts_idle = is_idle_task(c);
}

/* Only such tasks take part there. (sched_idle_rq) */
static bool has_idle_tasks_only(u32 cpu)
{
	const struct cpu_queue *q = queue_of(cpu);

	return q->own.nr_idle && q->own.nr_idle == q->nr && !is_away(cpu);
}

/*
 * A client that outweighs the others can begin far from their V, as it pulls V to itself. Its
 * own place becomes the zero point then, or the sum would not fit.
 */
static void count_in(struct client *c)
{
	struct entity_queue *q = queue_around(c);
	s64 from_zero = c->vruntime - q->zero;
	/* All bits if it outweighs them. No branch, of which the verifier would follow both ways.
	 */
	s64 heavy = (s64)(q->load - c->weight) >> 63;

	q->zero += from_zero & heavy;
	q->weighted_sum += from_zero * ((-(s64)q->load & heavy) | ((s64)c->weight & ~heavy));
	age_queue(q);
	q->nr++;
	q->load += c->weight;
}

static void count_out(struct client *c)
{
	struct entity_queue *q = queue_around(c);

	q->weighted_sum -= (c->vruntime - q->zero) * c->weight;
	age_queue(q);
	q->nr--;
	q->load -= c->weight;
}

/* A request is over: the next one follows. (update_deadline) */
static void advanced(u32 slot, s64 by)
{
	struct client *c = client_at(slot);

	queue_around(c)->weighted_sum += by * c->weight;
	if (c->vruntime < c->own.deadline)
		return;
	stats.requests++;
	c->own.deadline = c->vruntime + virtual_ns(c->own.slice_ns, c->weight);
}

/* The slices of those that take part in a queue, but for one that is about to be put back. */
static u64 least_slice(const struct entity_queue *q, u64 slice_ns)
{
	const struct client *curr = client_at(q->curr), *root = client_at(q->root);

	if (q->curr)
		slice_ns = min_s64(slice_ns, curr->own.slice_ns);
	return min_s64(slice_ns, root->own.least_slice_ns);
}

static u64 most_slice(const struct entity_queue *q, u64 slice_ns)
{
	const struct client *curr = client_at(q->curr), *root = client_at(q->root);

	if (q->curr)
		slice_ns = max_s64(slice_ns, curr->own.slice_ns);
	return max_s64(slice_ns, root->own.most_slice_ns);
}

/* Not more than the longest slice and a tick, in either direction. (entity_lag) */
static s64 lag_of(const struct client *c, struct entity_queue *q)
{
	u64 most_ns = most_slice(q, c->own.slice_ns) + tick_ns;
	s64 limit = virtual_ns(most_ns, c->weight);

	return max_s64(-limit, min_s64(limit, average(q) - c->vruntime));
}

/* One that slept and took part has worked off its debt, but gains nothing. (update_entity_lag) */
static void note_lag(struct client *c)
{
	s64 lag = lag_of(c, queue_around(c));

	if (c->delayed) {
		lag = max_s64(lag, c->own.lag);
		if (!no_delay_zero)
			lag = min_s64(lag, 0);
	}
	c->own.lag = lag;
}

static bool is_eligible(const struct client *c)
{
	return c->vruntime <= average(queue_around(c));
}

/*
 * The client moves the average by being added to it. So that it has its lag then, it begins
 * with more of it now. (place_entity)
 */
__kinline void place_here(u32 slot)
{
	struct client *c = client_at(slot);
	struct entity_queue *q = queue_around(c);
	u64 slice = virtual_ns(c->own.slice_ns, c->weight);
	s64 lag = 0;

	c->vruntime = average(q);
	if (!no_place_lag && q->nr) {
		lag = c->own.lag;
		c->vruntime -= lag + divide(lag * (s64)c->weight, q->load);
	}
	if (c->own.has_rel_deadline) {
		c->own.deadline += c->vruntime;
		c->own.has_rel_deadline = false;
	} else {
		/* The others are half through their slices, on average. */
		if (!c->known && !no_place_deadline_initial)
			slice /= 2;
		c->own.deadline = c->vruntime + slice;
	}
	count_in(c);
}

static void place(u32 slot)
{
	place_here(slot);
}

/* Lag and deadline keep their real distance to V. (reweight_entity) */
static void reweigh(u32 slot, u32 weight)
{
	struct client *c = client_at(slot);
	s64 old = c->weight, v;
	bool protects;

	if (weight == old)
		return;
	reweigh_average(slot, old, weight);
	if (c->home) {
		v = average(queue_around(c));
		c->own.lag = lag_of(c, queue_around(c));
		c->own.deadline -= v;
		protects = queue_around(c)->curr == slot && c->vruntime < c->own.protected_to;
		count_out(c);
		c->own.deadline = divide(c->own.deadline * old, weight) + v;
		if (protects)
			c->own.protected_to = divide((c->own.protected_to - v) * old, weight) + v;
		c->own.lag = divide(c->own.lag * old, weight);
		c->vruntime = v - c->own.lag;
		c->weight = weight;
		count_in(c);
		return;
	}
	c->own.lag = divide(c->own.lag * old, weight);
	if (c->own.has_rel_deadline)
		c->own.deadline = divide(c->own.deadline * old, weight);
	c->weight = weight;
}

/*
 * The eligible client with the earliest deadline, in O(log n), or @prev. One that takes part
 * may be on its way to the CPU, neither there nor in the tree: if then none is eligible,
 * the one with the least vruntime is it. (pick_eevdf)
 */
static __attribute__((noinline)) u32 earliest_eligible(struct cpu_queue *cpu_queue,
						       struct entity_queue *q, u32 prev)
{
	s64 v = average(q);
	const struct client *p = client_at(prev);
	bool is_due = prev && p->vruntime <= v;
	u32 at = q->root;

	if (q->buddy && cgroups && !cpu_queue->own.cancels) {
		u32 buddy = buddy_in(q);

		if (buddy)
			return buddy;
	}
	cpu_queue->picked = prev;
	if (is_due && !cpu_queue->own.cancels && p->vruntime < p->own.protected_to)
		at = 0;
	if (!prev)
		v = max_s64(v, client_at(at)->own.least_vruntime);
	while (at && can_loop()) {
		u32 left = node_at(at)->left;

		/* Any eligible task there has an earlier deadline than this one. */
		if (client_at(left)->own.least_vruntime <= v) {
			at = left;
			continue;
		}
		if (client_at(at)->vruntime <= v) {
			if (!is_due || client_at(at)->own.deadline <= p->own.deadline)
				cpu_queue->picked = at;
			break;
		}
		at = node_at(at)->right;
	}
	return cpu_queue->picked;
}

#include "eevdf_groups.bpf.h"

#endif
