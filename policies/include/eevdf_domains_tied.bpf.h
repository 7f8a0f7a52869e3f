/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU that balances for its group takes tasks for others of it, too: those that it may not run
 * (LBF_DST_PINNED). kernel/sched/fair.c of Linux 7.2, with the functions named. Needs the lock.
 */
#ifndef ROTA_EEVDF_DOMAINS_TIED_BPF_H
#define ROTA_EEVDF_DOMAINS_TIED_BPF_H

#include "bits.bpf.h"

/*
 * The last task that came to a CPU, for which another one looked, until that CPU has seen to it: a
 * busy one at its next tick. (attach_task: the kernel decides at once, and does it at the tick)
 */
u32 came_to[MAX_CPUS];

static bool is_lazy(void);

/* May it go there? If not, to another CPU of that group? (can_migrate_task) */
static bool fits(u32 slot, u32 cpu)
{
	u64 all, found = fresh_long();
	u32 n, base = fresh_start();

	if (slot_may_use(slot, cpu)) {
		look.some_fit = true;
		return true;
	}
	look.some_tied = true;
	if (tied_stay || look.next_to)
		return false;
	/* Backwards, so that the first remains, and without a branch. */
#pragma unroll
	for (n = 0; n < CPU_WORDS; n++) {
		u32 word = CPU_WORDS - 1 - n;
		u64 mask;

		all = look.others[word] & slot_cpus[slot & SLOT_MASK][word];
		mask = -is_less(0, all);
		found += (all - found) & mask;
		base += (64 * word - base) & (u32)mask;
	}
	look.next_to = (base + lowest_bit(found) + 1) * (u32)is_less(0, found);
	return false;
}

static u64 *word_of_others(u32 cpu)
{
	return &look.others[INDEX(cpu / 64, CPU_WORDS)];
}

/* CPUs of its group that tied tasks can go to; of one that has just become idle, none. */
static __attribute__((noinline)) void note_others(u32 cpu, u32 level)
{
	u32 n, other, first = group_first(level, cpu);

	__builtin_memset(look.others, 0, sizeof(look.others));
	for (n = fresh_start(); n < group_weight(level, cpu) && !look.newly_idle && can_loop();
	     n++) {
		other = cpu_at(first + n);
		*word_of_others(other) |= 1ull << other % 64;
	}
}

/* What came to the CPU that tasks go to. */
static void note_came(u32 cpu)
{
	if (tied_stay || look.to == cpu) {
		look.came = survey.moved;
		return;
	}
	if (!survey.moved)
		return;
	look.elsewhere = true;
	came_to[INDEX(look.to, MAX_CPUS)] = survey.moved;
}

/* There is more to take, and others of its group may run what this one may not. */
static bool has_next_to(void)
{
	return !tied_stay && look.next_to && survey.left | survey.imbalance;
}

/* (more_balance of sched_balance_rq) */
static void go_on_to_next(void)
{
	left_out[INDEX(look.to, MAX_CPUS)] = look.pass;
	*word_of_others(look.to) &= ~(1ull << look.to % 64);
	look.to = look.next_to - 1;
}

/* Others of the group that got some hear of it. Without the lock. (wakeup_preempt) */
static __attribute__((noinline)) void call_group(u32 cpu, u32 level)
{
	u32 n, other, first = group_first(level, cpu);

	for (n = fresh_start(); n < group_weight(level, cpu) && can_loop(); n++) {
		other = INDEX(cpu_at(first + n), MAX_CPUS);
		if (!came_to[other])
			continue;
		if (queue_of(other)->running) {
			if (!is_lazy())
				scx_bpf_kick_cpu(other, KICK_PREEMPT);
			continue;
		}
		came_to[other] = 0;
		scx_bpf_test_and_clear_cpu_idle(other);
		scx_bpf_kick_cpu(other, KICK_PLAIN);
	}
}

/* For a busy CPU, at its tick: a task that came for which another one looked, 0: none. */
static u32 take_what_came(u32 cpu)
{
	u32 slot = came_to[INDEX(cpu, MAX_CPUS)];

	if (tied_stay || !slot)
		return 0;
	came_to[INDEX(cpu, MAX_CPUS)] = 0;
	return client_at(slot)->waits && client_at(slot)->home == cpu + 1 ? slot : 0;
}

#endif
