/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of groups in eevdf (cpu.max, cpu.max.burst), as in kernel/sched/fair.c of Linux 7.2, with
 * the functions named. A limited group has a pool of CPU time that is refilled each period. The
 * queue of its part on a CPU takes time from it in slices, and is throttled when there is none: its
 * tasks, and those of groups within, are set aside when they would run or have a tick, as they
 * return to user mode then. They wait in a list until a period begins in which there is time.
 *
 * Not here: what a queue gives back to the pool reaches throttled ones only when they are refilled
 * (the slack timer). Periods begin when the limit is set. Needs the lock, but for what begins or
 * ends with it.
 */
#ifndef ROTA_EEVDF_LIMITS_BPF_H
#define ROTA_EEVDF_LIMITS_BPF_H

#include "timers.bpf.h"

#define NO_LIMIT	 (~0ull)
#define KEPT_NS		 1000000 /* by an empty queue (min_cfs_rq_runtime) */
#define TIMER_ABS	 1	 /* BPF_F_TIMER_ABS, ABI */
#define NOT_BEFORE(a, b) ((s64)((a) - (b)) >= 0)

const volatile u64 cfs_bandwidth_slice_ns
	help_text("CPU time that a CPU takes from the pool of a limited group at once") unit(ns)
	range(1000, 1000000000) = 5000000;

const volatile bool limits
	help_text("cgroups are limited by their cpu.max; loading takes the kernel longer") = true;

struct period_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_GROUPS);
	__type(key, u32);
	__type(value, struct period_timer);
} period_timers SEC(".maps");

/* Of a group. (cfs_bandwidth) */
struct group_limit {
	u64 quota_ns; /* 0: none */
	u64 period_ns, burst_ns;
	s64 left_ns; /* in the pool */
	u64 ends_at; /* the period */
	bool idle;   /* no queue took any in this period */
	bool sleeps; /* and in the one before: the pool is not refilled */
	bool ticks;  /* the timer runs */
	bool ready;  /* it was made */
};

struct group_limit group_limits[NR_GROUPS];
u32 nr_limited;
u8 wakes_up[MAX_CPUS]; /* tasks came back on this CPU */

static void before_change(u32 slot, u32 cpu, u64 now);

static struct group_limit *limit_of(u32 group)
{
	return &group_limits[group % NR_GROUPS];
}

/* (cfs_bandwidth_used) */
static bool are_limited(void)
{
	return nr_limited && cgroups && limits;
}

/* (__refill_cfs_bandwidth_runtime) */
static void refill(struct group_limit *l)
{
	l->left_ns = min_s64(l->left_ns + l->quota_ns, l->quota_ns + l->burst_ns);
}

/* True if the queue has time then. (__assign_cfs_rq_runtime) */
static bool take_time(struct entity_queue *q, struct group_limit *l, s64 target_ns)
{
	s64 wanted = target_ns - q->left_ns, amount;

	l->sleeps = false;
	if (l->left_ns > 0) {
		amount = min_s64(l->left_ns, wanted);
		l->left_ns -= amount;
		l->idle = false;
		q->left_ns += amount;
	}
	return q->left_ns > 0;
}

/* One that is limited had the CPU for so long. (account_cfs_rq_runtime, throttle_cfs_rq) */
static void account(struct entity_queue *q, u32 group, s64 ns)
{
	struct group_limit *l = limit_of(group);

	q->left_ns -= ns;
	if (q->left_ns > 0 || q->throttled)
		return;
	q->throttled = !take_time(q, l, q->curr ? cfs_bandwidth_slice_ns : 1);
	stats.throttled += q->throttled;
}

/* The queue of @part or one above it that is throttled, 0: it can run. */
static __attribute__((noinline)) u32 throttled_at(u32 part)
{
	u32 level, found = 0;

	for (level = loop_start; part && level < MOST_LEVELS && can_loop_afresh(); level++) {
		const struct client *c = client_at(part);
		struct entity_queue *q = queue_at(c->own.mine);

		if (limit_of(c->own.group)->quota_ns) {
			account(q, c->own.group, 0);
			found = q->throttled ? c->own.mine : found;
		}
		part = above(part);
	}
	return found;
}

static bool is_throttled(u32 slot)
{
	return are_limited() && above(slot) && throttled_at(above(slot));
}

/* Whether the client that was looked at last is throttled with its group on the other CPU. */
bool stands_there;

/* (throttled_lb_pair) */
static __attribute__((noinline)) void note_throttled_on(u32 slot, u32 cpu)
{
	volatile bool *stands = &stands_there;
	u32 group = client_at(slot)->own.group, level;

	*stands = false;
	for (level = loop_start; group && !*stands && level < MOST_LEVELS && can_loop_afresh();
	     level++) {
		u32 part = *part_of(group, cpu);

		*stands = part && queue_at(client_at(part)->own.mine)->throttled;
		group = group_at(group)->parent;
	}
	returns_nothing();
}

/* It must not run: true if it is set aside now. (throttle_cfs_rq_work) */
static bool set_aside(u32 slot)
{
	struct client *c = client_at(slot);
	u32 queue;

	if (!are_limited() || !above(slot))
		return false;
	queue = throttled_at(above(slot));
	if (!queue)
		return false;
	take_out(slot, true);
	client_at(above(slot))->own.went = WENT_ASIDE;
	c->own.aside = queue;
	list_in_after(slot, list_older[aside_of(queue) % LIST_PLACE]);
	return true;
}

/* It is not set aside any more. (dequeue_throttled_task) */
static void not_aside(u32 slot)
{
	if (!client_at(slot)->own.aside)
		return;
	client_at(slot)->own.aside = 0;
	list_out(slot);
}

