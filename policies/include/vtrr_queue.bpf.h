/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The run queue of vtrr.bpf.c: clients sorted by share, their counters and virtual
 * times, and the rules for those who leave and return [VTRR §3.2]. Part of that
 * policy, split off for length; everything here needs its lock.
 */
#ifndef ROTA_VTRR_QUEUE_BPF_H
#define ROTA_VTRR_QUEUE_BPF_H

struct client {
	struct virt done; /* virtual time: VFT - Q / S */
	u64 counter;	  /* quanta due in this cycle, the one being run included */
	u64 part_ns;	  /* CPU time since the last whole quantum */
	u64 cycle;	  /* the cycle that counter belongs to */
	u64 charged_at;	  /* its CPU time when last charged */
	u64 kept_pass;	  /* quanta had of those kept from a cycle before, by share */
	u32 next, prev;	  /* neighbours; while away: those of last time */
	u32 next_life, prev_life;
	u32 life; /* changes when the slot gets another task */
	u32 share;
	bool queued;	 /* runnable, so in the queue */
	bool waits;	 /* in our custody: can be dispatched */
	bool runs;	 /* was given a quantum that has not ended */
	bool was_queued; /* next and prev mean something */
	bool alone;	 /* nobody else could have had the quantum that it runs in */
};

/* Slot 0 is the queue's anchor: its next is the head, its prev the tail. */
struct client clients[NR_SLOTS];
struct virt queue_time; /* QVT */
u64 quantum_seen;	/* quantum_ns as the last decision saw it */
u64 quanta_left;	/* sum of counters */
u64 cycle = 1;
bool after_short_cycle; /* counters can be more than a share */
u64 total_share;	/* at most 32767 of the largest: below 2^35 */
u32 nr_waiting, nr_running;
u32 cursor;		    /* the client that was picked last, or the one before it if it left */
u32 kept_cursor;	    /* likewise, of those with quanta kept from a cycle before */
u64 kept_pass_of[MAX_CPUS]; /* where the last of those began that was picked there */

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

/* Takes whole quanta of service off the counter. */
static void count_quanta(struct client *c)
{
	u64 quanta = c->part_ns / quantum_seen;

	if (quanta > c->counter)
		quanta = c->counter;
	c->counter -= quanta;
	c->part_ns -= quanta * quantum_seen;
	quanta_left -= quanta;
}

/* The counter reset of cycles that began since the client was met last [§3.3]. */
static void catch_up(struct client *c)
{
	u64 due = c->counter + (cycle - c->cycle) * c->share, most = 2ull * c->share;

	if (c->cycle == cycle)
		return;
	c->cycle = cycle;
	c->counter = due < most ? due : most;
	quanta_left -= due - c->counter;
	count_quanta(c);
}

/* @is_short: although quanta are left. */
static void begin_cycle(bool is_short)
{
	cycle++;
	quanta_left += total_share;
	after_short_cycle = is_short;
}

/*
 * What is left to each client in this cycle, counter × quantum - part, stays the same
 * time. That becomes a cycle of its own, as counters of clients that are away do not count
 * in the new measure.
 */
static void use_quantum(u64 new_quantum)
{
	u32 slot = clients[0].next & SLOT_MASK;
	u64 left = 0;

	if (new_quantum == quantum_seen)
		return;
	while (slot && can_loop()) {
		struct client *c = client_at(slot);
		u64 due, used;

		catch_up(c);
		due = c->counter * quantum_seen;
		used = c->part_ns;
		c->counter = used < due ? (due - used + new_quantum - 1) / new_quantum : 0;
		c->part_ns = c->counter * new_quantum + used - due;
		c->cycle = cycle + 1;
		left += c->counter;
		slot = c->next & SLOT_MASK;
	}
	quanta_left = left;
	quantum_seen = new_quantum;
	cycle++;
}

static void charge(struct client *c, u64 cpu_time)
{
	u64 used = cpu_time - c->charged_at;

	c->charged_at = cpu_time;
	if (!c->queued)
		return;
	catch_up(c);
	if (c->alone && !c->counter)
		return;
	virt_advance(&c->done, used, c->share);
	virt_advance(&queue_time, used, total_share);
	c->part_ns += used;
	count_quanta(c);
}

