/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How o1.bpf.c migrates tasks: CPUs with less to do pull. Part of that
 * policy, split off for length; everything here needs its lock.
 */
#ifndef ROTA_O1_BALANCE_BPF_H
#define ROTA_O1_BALANCE_BPF_H

/* Clients in one look for some to pull. 2.6.24 began to bound that, with sched_nr_migrate. */
#define MOST_LOOKED_AT 32

/* The CPU with the most runnable clients of which some wait; @cpu itself: none. */
static u32 busiest_but(u32 cpu)
{
	u32 other, most = 0, found = cpu;

	for (other = loop_start; other < nr_cpus && can_loop(); other++) {
		const struct run_queue *rq = run_queue_of(other);

		if (other == cpu || !rq->nr_waiting || nr_running(rq) <= most)
			continue;
		most = nr_running(rq);
		found = other;
	}
	return found;
}

/* From the tail of a list: one that may use @cpu and stopped by @before; 0: none. */
static u32 movable_in(u32 slot, u32 cpu, u64 before, u32 *seen)
{
	while (slot && can_loop()) {
		if (++*seen > MOST_LOOKED_AT)
			return 0;
		if (slot_may_use(slot, cpu) && client_at(slot)->stopped_at <= before)
			return slot;
		slot = client_at(slot)->prev & SLOT_MASK;
	}
	return 0;
}

/*
 * The expired first, as their turn is far off; then higher priorities before lower ones. 0: none
 * of up to MOST_LOOKED_AT, with those that were @seen before.
 */
static __attribute__((noinline)) u32 movable(u32 from, u32 cpu, u64 before, u32 *seen)
{
	const struct run_queue *rq = run_queue_of(from);
	u32 pass, slot = 0;

	for (pass = loop_start; !slot && pass < 2 && can_loop(); pass++) {
		const struct prio_array *array = &rq->arrays[(rq->active ^ 1 ^ pass) & 1];
		u64 bits = array->bitmap;

		while (bits && !slot && *seen < MOST_LOOKED_AT && can_loop()) {
			slot = movable_in(
				array->lists[first_bit(bits)].tail & SLOT_MASK, cpu, before, seen);
			bits &= bits - 1;
		}
	}
	return slot;
}

/*
 * A task for a CPU that would idle; 0: none may use it. @called: the one it was woken
 * up for, if any. Of the busiest CPU, or where that has none, of any.
 */
static u32 pull_for_idle(u32 cpu, u32 called)
{
	u32 other = busiest_but(cpu), slot, seen = loop_start;

	if (called && client_at(called)->waits && slot_may_use(called, cpu))
		return called;
	if (other == cpu)
		return 0;
	slot = movable(other, cpu, ~0ull, &seen);
	for (other = loop_start; !slot && other < nr_cpus && can_loop(); other++) {
		seen = loop_start;
		if (other != cpu && run_queue_of(other)->nr_waiting)
			slot = movable(other, cpu, ~0ull, &seen);
	}
	return slot;
}

/* Into the active array of another CPU's run queue, which may be waiting already. */
static void move_client(u32 slot, u32 cpu)
{
	struct client *c = client_at(slot);

	unlink_client(slot);
	c->cpu = cpu;
	c->array = run_queue_of(cpu)->active;
	c->to_head = false;
	link_client(slot);
}

/*
 * A busy CPU takes half of what the busiest has more, if that is a quarter of it at least;
 * rounded up if a higher class runs there; but none that ran a moment ago. True: one that it took
 * goes before the one it runs.
 */
static bool pull_for_balance(u32 cpu, u64 now)
{
	u32 other = busiest_but(cpu), most, least = nr_running(run_queue_of(cpu)), left, slot;
	u32 seen = loop_start;
	const struct client *runs = client_at(run_queue_of(cpu)->current);
	u64 before = now > cache_hot_ns ? now - cache_hot_ns : 0;
	bool preempts = false;

	if (other == cpu)
		return false;
	most = nr_running(run_queue_of(other));
	if (most <= least || (most - least) * 4 < most)
		return false;
	most += nr_of_others(run_queue_of(other));
	for (left = (most - least) / 2 + loop_start; left && can_loop(); left--) {
		slot = movable(other, cpu, before, &seen);
		if (!slot)
			break;
		move_client(slot, cpu);
		stats.moved++;
		preempts |= client_at(slot)->prio < runs->prio;
	}
	return preempts;
}

#endif