/* (tg_unthrottle_up) */
static __attribute__((noinline)) void come_back(u32 queue, u32 cpu)
{
	u32 slot;

	queue_at(queue)->throttled = false;
	while ((slot = list_newer[aside_of(queue) % LIST_PLACE]) < NR_SLOTS && can_loop_afresh()) {
		not_aside(slot);
		before_change(slot, cpu, time_now);
		join(slot, cpu);
		if (slot != queue_of(cpu)->running)
			start_waiting(slot);
		wakes_up[cpu % MAX_CPUS] = 1;
	}
}

/* To those that are throttled, as far as it goes; false: there are none. (distribute_cfs_runtime)
 */
static __attribute__((noinline)) bool distribute(u32 group)
{
	struct group_limit *l = limit_of(group);
	bool throttled = false;
	u32 cpu, part;

	for (cpu = loop_start; cpu < nr_cpus && can_loop_afresh(); cpu++) {
		struct entity_queue *q;

		part = *part_of(group, cpu);
		q = queue_at(client_at(part)->own.mine);
		if (!part || !q->throttled)
			continue;
		throttled = true;
		if (take_time(q, l, 1))
			come_back(client_at(part)->own.mine, cpu);
	}
	return throttled;
}

/* Without the lock: CPUs that idled have something to do. */
static void wake_up_cpus(void)
{
	u32 cpu;

	for (cpu = loop_start; cpu < nr_cpus && can_loop_afresh(); cpu++) {
		if (!wakes_up[cpu % MAX_CPUS])
			continue;
		wakes_up[cpu % MAX_CPUS] = 0;
		scx_bpf_kick_cpu(cpu, KICK_IDLE);
	}
}

/* (do_sched_cfs_period_timer) */
static void next_period(u32 group)
{
	struct group_limit *l = limit_of(group);

	l->ends_at += l->period_ns;
	if (l->sleeps)
		return;
	refill(l);
	l->sleeps = l->idle;
	l->idle = true;
	if (distribute(group))
		l->idle = l->sleeps = false;
}

static int period_ends(void *map, u32 *key, struct bpf_timer *timer)
{
	u32 group = *key;
	struct group_limit *l = limit_of(group);
	u64 now = bpf_ktime_get_ns(), ends_at = 0;

	bpf_spin_lock(&lock);
	time_is(now);
	while (l->quota_ns && NOT_BEFORE(now, l->ends_at) && can_loop_afresh())
		next_period(group);
	ends_at = l->ends_at;
	l->ticks = l->quota_ns;
	bpf_spin_unlock(&lock);
	wake_up_cpus();
	if (l->ticks)
		bpf_timer_start(timer, ends_at, TIMER_ABS);
	return 0;
}

/* For each CPU: its queue begins anew. (tg_set_cfs_bandwidth) */
__kinline void begin_limits(u32 group)
{
	u32 cpu, part;

	for (cpu = loop_start; cpu < nr_cpus && can_loop_afresh(); cpu++) {
		part = *part_of(group, cpu);
		if (!part)
			continue;
		queue_at(client_at(part)->own.mine)->left_ns = 1;
		if (queue_at(client_at(part)->own.mine)->throttled)
			come_back(client_at(part)->own.mine, cpu);
	}
}

/* Without the lock: for ops.cgroup_set_bandwidth and a new cgroup. (tg_set_cfs_bandwidth) */
static void group_set_limit(struct cgroup *cgrp, u64 period_us, u64 quota_us, u64 burst_us)
{
	u32 group = cgroups && limits ? own_group_of(cgrp) : 0;
	struct group_limit *l = limit_of(group);
	u64 now = bpf_ktime_get_ns(), ends_at;
	struct period_timer *timer;
	bool starts;

	if (!cgroups || !limits)
		return;

	timer = bpf_map_lookup_elem(&period_timers, &group);
	if (!group || !timer)
		return;
	if (!l->ready) {
		bpf_timer_init(&timer->timer, &period_timers, CLOCK_MONOTONIC);
		bpf_timer_set_callback(&timer->timer, period_ends);
		l->ready = true;
	}
	bpf_spin_lock(&lock);
	time_is(now);
	nr_limited -= is_less(0, l->quota_ns);
	l->quota_ns = quota_us == NO_LIMIT ? 0 : quota_us * 1000;
	l->period_ns = max_s64(period_us * 1000, 1000000);
	l->burst_ns = burst_us * 1000;
	nr_limited += is_less(0, l->quota_ns);
	if (l->quota_ns)
		refill(l);
	starts = l->quota_ns && !l->ticks;
	if (starts)
		l->ends_at = now + l->period_ns;
	l->ticks |= starts;
	ends_at = l->ends_at;
	begin_limits(group);
	bpf_spin_unlock(&lock);
	wake_up_cpus();
	if (starts)
		bpf_timer_start(&timer->timer, ends_at, TIMER_ABS);
}

/* A queue that is empty keeps little. (return_cfs_rq_runtime) */
static void give_time_back(struct entity_queue *q, u32 group)
{
	struct group_limit *l = limit_of(group);
	s64 slack = q->left_ns - KEPT_NS;

	if (!l->quota_ns || slack <= 0)
		return;
	l->left_ns += slack;
	q->left_ns -= slack;
}

/* The group is gone. */
static void forget_limit(u32 group)
{
	struct group_limit *l = limit_of(group);

	nr_limited -= is_less(0, l->quota_ns);
	l->quota_ns = 0;
	l->left_ns = 0;
	l->idle = l->sleeps = false;
}

#endif
