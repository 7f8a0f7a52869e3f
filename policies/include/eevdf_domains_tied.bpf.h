/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU that balances for its group takes tasks for others of it, too: those that it may not run
 * (LBF_DST_PINNED). kernel/sched/fair.c of Linux 7.2, with the functions named. Needs the lock.
 */
#ifndef ROTA_EEVDF_DOMAINS_TIED_BPF_H
#define ROTA_EEVDF_DOMAINS_TIED_BPF_H

#include "bits.bpf.h"

/* What is to be done about a CPU that tasks came to. */
enum call {
	CALL_NOT,
	CALL_IDLE,
	CALL_PREEMPT,
};

u32 came_to[MAX_CPUS]; /* the last task that came there, for which another CPU looked */
u8 calls[MAX_CPUS];    /* enum call */

static bool notices(u32 cpu, u32 slot);
static bool preempts(u32 cpu, u32 slot, bool comes_first_time);
static bool is_lazy(void);

/* May it go there? If not, to another CPU of that group? (can_migrate_task) */
static bool fits(u32 slot, u32 cpu)
{
	u64 both;
	u32 n;

	if (slot_may_use(slot, cpu)) {
		look.some_fit = true;
		return true;
	}
	look.some_tied = true;
	for (n = fresh_start(); n < CPU_WORDS && !look.next_to && can_loop(); n++) {
		both = look.others[INDEX(n, CPU_WORDS)];
		both &= slot_cpus[slot & SLOT_MASK][INDEX(n, CPU_WORDS)];
		look.next_to = both ? 64 * n + lowest_bit(both) + 1 : 0;
	}
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

	for (n = fresh_start(); n < CPU_WORDS && can_loop(); n++)
		look.others[INDEX(n, CPU_WORDS)] = 0;
	for (n = fresh_start(); n < group_weight(level, cpu) && !look.newly_idle && can_loop();
	     n++) {
		other = cpu_at(first + n);
		*word_of_others(other) |= 1ull << other % 64;
	}
}

/* What came to the CPU that tasks go to. */
static void note_came(u32 cpu)
{
	if (look.to == cpu) {
		look.came = survey.moved;
		return;
	}
	look.elsewhere |= survey.moved != 0;
	came_to[INDEX(look.to, MAX_CPUS)] = survey.moved;
}

/*
 * Takes tasks from the busiest CPU; then, while there is more to take, those that this one may not
 * run but others of its group may, CPU by CPU. (more_balance of sched_balance_rq)
 */
__kinline void move_to_group(u32 cpu, u32 level, u64 now)
{
	u32 n;

	for (n = fresh_start(); n < group_weight(level, cpu) && can_loop(); n++) {
		look.next_to = survey.moved = 0;
		if (look.to != cpu)
			charge_clock(queue_of(look.to)->running, now);
		move_from_busiest(look.to, now);
		note_came(cpu);
		if (!look.next_to || !(survey.left | survey.imbalance))
			return;
		left_out[INDEX(look.to, MAX_CPUS)] = look.pass;
		*word_of_others(look.to) &= ~(1ull << look.to % 64);
		look.to = look.next_to - 1;
	}
}

/* What comes of the tasks that others of the group got. (attach_task, wakeup_preempt) */
__kinline void decide_calls(u32 cpu, u32 level)
{
	u32 n, other, slot, first = group_first(level, cpu);
	struct cpu_queue *q;
	bool preempt;

	for (n = fresh_start(); n < group_weight(level, cpu) && can_loop(); n++) {
		other = INDEX(cpu_at(first + n), MAX_CPUS);
		slot = came_to[other];
		if (!slot)
			continue;
		came_to[other] = 0;
		q = queue_of(other);
		if (!q->running) {
			calls[other] = CALL_IDLE;
			continue;
		}
		preempt = notices(other, slot);
		preempt |= preempts(other, slot, false);
		q->gives_way |= preempt;
		if (preempt && !is_lazy())
			calls[other] = CALL_PREEMPT;
	}
}

/* Without the lock. */
static __attribute__((noinline)) void call_group(u32 cpu, u32 level)
{
	u32 n, other, call, first = group_first(level, cpu);

	for (n = fresh_start(); n < group_weight(level, cpu) && can_loop(); n++) {
		other = INDEX(cpu_at(first + n), MAX_CPUS);
		call = calls[other];
		calls[other] = CALL_NOT;
		if (call == CALL_IDLE)
			scx_bpf_test_and_clear_cpu_idle(other);
		if (call)
			scx_bpf_kick_cpu(other, call == CALL_IDLE ? KICK_PLAIN : KICK_PREEMPT);
	}
}

#endif
