/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The run queue of vtrr.bpf.c: tasks sorted by share, their counters and virtual
 * times, and the rules for tasks that leave and return [VTRR §3.2]. Part of that
 * policy, split off for length; everything here needs its lock.
 */
#ifndef ROTA_VTRR_QUEUE_BPF_H
#define ROTA_VTRR_QUEUE_BPF_H

struct client {
	struct virt done;      /* virtual time: VFT - Q / S */
	struct virt_step step; /* that of a quantum */
	u64 counter;	       /* quanta due in this cycle, the one being run included */
	u64 part_ns;	       /* CPU time since the last whole quantum */
	u64 cycle;	       /* the cycle that counter belongs to */
	u64 charged_at;	       /* its CPU time when last charged */
	u64 charged_ns;	       /* the time then, if it runs, or when it was charged in advance */
	u64 early_ns;	       /* by what QVT is ahead for it: charged in advance, not had yet */
	u64 own_early_ns;      /* what of that is on its own account, too */
	u64 quantum_early_ns;  /* what of the quantum that it runs was charged in advance */
	u64 kept_pass;	       /* quanta had of those kept from a cycle before, by share */
	u32 next, prev;	       /* neighbours; while away: those of last time */
	u32 next_life, prev_life;
	u32 ahead; /* whole quanta had of the next cycle, as quanta_ahead counts them */
	u32 life;  /* changes when the slot gets another task */
	u32 share;
	bool queued;	 /* runnable, so in the queue */
	bool waits;	 /* in our custody: can be dispatched */
	bool runs;	 /* was given a quantum that has not ended */
	bool has_due;	 /* of that quantum something is left */
	bool was_queued; /* next and prev mean something */
	bool alone;	 /* no other task could have had the quantum that it runs in */
};

/* Slot 0 is the queue's anchor: its next is the head, its prev the tail. */
struct client clients[NR_SLOTS];
struct virt queue_time;	     /* QVT */
struct virt_step queue_step; /* of QVT, that of a quantum */
u64 quantum_seen;	     /* quantum_ns as the last decision saw it */
u64 quanta_left;	     /* sum of counters */
u64 quanta_ahead;	     /* sum of what is to be taken off with the next reset */
u64 cycle = 1;
bool after_short_cycle; /* counters can be more than a share */
u64 total_share;	/* at most 32767 of the largest: below 2^35 */
u32 nr_waiting, nr_running;
u64 all_early_ns;	     /* sum of quantum_early_ns */
u32 running_on[MAX_CPUS];    /* the task that runs there; 0: none of ours */
u32 picked_for[MAX_CPUS];    /* by the last ops.dispatch there that took the CPU from a task */
u64 charged_at_on[MAX_CPUS]; /* charged_at of the task charged last in ops.dispatch there */
u32 cursor;		     /* the current client, picked last; or the one before it if it left */
bool current_left;	     /* the latter */
u64 counter_at_leaving;	     /* of the current client, if it left */
u32 kept_cursor;	     /* likewise, of those with quanta kept from a cycle before */
u64 kept_pass_of[MAX_CPUS];  /* where the last of those began that was picked there */

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

/* For a task that has no quanta left and had some all the same: they are of the next cycle. */
static void note_ahead(struct client *c)
{
	u64 quanta = c->part_ns / quantum_seen;

	quanta_ahead -= c->ahead;
	c->ahead = c->counter ? 0 : quanta < c->share ? quanta : c->share;
	quanta_ahead += c->ahead;
}

/* Takes whole quanta of service off the counter. */
static void count_quanta(struct client *c)
{
	u64 quanta;

	if (c->part_ns < quantum_seen)
		return;
	quanta = c->part_ns < 2 * quantum_seen ? 1 : c->part_ns / quantum_seen;
	if (quanta > c->counter)
		quanta = c->counter;
	c->counter -= quanta;
	c->part_ns -= quanta * quantum_seen;
	c->has_due = false;
	quanta_left -= quanta;
	if (c->part_ns >= quantum_seen)
		note_ahead(c);
}

static __attribute__((noinline)) void reset_counter(struct client *c)
{
	u64 due = c->counter + (cycle - c->cycle) * c->share, most = 2ull * c->share;

	c->cycle = cycle;
	c->counter = due < most ? due : most;
	quanta_left -= due - c->counter;
	quanta_left += c->ahead; /* taken off when the cycle began, and now again */
	c->ahead = 0;
	count_quanta(c);
}

/* The counter reset of cycles that began since the client was met last [§3.3]. */
static void catch_up(struct client *c)
{
	if (c->cycle != cycle)
		reset_counter(c);
}

