/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What eevdf_balance.bpf.h balances by: averages of the past with a half-life of 32 ms, as
 * kernel/sched/pelt.c of Linux 7.2 has them, and the list of each CPU's tasks by when they
 * came or began to run (rq->cfs_tasks). Needs the lock.
 */
#ifndef ROTA_EEVDF_AVERAGES_BPF_H
#define ROTA_EEVDF_AVERAGES_BPF_H

#define FULL	   1024 /* of what a CPU can do (SCHED_CAPACITY_SCALE) */
#define LIST_PLACE 65536
#define SET_ASIDE  (NR_SLOTS + 2 * MAX_CPUS) /* of a queue: where its list begins */

const volatile bool no_balance_fork help_text("new tasks begin as if they woke up where they were "
					      "made, after a long sleep");

const volatile bool no_util_est help_text("what tasks used before they slept is forgotten");

/* Of a CPU; of the time since @aged_at all is as it is now. */
struct cpu_averages {
	u64 aged_at;
	u64 load;     /* weight of those that took part (cfs_rq->avg.load_avg) */
	u64 used;     /* of FULL, a task ran (util_avg) */
	u64 runnable; /* FULL for each that took part and was awake (runnable_avg) */
	u64 tick;     /* at which a part of its load was asked for first: */
	u64 at_tick;  /* the load then (cfs_rq->h_load) */
	u64 away;     /* of FULL, it ran a higher class (avg_rt, avg_dl), */
	u64 away_to;  /* until then */
	u64 taken;    /* of FULL, what they left us the less of, when that was looked at last, */
	u64 others;   /* and 1 if one ran there then */
	u64 expected; /* of FULL, what those that take part and are awake need (util_est) */
};

/* Of a client, of which the CPU that it is attached to has as much. */
struct client_average {
	u64 aged_at;
	u64 load;     /* its weight while it took part */
	u64 used;     /* of FULL, it ran */
	u64 runnable; /* FULL while it took part and was awake */
	u64 expected; /* of FULL, what it needs when it is awake (util_est) */
	u32 attached; /* CPU + 1 */
	u32 noted_at; /* period in which that was noted */
	u32 group;    /* there: */
	u32 queue;    /* to which its load belongs */
	bool known;
};

static void age_group_queue(struct entity_queue *q);
static void load_came(u32 slot);
static void load_left(u32 queue);
static u32 queue_for(u32 group, u32 cpu);

#include "eevdf_capacity.bpf.h"

struct cpu_averages cpu_averages[MAX_CPUS];
struct client_average client_averages[NR_SLOTS];

/*
 * Rings; the place after all slots plus the number of a CPU is where its own begins. Those of
 * tasks that are set aside: see eevdf_limits.bpf.h.
 */
u32 list_older[LIST_PLACE];
u32 list_newer[LIST_PLACE];

static struct cpu_averages *averages_of(u32 cpu)
{
	return &cpu_averages[cpu % MAX_CPUS];
}

static struct client_average *average_of(u32 slot)
{
	return &client_averages[slot & SLOT_MASK];
}

/* What is left of it: 2^-(ns / 32 × 1.024 ms). A cubic, right within 0.02 %. (decay_load) */
static u64 decayed(u64 value, u64 ns)
{
	u64 periods = ns + ns * 3 / 125, f = (periods & ((1 << 25) - 1)) >> 10, left;

	left = (1543 * f) >> 15;
	left = ((7871 - left) * f) >> 15;
	left = 32768 - (((22713 - left) * f) >> 15);
	return ((value >> (periods >> 25)) * left) >> 15;
}

/* The load of a queue, on whichever CPU that is. */
static u64 *load_average_of(u32 queue)
{
	u32 cpu = queue;

	/* The compiler must not know of the bound, of which the verifier does not. */
	asm volatile("" : "+r"(cpu));
	return queue < MAX_CPUS ? &averages_of(cpu)->load : &queue_at(queue)->load_average;
}

static u64 towards(u64 value, u64 target, u64 ns)
{
	return decayed(value, ns) + target - decayed(target, ns);
}

/* Time since then; after a second nothing is left of what was. */
static u64 age_at(u64 now, u64 then)
{
	return max_s64(0, min_s64(now - then, 1000000000));
}

/* Before anything changes there. (update_cfs_rq_load_avg) */
static __attribute__((noinline)) void age(u32 cpu, u64 now)
{
	struct cpu_averages *a = averages_of(cpu);
	const struct cpu_queue *q = queue_of(cpu);
	u64 ns, runs;

	if (now == a->aged_at)
		return;
	now = work_clock(cpu, now);
	ns = age_at(now, a->aged_at);
	a->aged_at = now;
	runs = is_less(0, q->running);
	a->load = towards(a->load, load_on(cpu), ns);
	a->used = towards(a->used, runs * FULL, ns);
	a->runnable = towards(a->runnable, (q->nr_waiting + runs) * FULL, ns);
}

