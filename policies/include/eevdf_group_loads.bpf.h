/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load averages of groups in eevdf: that of the queue of each part, of the part by that, and of the
 * group by all its parts. As kernel/sched/fair.c of Linux 7.2, with the functions named. Needs the
 * lock.
 */
#ifndef ROTA_EEVDF_GROUP_LOADS_BPF_H
#define ROTA_EEVDF_GROUP_LOADS_BPF_H

/* (update_tg_load_avg) */
static void count_load(struct entity_queue *q)
{
	u32 group = client_at(q->owner)->own.group;
	u64 more;

	more = max_s64(q->load_average, q->counted) - min_s64(q->load_average, q->counted);
	if (time_now - q->counted_at < 1000000 || more <= q->counted / 64)
		return;
	*group_load(group) += q->load_average - q->counted;
	q->counted = q->load_average;
	q->counted_at = time_now;
}

/* Its group hears of it once in a period of 2^20 ns. (update_cfs_rq_load_avg, ___update_load_sum)
 */
static __attribute__((noinline)) void age_group_queue(struct entity_queue *q)
{
	u64 ns = age_at(time_now, q->aged_at), begins = (time_now ^ q->aged_at) >> 20;

	q->load_average = towards(q->load_average, q->load, ns);
	q->aged_at = max_s64(q->aged_at, time_now);
	if (begins)
		count_load(q);
}

/* What has come or left counts at once, if it had a load. (attach_entity_load_avg) */
static void count_load_of(u32 queue)
{
	if (queue >= MAX_CPUS)
		count_load(queue_at(queue));
}

/* What a part's load is of its weight, of FULL. */
static u64 filled(u32 part)
{
	return average_of(part)->load * FULL / client_at(part)->weight;
}

/* The load of a part becomes that much of its weight, and that of the queue around it follows. */
static void fill(u32 part, u64 filled)
{
	struct client_average *a = average_of(part);
	u64 load = client_at(part)->weight * (u64)min_s64(filled, FULL) / FULL;
	u64 *sum = load_average_of(a->queue);

	*sum = max_s64(0, *sum + load - a->load);
	a->load = load;
}

/* (propagate_entity_load_avg, update_tg_cfs_load) */
static __attribute__((noinline)) void load_came(u32 slot)
{
	u64 more = filled(slot);
	u32 level, part = queue_at(average_of(slot)->queue)->owner;

	if (!average_of(slot)->load)
		return;
	count_load_of(average_of(slot)->queue);
	for (level = loop_start; part && level < MOST_LEVELS && can_loop_afresh(); level++) {
		load_now(part, time_now);
		fill(part, filled(part) + more);
		count_load_of(average_of(part)->queue);
		part = above(part);
	}
}

static __attribute__((noinline)) void load_left(u32 queue)
{
	u32 level, part = queue_at(queue)->owner;

	count_load_of(queue);
	for (level = loop_start; part && level < MOST_LEVELS && can_loop_afresh(); level++) {
		const struct entity_queue *q = queue_at(client_at(part)->own.mine);

		load_now(part, time_now);
		if (q->load)
			fill(part, min_s64(filled(part), q->load_average * FULL / q->load));
		count_load_of(average_of(part)->queue);
		part = above(part);
	}
}

/* What a task's load counts of that of its CPU's own queue. (update_cfs_rq_h_load) */
static __attribute__((noinline)) u64 flat_load(u32 slot, u64 load)
{
	u32 level, queue = average_of(slot)->queue;

	for (level = loop_start;
	     cgroups && queue >= MAX_CPUS && level < MOST_LEVELS && can_loop_afresh();
	     level++) {
		u32 part = queue_at(queue)->owner;

		load = load * average_of(part)->load / (queue_at(queue)->load_average + 1);
		queue = client_at(part)->own.around;
	}
	return load;
}

#endif