/* @is_short: although quanta are left. */
static void begin_cycle(bool is_short)
{
	cycle++;
	quanta_left += total_share - quanta_ahead;
	quanta_ahead = 0;
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
		c->ahead = 0;
		left += c->counter;
		slot = c->next & SLOT_MASK;
	}
	quanta_left = left;
	quanta_ahead = 0;
	quantum_seen = new_quantum;
	cycle++;
}

static bool is_free(const struct client *c)
{
	return !c->queued || (c->alone && !c->counter);
}

/* @own on the client's account: virtual time [eq. 5], and quanta; @all on the queue's [eq. 4]. */
static void use_cpu(struct client *c, u64 own, u64 all)
{
	if (own == quantum_seen && c->step.service_ns != own)
		virt_step_of(&c->step, own, c->share);
	virt_advance_by(&c->done, &c->step, own, c->share);
	if (all)
		virt_advance_by(&queue_time, &queue_step, all, total_share);
	c->part_ns += own;
	count_quanta(c);
}

/* What of @used was charged in advance, as *@early has it. */
static u64 take_early(u64 *early, u64 used)
{
	u64 ns = *early < used ? *early : used;

	*early -= ns;
	return ns;
}

/* The time of what a client was charged for last, where it is not known yet. */
#define NOT_KNOWN_YET (~0ull)

/* For what it ran since it was charged last. */
static void charge(struct client *c, u64 cpu_time)
{
	u64 used = cpu_time - c->charged_at, own = used, all = used;

	c->charged_at = cpu_time;
	c->charged_ns = NOT_KNOWN_YET;
	if (c->early_ns) {
		own -= take_early(&c->own_early_ns, used);
		all -= take_early(&c->early_ns, used);
	}
	if (!own) /* nor for all */
		return;
	catch_up(c);
	if (is_free(c))
		return;
	use_cpu(c, own, all);
}

/*
 * Brings QVT up to @now before a client comes or goes: what was run until then counts by the
 * shares of then [eq. 4, eq. 7], and a used-up quantum is over. A clock may run ahead of
 * the CPU time that the kernel will tell: that is taken off the next charge.
 */
static void charge_running(u64 now)
{
	u64 all = 0;
	u32 cpu, seen = 0;

	for (cpu = loop_start; seen < nr_running && cpu < nr_cpus && can_loop(); cpu++) {
		u32 slot = running_on[cpu % MAX_CPUS];
		struct client *c = client_at(slot);
		u64 ns;

		if (!slot)
			continue;
		seen++;
		if (now <= c->charged_ns)
			continue;
		ns = now - c->charged_ns;
		c->charged_ns = now;
		catch_up(c);
		if (is_free(c))
			continue;
		all += ns;
		c->early_ns += ns;
		if (c->runs) {
			c->quantum_early_ns += ns;
			all_early_ns += ns;
		}
		if (c->part_ns + c->early_ns - c->own_early_ns < quantum_seen)
			continue;
		ns = c->early_ns - c->own_early_ns;
		c->own_early_ns = c->early_ns;
		use_cpu(c, ns, 0);
	}
	if (all)
		virt_advance_by(&queue_time, &queue_step, all, total_share);
}

static void end_quantum(struct client *c)
{
	if (!c->runs)
		return;
	nr_running--;
	c->runs = false;
	c->has_due = false;
	all_early_ns -= c->quantum_early_ns;
	c->quantum_early_ns = 0;
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
	return c->counter - (c->has_due && c->counter);
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

static void change_total_share(u64 by)
{
	total_share += by;
	queue_time.rem = 0; /* it was a remainder of the old sum */
	queue_step.service_ns = 0;
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
	if (c->part_ns >= quantum_seen)
		note_ahead(c);
	change_total_share(c->share);
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
	quanta_ahead -= c->ahead;
	c->ahead = 0;
	change_total_share(-(u64)c->share);
	c->queued = false;
	client_at(prev)->next = c->next;
	client_at(c->next)->prev = prev;
	c->prev_life = client_at(prev)->life;
	c->next_life = client_at(c->next)->life;
	if (cursor == slot) {
		if (!current_left)
			counter_at_leaving = c->counter;
		current_left = true;
		cursor = prev;
	}
	if (kept_cursor == slot)
		kept_cursor = prev;
}

static void set_current(u32 slot)
{
	cursor = slot;
	current_left = false;
}

/* A changed share: leave and come back, with the VFT of before if that is later. */
static void set_share(u32 slot, u32 share, u64 now)
{
	struct client *c = client_at(slot);
	bool queued = c->queued;

	if (share == c->share)
		return;
	charge_running(now);
	leave(slot);
	if (c->was_queued)
		virt_reshare(&c->done, quantum_seen, c->share, share);
	c->share = share;
	c->step.service_ns = 0;
	if (queued)
		join(slot);
}

#endif