/* @cpu was away from @since to @now. (update_rt_rq_load_avg, update_dl_rq_load_avg) */
static __attribute__((noinline)) void note_away(u32 cpu, u64 since, u64 now)
{
	struct cpu_averages *a = averages_of(cpu);

	a->away = decayed(a->away, age_at(since, a->away_to));
	a->away = towards(a->away, FULL, age_at(now, since));
	a->away_to = now;
}

/* Before others compare themselves with it. (update_cpu_capacity, scale_rt_capacity) */
static __attribute__((noinline)) void note_capacity(u32 cpu, u64 now)
{
	struct cpu_averages *a = averages_of(cpu);
	u64 since = queue_of(cpu)->away_since, until = since ? since : now;

	a->others = is_less(0, since) & is_less(since, now);
	a->taken = decayed(a->away, age_at(until, a->away_to));
	a->taken = min_s64(towards(a->taken, a->others * FULL, age_at(now, until)), FULL - 1);
	/* Nothing is left of it, and nothing to be calculated next time. */
	a->away &= -is_less(0, a->taken);
}

/* Of FULL, what higher classes leave us. In one domain all CPUs are equal: that is its capacity. */
static u64 left_of(u32 cpu)
{
	return FULL - averages_of(cpu)->taken;
}

/* (rq->cpu_capacity) */
static u64 capacity_of(u32 cpu)
{
	u64 left = left_of(cpu);

	return are_unequal() ? max_s64(1, original_capacity(cpu) * left / FULL) : left;
}

/* With the one of a higher class. (rq->nr_running) */
static u64 nr_there(u32 cpu)
{
	return queue_of(cpu)->nr + averages_of(cpu)->others;
}

/*
 * Some CPU got a second task since all were looked at, or had one then: while that is so, a CPU
 * that becomes idle looks for work. (rd->overloaded)
 */
u32 overloaded;

/* (update_sg_lb_stats) */
static void note_two_at(u32 cpu)
{
	overloaded |= (queue_of(cpu)->nr + is_away(cpu)) >> 1;
}

/* Its load by that. (avg_load of a group that is one CPU) */
static u64 relative_load(u32 cpu)
{
	return averages_of(cpu)->load * FULL / capacity_of(cpu);
}

/* Of FULL, at least what those that came need, on a CPU of this capacity. (cpu_util_cfs) */
static u64 use_of_up_to(u32 cpu, u64 capacity)
{
	const struct cpu_averages *a = averages_of(cpu);

	return min_s64(no_util_est ? a->used : max_s64(a->used, a->expected), capacity);
}

static u64 use_of(u32 cpu)
{
	return use_of_up_to(cpu, original_capacity(cpu));
}

/* Of FULL, what a task needs. (task_util_est) */
static u64 need_of(u32 slot)
{
	const struct client_average *a = average_of(slot);

	return no_util_est ? a->used : max_s64(a->used, a->expected);
}

/* Half of what its CPU has to spare, or less if that is in use. (post_init_entity_util_avg) */
static __attribute__((noinline)) void begin_average(u32 slot, u32 cpu)
{
	struct client_average *a = average_of(slot);
	const struct cpu_averages *there = averages_of(cpu);
	u64 weight = client_at(slot)->weight;
	u64 most = (u64)max_s64(0, original_capacity(cpu) - there->used) / 2, used;

	used = there->used * weight / (there->load + 1);
	used = there->used ? min_s64(used, most) : most;
	a->load = weight & -(u64)!no_balance_fork;
	a->used = a->runnable = used & -(u64)!no_balance_fork;
	a->known = true;
}

/* Before it comes, leaves, or gets or loses the CPU. (update_load_avg) */
__kinline u64 load_now(u32 slot, u64 now)
{
	struct client_average *a = average_of(slot);
	const struct client *c = client_at(slot);
	u64 ns, takes_part, other, runs;

	if (now == a->aged_at)
		return a->load;
	if (are_unequal() && a->attached)
		now = work_clock(a->attached - 1, now);
	ns = age_at(now, a->aged_at);
	a->aged_at = now;
	takes_part = is_less(0, c->home);
	other = queue_of(c->last_cpu)->running ^ slot;
	runs = takes_part & ~is_less(0, other);
	a->load = towards(a->load, takes_part * c->weight, ns);
	a->used = towards(a->used, runs * FULL, ns);
	a->runnable = towards(a->runnable, (takes_part & !c->delayed) * FULL, ns);
	return a->load;
}

static __attribute__((noinline)) u64 load_of(u32 slot, u64 now)
{
	return load_now(slot, now);
}

/*
 * What a client's load counts of that of @cpu, which it is attached to: a little less than all of
 * it, but more if others left at the same tick, as the load from before is shared then.
 * (task_h_load, update_cfs_rq_h_load)
 */
static s64 load_there(u64 load, u32 cpu, u64 now)
{
	struct cpu_averages *a = averages_of(cpu);
	u64 tick = now / tick_ns;

	a->at_tick += (a->load - a->at_tick) & -is_less(a->tick, tick);
	a->tick = tick;
	return load * a->at_tick / (a->load + 1);
}

