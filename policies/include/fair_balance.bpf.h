/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task waits: which CPU's queue it comes into, and when one is pulled into
 * another. A simple form of Linux's balancing, in one domain that has all CPUs:
 * - a task that wakes up goes to an idle CPU if there is one, else where it was; a new one, to
 *   the CPU with the least load;
 * - a CPU that runs out of tasks pulls one from the CPU with the most load;
 * - a busy one compares itself with that in regular intervals, and if its load is
 *   imbalance_pct higher pulls tasks worth up to half of the difference. Where all are
 *   too heavy, the bound doubles with each time in vain.
 * Load is the sum of the weights of the tasks that take part. A CPU that runs a task of a higher
 * class is not idle, and has the most load. Needs the lock.
 */
#ifndef ROTA_FAIR_BALANCE_BPF_H
#define ROTA_FAIR_BALANCE_BPF_H

#define MOST_LOOKED_AT 32 /* clients of a queue in one look, as the kernel's sched_nr_migrate */
#define WAKE_FORK      kernel_value(scx_wake_flags, SCX_WAKE_FORK)
#define OTHERS_WEIGHT  177522 /* twice that of nice -20 */

const volatile u64 balance_interval_ns
	help_text("a busy CPU balances once in this time, for each CPU of the machine") unit(ns)
	range(100000, 1000000000) = 16000000;
const volatile bool no_balance help_text("busy CPUs do not pull from others");

/*
 * CPU + 1 with the queue in which one that sleeps takes part still; 0: none that it may use. For
 * ops.select_cpu, without the lock: it can be taken out meanwhile, so its home is read once.
 */
static u32 home_asleep(u32 slot)
{
	const struct client *c = client_at(slot);
	u32 home = *(const volatile u32 *)&c->home;

	return c->delayed && home && slot_may_use(slot, home - 1) ? home : 0;
}

/*
 * The load of @cpu, of which a task of a higher class is one more, by far the heaviest.
 * (set_load_weight of Linux 2.6.24)
 */
static u64 load_with_others(u32 cpu, u64 now)
{
	const struct cpu_queue *q = queue_of(cpu);
	bool others = is_away(cpu) && !q->switches && now - q->away_since >= SHORT_NS;

	return load_on(cpu) + (others ? OTHERS_WEIGHT : 0);
}

/* For ops.select_cpu, without the lock: what is read here may be old, and any CPU is right. */
static s32 least_loaded_cpu(u32 slot, s32 otherwise)
{
	u64 now = bpf_ktime_get_ns(), least = load_with_others(otherwise, now), load;
	s32 best = otherwise;
	u32 cpu;

	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++) {
		load = load_with_others(cpu, now);
		if (slot_may_use(slot, cpu) && load < least) {
			least = load;
			best = cpu;
		}
	}
	return best;
}

static s32 choose_queue(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	u32 slot = slot_of(p), home = home_asleep(slot);
	s32 cpu;

	/* The kernel would not look elsewhere either. */
	if (home) {
		slot_cpu_comes[slot & SLOT_MASK] = 0;
		return home - 1;
	}
	cpu = choose_cpu(p, prev_cpu, wake_flags);
	if (!slot_cpu_comes[slot & SLOT_MASK] && wake_flags & WAKE_FORK)
		return least_loaded_cpu(slot, cpu);
	return cpu;
}

/*
 * The first of those that wait on a CPU and may use @cpu, beginning with @slot; 0: none of the
 * next, up to MOST_LOOKED_AT with those that were @seen before.
 */
static __attribute__((noinline)) u32 movable(u32 slot, u32 cpu, u32 *seen)
{
	while (slot && can_loop()) {
		if (++*seen > MOST_LOOKED_AT)
			return 0;
		if (!client_at(slot)->delayed && slot_may_use(slot, cpu))
			return slot;
		slot = next_client(slot);
	}
	return 0;
}

