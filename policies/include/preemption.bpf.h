/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Preemption by tasks that come, in policies with one set of waiting tasks for all CPUs: a task
 * that comes takes a CPU if it goes before the one that runs there, and no CPU that it may use is
 * idle.
 *
 * The policy that includes this defines before it
 *  - client_at(slot)->comes: it became runnable and was not enqueued yet;
 *  - cpus[], of which each has running, the slot of the task that runs there (0: none of ours),
 *    and gives_way: it is being preempted already;
 *  - stats.preemptions;
 * and after it
 *  - begin_waiting(slot, now);
 *  - may_preempt(): a task that comes need not wait for the end of a quantum;
 *  - cpu_to_preempt(slot, now): the CPU that @slot takes if it still waits, by taken().
 */
#ifndef ROTA_PREEMPTION_BPF_H
#define ROTA_PREEMPTION_BPF_H

#include "slots.bpf.h"

static void begin_waiting(u32 slot, u64 now);
static bool may_preempt(void);
static u32 cpu_to_preempt(u32 slot, u64 now);

/* @found: 1 + the number of a CPU, which gives way from here on; 0: none does. */
static u32 taken(u32 found)
{
	if (found)
		cpus[(found - 1) % MAX_CPUS].gives_way = true;
	return found;
}

/* For ops.enqueue. */
static void enqueue_and_preempt(struct task_struct *p)
{
	u32 slot = slot_of(p), victim;
	struct client *c = client_at(slot);
	u64 now = bpf_ktime_get_ns();
	bool comes;

	bpf_spin_lock(&lock);
	comes = c->comes;
	c->comes = false;
	begin_waiting(slot, now);
	bpf_spin_unlock(&lock);
	if (call_idle_cpu(p, slot) || !comes || !may_preempt())
		return;
	bpf_spin_lock(&lock);
	victim = cpu_to_preempt(slot, now);
	stats.preemptions += victim != 0;
	bpf_spin_unlock(&lock);
	if (victim)
		scx_bpf_kick_cpu(victim - 1, KICK_PREEMPT);
}

#endif