static void less(u64 *sum, u64 part)
{
	*sum = max_s64(0, *sum - part);
}

/* It takes part in @cpu's queue, and is awake. (util_est_enqueue) */
static void expect(u32 slot, u32 cpu)
{
	if (!no_util_est && nr_cpus > 1)
		averages_of(cpu)->expected += average_of(slot)->expected;
}

/*
 * It does so no more. If it goes to sleep, what it used until now is what it needs; if that is less
 * than before, by a quarter of the difference, unless it had to wait. Once a period.
 * (util_est_dequeue, util_est_update)
 */
static void expect_less(u32 slot, u32 cpu, bool sleeps)
{
	struct client_average *a = average_of(slot);
	u32 period = a->aged_at >> 20;
	s64 fell = a->expected - a->used;

	if (no_util_est || nr_cpus < 2)
		return;
	averages_of(cpu)->expected -= a->expected;
	if (!sleeps || a->noted_at == period)
		return;
	a->noted_at = period;
	if (fell <= 0)
		a->expected = a->used;
	else if (fell >= FULL / 100 && a->used + FULL / 100 >= a->runnable)
		a->expected -= (u64)(fell + 3) / 4;
}

/* Before anything changes in a queue of a part of a group. (update_cfs_rq_load_avg) */
static void age_queue(struct entity_queue *q)
{
	if (q->owner && cgroups)
		age_group_queue(q);
}

/* (detach_entity_load_avg) */
__kinline void detach(u32 slot)
{
	const struct client_average *a = average_of(slot);
	struct cpu_averages *from = averages_of(a->attached - 1);

	less(load_average_of(a->queue), a->load);
	if (cgroups && a->queue >= MAX_CPUS)
		load_left(a->queue);
	less(&from->used, a->used);
	less(&from->runnable, a->runnable);
}

/* What it was goes with it to @cpu. (attach_entity_load_avg) */
static __attribute__((noinline)) void attach_anew(u32 slot, u32 cpu, u64 now)
{
	struct client_average *a = average_of(slot);
	struct cpu_averages *to = averages_of(cpu);

	if (!a->known) {
		a->aged_at = now; /* and not attached: by no CPU's clock */
		begin_average(slot, cpu);
	}
	load_of(slot, now);
	if (a->attached)
		detach(slot);
	a->group = client_at(slot)->own.group;
	a->queue = queue_for(a->group, cpu);
	*load_average_of(a->queue) += a->load;
	to->used += a->used;
	to->runnable += a->runnable;
	a->attached = cpu + 1;
	if (are_unequal())
		a->aged_at = work_clock(cpu, now);
	if (cgroups && a->queue >= MAX_CPUS)
		load_came(slot);
}

static void attach(u32 slot, u32 cpu, u64 now)
{
	const struct client_average *a = average_of(slot);

	if (a->attached != cpu + 1 || (cgroups && a->group != client_at(slot)->own.group))
		attach_anew(slot, cpu, now);
	else
		load_of(slot, now);
}

/* It is dead, or of another class. (task_dead_fair) */
static void forget_average(u32 slot, u64 now)
{
	struct client_average *a = average_of(slot);

	if (a->attached) {
		age(a->attached - 1, now);
		load_of(slot, now);
		detach(slot);
	}
	*a = (struct client_average){};
}

/* (reweight_entity) */
static void reweigh_average(u32 slot, u32 old, u32 weight)
{
	struct client_average *a = average_of(slot);
	u64 load = a->load * weight / old;

	/* The queue may know of less, as it aged at other times. (dequeue_load_avg) */
	if (a->attached) {
		less(load_average_of(a->queue), a->load);
		*load_average_of(a->queue) += load;
	}
	a->load = load;
}

static u32 list_of(u32 cpu)
{
	return NR_SLOTS + cpu % MAX_CPUS;
}

static void list_out(u32 slot)
{
	u32 older = list_older[slot % LIST_PLACE], newer = list_newer[slot % LIST_PLACE];

	list_newer[older % LIST_PLACE] = newer;
	list_older[newer % LIST_PLACE] = older;
}

/* As the next newer one than @older. */
static void list_in_after(u32 slot, u32 older)
{
	u32 newer = list_newer[older % LIST_PLACE];

	list_older[slot % LIST_PLACE] = older;
	list_newer[slot % LIST_PLACE] = newer;
	list_newer[older % LIST_PLACE] = slot;
	list_older[newer % LIST_PLACE] = slot;
}

static u32 newest_of(u32 cpu)
{
	return list_older[list_of(cpu) % LIST_PLACE];
}

/* As the newest. */
static void list_in(u32 slot, u32 cpu)
{
	list_in_after(slot, newest_of(cpu));
}

static u32 aside_of(u32 queue)
{
	return SET_ASIDE + queue % NR_QUEUES;
}

static void begin_list(u32 place)
{
	list_older[place % LIST_PLACE] = place;
	list_newer[place % LIST_PLACE] = place;
}

static void lists_init(void)
{
	u32 cpu;

	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++)
		begin_list(list_of(cpu));
}

#endif