/* The first that may use @cpu, of the CPU with the most load that has one; 0: none. */
static u32 first_of_busiest(u32 cpu, u64 now)
{
	u32 other, slot, first = 0, seen;
	u64 most = 0, load;

	for (other = loop_start; other < nr_cpus && can_loop(); other++) {
		struct cpu_queue *q = queue_of(other);

		if (other == cpu || !q->nr_waiting)
			continue;
		load = load_with_others(other, now);
		if (load <= most)
			continue;
		seen = loop_start;
		slot = movable(first_waiting(other), cpu, &seen);
		if (!slot)
			continue;
		most = load;
		first = slot;
	}
	return first;
}

static void pull(u32 slot, u32 cpu)
{
	stats.pulls++;
	stop_waiting(slot);
	move_in(slot, cpu);
}

/*
 * For a CPU with nothing to do: a task from another queue, which does not wait any more. Where
 * too many are in front that may not use it, the one that it was woken up for.
 */
static u32 pull_one(u32 cpu, u64 now)
{
	u32 slot = nr_waiting ? first_of_busiest(cpu, now) : 0;

	if (!slot) {
		slot = cpu_comes_for[cpu % MAX_CPUS] & SLOT_MASK;
		if (!client_at(slot)->waits || client_at(slot)->delayed || !slot_may_use(slot, cpu))
			return 0;
	}
	pull(slot, cpu);
	return slot;
}

/* The first of those that a busy @cpu pulled, which wait there now; 0: none. */
static u32 balance(u32 cpu, u64 now)
{
	struct cpu_queue *q = queue_of(cpu);
	u32 slot, next, seen = loop_start, first = 0, in_vain;
	u64 most, load;

	if (no_balance || now < q->next_balance)
		return 0;
	q->next_balance = now + balance_interval_ns * nr_cpus;
	slot = nr_waiting > q->nr_waiting ? first_of_busiest(cpu, now) : 0;
	load = slot ? load_with_others(client_at(slot)->home - 1, now) : 0;
	if (load * 100 <= load_on(cpu) * imbalance_pct) {
		q->in_vain = 0;
		return 0;
	}
	most = (load - load_on(cpu)) / 2;
	in_vain = q->in_vain < 16 ? q->in_vain : 16;
	while (slot && can_loop()) {
		u64 weight = flat_weight(slot);

		next = movable(next_client(slot), cpu, &seen);
		if (weight >> in_vain <= most) {
			pull(slot, cpu);
			start_waiting(slot);
			first = first ? first : slot;
			if (weight >= most)
				break;
			most -= weight;
		}
		slot = next;
	}
	q->in_vain = first ? 0 : q->in_vain + 1;
	return first;
}

/* A policy that balances in another way defines these itself. */
#ifndef OWN_BALANCE
/* @cpu's queue is about to change, by @slot if that is not 0. */
static void before_change(u32 slot, u32 cpu, u64 now)
{
}

/* It is not ours any more. */
static void forget(u32 slot, u64 now)
{
}

/* It gets the CPU. */
static void note_start(u32 slot, u32 cpu, u64 now)
{
}

/* @cpu was away from @since to @now. */
static void note_away(u32 cpu, u64 since, u64 now)
{
}

/* For a CPU that no task waits for, before it decides. */
static void pull_before(u32 cpu, u64 now)
{
}

/* For a CPU that found none: see pull_one(). */
static u32 pull_after(u32 cpu, u64 now)
{
	return pull_one(cpu, now);
}

/* For a busy CPU: see balance(). */
static u32 pull_at_tick(u32 cpu, u64 now)
{
	return balance(cpu, now);
}

/* For the end of ops.tick, without the lock. */
static void after_tick(struct task_struct *p, u32 cpu, u64 now)
{
}

/* May the task that ran there go on, if none is better? */
static bool may_stay(u32 slot, u32 cpu)
{
	return true;
}

/* For the end of ops.enqueue, with the lock. */
static void after_enqueue(u32 slot, u32 cpu, u64 now)
{
}

/* For the end of ops.dispatch and ops.enqueue, without the lock. */
static void after_decision(u32 cpu)
{
}

/* For the end of ops.enqueue, without the lock: see call_idle_cpu(). */
static bool call_for(struct task_struct *p, u32 slot)
{
	return call_idle_cpu(p, slot);
}
#endif

#endif
