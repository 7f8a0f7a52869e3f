/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The run queues of o1.bpf.c: for each CPU two arrays of lists by priority, with bitmaps of
 * the lists that are not empty [O1CFS §2.1]. Part of that policy, split off for length;
 * everything here needs its lock.
 */
#ifndef ROTA_O1_ARRAYS_BPF_H
#define ROTA_O1_ARRAYS_BPF_H

#define NR_LISTS 64 /* 40 in use: priorities 100..139; a power of two lets an index be masked */

struct prio_list {
	u32 head, tail;
};

struct prio_array {
	u64 bitmap; /* bit: the list is not empty */
	struct prio_list lists[NR_LISTS];
};

struct run_queue {
	struct prio_array arrays[2];
	u64 expired_at; /* the first slice that ended since the arrays were switched; 0: none */
	u64 balanced_at;
	u32 active;	  /* which of the arrays */
	u32 best_expired; /* MAX_PRIO less the best static priority in the other; 0: none */
	u32 nr_waiting;
	u32 current; /* runs or is about to, 0: none */
	bool awake;  /* the CPU is not idle: without a current task it runs a higher class */
};

struct run_queue run_queues[MAX_CPUS];
u32 nr_waiting;

static struct run_queue *run_queue_of(u32 cpu)
{
	return &run_queues[cpu % MAX_CPUS];
}

/* A kernel's verifier does not know, as the compiler does, that it is below 64. */
static u32 first_bit(u64 word)
{
	u32 bit = __builtin_ctzll(word);

	asm volatile("" : "+r"(bit));
	return bit % NR_LISTS;
}

static u32 nr_of_others(const struct run_queue *rq)
{
	return rq->awake && !rq->current;
}

/* With the one of a higher class, as in 2.6. */
static u32 nr_running(const struct run_queue *rq)
{
	return rq->nr_waiting + !!rq->current + nr_of_others(rq);
}

static struct prio_list *list_of(const struct client *c, u32 *bit)
{
	*bit = (c->prio - FIRST_PRIO) % NR_LISTS;
	return &run_queue_of(c->cpu)->arrays[c->array & 1].lists[*bit];
}

static void link_client(u32 slot)
{
	struct client *c = client_at(slot);
	u32 bit;
	struct prio_list *list = list_of(c, &bit);

	c->next = c->to_head ? list->head : 0;
	c->prev = c->to_head ? 0 : list->tail;
	if (c->next)
		client_at(c->next)->prev = slot;
	else
		list->tail = slot;
	if (c->prev)
		client_at(c->prev)->next = slot;
	else
		list->head = slot;
	run_queue_of(c->cpu)->arrays[c->array & 1].bitmap |= 1ull << bit;
	run_queue_of(c->cpu)->nr_waiting++;
	nr_waiting++;
	c->waits = true;
}

static void unlink_client(u32 slot)
{
	struct client *c = client_at(slot);
	u32 bit;
	struct prio_list *list = list_of(c, &bit);

	if (!c->waits)
		return;
	if (c->next)
		client_at(c->next)->prev = c->prev;
	else
		list->tail = c->prev;
	if (c->prev)
		client_at(c->prev)->next = c->next;
	else
		list->head = c->next;
	if (!list->head)
		run_queue_of(c->cpu)->arrays[c->array & 1].bitmap &= ~(1ull << bit);
	run_queue_of(c->cpu)->nr_waiting--;
	nr_waiting--;
	c->waits = false;
}

/* The first client of the highest priority in the active array; 0: that is empty. */
static u32 first_active(const struct run_queue *rq)
{
	const struct prio_array *active = &rq->arrays[rq->active & 1];

	if (!active->bitmap)
		return 0;
	return active->lists[first_bit(active->bitmap)].head & SLOT_MASK;
}

static void switch_arrays(struct run_queue *rq)
{
	stats.switches++;
	rq->active ^= 1;
	rq->expired_at = 0;
	rq->best_expired = 0;
}

/* Has the eldest of the expired waited for too long, or does a better static priority wait? */
static bool expired_starves(const struct run_queue *rq, const struct client *c, u64 now)
{
	if (no_starvation_limit)
		return false;
	return MAX_PRIO - c->static_prio < rq->best_expired ||
	       now - rq->expired_at >= starvation_limit_ns * nr_running(rq) + JIFFY_NS;
}

/* A time slice has ended: the next one, a new priority, and which array? */
static void expire(struct run_queue *rq, struct client *c, u64 now)
{
	c->prio = effective_prio(c);
	refill(c);
	if (!rq->expired_at)
		rq->expired_at = now;
	stats.expired++;
	if (is_interactive(c)) {
		if (!expired_starves(rq, c, now)) {
			stats.requeued++;
			return;
		}
		stats.starving++;
	}
	c->array = rq->active ^ 1;
	if (MAX_PRIO - c->static_prio > rq->best_expired)
		rq->best_expired = MAX_PRIO - c->static_prio;
}

/* The place among the others of the client that ran. */
static void settle(struct run_queue *rq, struct client *c, u64 now)
{
	c->runs = false;
	c->array = rq->active;
	c->to_head = false;
	if (c->left_ns <= 0) {
		expire(rq, c, now);
	} else if (c->yields) {
		c->array = rq->active ^ 1;
	} else if (c->turn_left && c->left_ns <= c->turn_left) {
		stats.turns++;
	} else {
		c->to_head = true;
	}
	c->yields = false;
	count_run(c);
}

/* The task to run next: the first of the active array, or @prev, with a settled place. */
static u32 pick(struct run_queue *rq, u32 prev)
{
	const struct client *p = client_at(prev);
	u32 first = first_active(rq);

	if (!first && (!prev || p->array != rq->active)) {
		if (!prev && !rq->nr_waiting)
			return 0;
		switch_arrays(rq);
		first = first_active(rq);
	}
	if (!prev || p->array != rq->active)
		return first;
	if (!first || p->prio < client_at(first)->prio)
		return prev;
	return p->to_head && p->prio == client_at(first)->prio ? prev : first;
}

#endif