static void end_quantum(struct client *c)
{
	nr_running -= c->runs;
	c->runs = false;
}

static void set_waits(struct client *c, bool waits)
{
	nr_waiting += waits - c->waits;
	c->waits = waits;
}

/* Are both neighbours of last time still there, adjacent, and right for this share? */
static bool references_hold(const struct client *c)
{
	const struct client *prev = client_at(c->prev), *next = client_at(c->next);

	if (no_references || !c->was_queued || prev->next != c->next)
		return false;
	if (c->prev && !(prev->queued && prev->life == c->prev_life && prev->share >= c->share))
		return false;
	return !c->next || (next->queued && next->life == c->next_life && next->share <= c->share);
}

/* The client after which @slot belongs. */
static u32 find_place(u32 slot)
{
	const struct client *c = client_at(slot);
	u32 place = loop_start, next, pid = pid_of[slot & SLOT_MASK];

	if (references_hold(c)) {
		stats.by_reference++;
		return c->prev;
	}
	if (insert == INSERT_ARRAY) {
		stats.by_array++;
		return share_array_find(c->share);
	}
	stats.by_walk++;
	while ((next = client_at(place)->next) && can_loop()) {
		const struct client *n = client_at(next);

		if (n->share < c->share || (n->share == c->share && pid_of[next & SLOT_MASK] > pid))
			break;
		stats.walked++;
		place = next;
	}
	return place;
}

/* The counter after the quantum being run, if one is. */
static u64 counter_after_quantum(struct client *c)
{
	catch_up(c);
	return c->counter - (c->runs && c->counter);
}

/* Counter of a client about to stand between @prev and @next [eq. 9]. */
static u64 new_counter(const struct client *c, u32 prev, u32 next)
{
	u64 counter = c->share;

	/* share × quanta_left / total_share in parts, as the product can exceed 64 bits. */
	if (total_share)
		counter = quanta_left / total_share * c->share +
			  quanta_left % total_share * c->share / total_share;

	if (!no_keep_counter && c->was_queued && c->cycle == cycle && c->counter < counter)
		counter = c->counter;
	if (no_clamp)
		return counter;
	if (prev) {
		u64 most = counter_after_quantum(client_at(prev));

		counter = counter < most ? counter : most;
	}
	if (next) {
		u64 least = counter_after_quantum(client_at(next));

		counter = counter > least ? counter : least;
	}
	return counter;
}

static void join(u32 slot)
{
	struct client *c = client_at(slot);
	u32 prev = find_place(slot), next = client_at(prev)->next;

	if (no_keep_vft)
		c->done = (struct virt){};
	virt_at_least(&c->done, &queue_time);
	c->counter = new_counter(c, prev, next);
	c->cycle = cycle;
	c->prev = prev;
	c->next = next;
	client_at(prev)->next = slot;
	client_at(next)->prev = slot;
	c->queued = true;
	c->was_queued = true;
	quanta_left += c->counter;
	total_share += c->share;
	queue_time.rem = 0; /* it was a remainder of the old sum */
	share_array_joined(slot, c->share, next && client_at(next)->share == c->share);
}

static void leave(u32 slot)
{
	struct client *c = client_at(slot);
	u32 prev = c->prev;

	if (!c->queued)
		return;
	catch_up(c);
	share_array_left(slot, c->share, prev && client_at(prev)->share == c->share ? prev : 0);
	quanta_left -= c->counter;
	total_share -= c->share;
	queue_time.rem = 0;
	c->queued = false;
	client_at(prev)->next = c->next;
	client_at(c->next)->prev = prev;
	c->prev_life = client_at(prev)->life;
	c->next_life = client_at(c->next)->life;
	if (cursor == slot)
		cursor = prev;
	if (kept_cursor == slot)
		kept_cursor = prev;
}

/* A changed share: leave and come back, with the VFT of before if that is later. */
static void set_share(u32 slot, u32 share)
{
	struct client *c = client_at(slot);
	bool queued = c->queued;

	if (share == c->share)
		return;
	leave(slot);
	if (c->was_queued)
		virt_reshare(&c->done, quantum_seen, c->share, share);
	c->share = share;
	if (queued)
		join(slot);
}

#endif
