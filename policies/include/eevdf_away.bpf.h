/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that wait at a CPU while it runs a task of a higher class. The kernel's tick there sends an
 * idle CPU to balance (nohz_balancer_kick of kernel/sched/fair.c); ops.tick is not called there, so
 * a timer stands in for it, once a tick and only while such tasks wait.
 */
#ifndef ROTA_EEVDF_AWAY_BPF_H
#define ROTA_EEVDF_AWAY_BPF_H

#include "timers.bpf.h"

struct away_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct away_timer);
} away_timers SEC(".maps");

u32 away_timer_runs;

static void kick_to_balance(struct task_struct *p, u64 now);

/* The task that waits first at @cpu, which is away; 0: none, or it is not. */
static __attribute__((noinline)) u32 waits_at_away(u32 cpu)
{
	u32 slot = 0;

	bpf_spin_lock(&lock);
	if (is_away(cpu) && queue_of(cpu)->nr_waiting)
		slot = first_waiting(cpu);
	bpf_spin_unlock(&lock);
	return slot;
}

static void start_away_timer(struct bpf_timer *timer, u64 now)
{
	if (!__sync_lock_test_and_set(&away_timer_runs, 1))
		bpf_timer_start(timer, tick_ns - now % tick_ns, 0);
}

static int away_tick(void *map, u32 *key, struct away_timer *a)
{
	u64 now = bpf_ktime_get_ns();
	struct task_struct *p;
	bool again = false;
	u32 cpu, slot;

	away_timer_runs = 0;
	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++) {
		slot = waits_at_away(cpu);
		if (!slot)
			continue;
		again = true;
		p = bpf_task_from_pid(pid_of[slot & SLOT_MASK]);
		if (!p)
			continue;
		kick_to_balance(p, now);
		bpf_task_release(p);
	}
	if (again)
		start_away_timer(&a->timer, now);
	return 0;
}

/* For the end of ops.enqueue, without the lock: a task waits at @cpu, which is away. */
static __attribute__((noinline)) int watch_away(u64 now)
{
	struct away_timer *a;
	u32 key = 0;

	overloaded = true; /* (add_nr_running) */
	a = bpf_map_lookup_elem(&away_timers, &key);
	if (a && !away_timer_runs)
		start_away_timer(&a->timer, now);
	return 0;
}

/* For ops.init. */
static void away_init(void)
{
	struct away_timer *a;
	u32 key = 0;

	a = bpf_map_lookup_elem(&away_timers, &key);
	if (!a || work_conserving || nr_cpus < 2)
		return;
	bpf_timer_init(&a->timer, &away_timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&a->timer, away_tick);
}

#endif
