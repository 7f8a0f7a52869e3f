/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callbacks of a policy in which the task that has least of something goes first, and a task
 * that comes preempts the one that has most, from one ranked queue for all CPUs: all but what it
 * is that is counted. The policy that includes this defines before it struct client, with
 *  - charged_at: its CPU time when last charged, and charged_ns: the time then;
 *  - comes: it became runnable and was not enqueued yet;
 * and its stats with picks, kept and preemptions; and under the lock
 *  - amount_of(c, ran_ns): what the task has once it was charged for ran_ns more;
 *  - first_of_equals(a, b): the task in slot a, of two with the same amount;
 *  - use_cpu(c, ran_ns): charges it;
 *  - come(c): it is runnable from here on;
 *  - sleep(c): it is not, of its own will;
 *  - may_preempt(): a task that comes need not wait for the end of a quantum;
 *  - keeps_cpu(): the running task is not compared with the waiting ones.
 */
#ifndef ROTA_LEAST_OPS_BPF_H
#define ROTA_LEAST_OPS_BPF_H

#include "exit.bpf.h"
#include "slots.bpf.h"

#define DEQ_SLEEP kernel_value(scx_deq_flags, SCX_DEQ_SLEEP)

struct cpu_state {
	u32 running; /* 0: none of ours */
	bool gives_way;
};

struct cpu_state cpus[MAX_CPUS];

static bool ranks_above(u32 a, u32 b)
{
	u64 amount = amount_of(client_at(a), 0), other = amount_of(client_at(b), 0);

	if (amount != other)
		return amount < other;
	return first_of_equals(a, b);
}

static bool pick_rule_differs(void)
{
	return false;
}

static bool runs_before(u32 a, u32 b)
{
	return ranks_above(a, b);
}

#include "preemption.bpf.h"
#include "ranked.bpf.h"

static void charge(struct client *c, u64 cpu_time, u64 now)
{
	use_cpu(c, cpu_time - c->charged_at);
	c->charged_at = cpu_time;
	c->charged_ns = now;
}

static void begin_waiting(u32 slot, u64 now)
{
	ranked_add(slot);
}

/* The CPU of the task that has most, if that is more than @slot has: 1 + its number, 0: none. */
static u32 cpu_to_preempt(u32 slot, u64 now)
{
	u64 most = amount_of(client_at(slot), 0);
	u32 cpu, found = 0;

	if (!place_of(slot))
		return 0;
	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++) {
		const struct cpu_state *state = &cpus[cpu % MAX_CPUS];
		const struct client *c = client_at(state->running);
		u64 ran_ns = now > c->charged_ns ? now - c->charged_ns : 0;
		u64 amount = amount_of(c, ran_ns);

		if (!state->running || state->gives_way || !slot_may_use(slot, cpu))
			continue;
		if (amount <= most)
			continue;
		most = amount;
		found = cpu + 1;
	}
	return taken(found);
}

/* No direct dispatch: of several that wake up at once the first must win. */
s32 BPF_STRUCT_OPS(least_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(least_runnable, struct task_struct *p, u64 enq_flags)
{
	struct client *c = client_at(slot_of(p));

	bpf_spin_lock(&lock);
	come(c);
	c->comes = true;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(least_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_and_preempt(p);
}

void BPF_STRUCT_OPS(least_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 prev_slot = prev && is_runnable(prev) ? slot_of(prev) : 0, in_vain;
	u64 cpu_time = prev_slot ? prev->se.sum_exec_runtime : 0;
	u64 now = bpf_ktime_get_ns(), slice_ns = quantum_now();
	struct choice choice = {.slot = prev_slot};
	struct decision d;

	bpf_spin_lock(&lock);
	if (prev_slot)
		charge(client_at(prev_slot), cpu_time, now);
	if (!prev_slot || !keeps_cpu())
		choice = ranked_pick(cpu, prev_slot);
	if (choice.slot && choice.slot == prev_slot) {
		stats.picks++;
		stats.kept++;
		cpus[(u32)cpu % MAX_CPUS].gives_way = false;
	}
	ranked_remove(choice.slot);
	in_vain = who_waits_in_vain(cpu, choice.slot);
	decide(&d, choice.slot, slice_ns, in_vain, place_of(in_vain));
	bpf_spin_unlock(&lock);
	carry_out(&d, cpu, prev, prev_slot);
}

void BPF_STRUCT_OPS(least_running, struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 cpu_time = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();
	struct client *c = client_at(slot);

	bpf_spin_lock(&lock);
	stats.picks++;
	ranked_remove(slot); /* there still if a change of the task raced with its dispatch */
	c->charged_at = cpu_time;
	c->charged_ns = now;
	cpus[cpu % MAX_CPUS] = (struct cpu_state){.running = slot};
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(least_stopping, struct task_struct *p, bool runnable)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 cpu_time = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	charge(client_at(slot), cpu_time, now);
	cpus[cpu % MAX_CPUS].running = 0;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(least_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	ranked_remove(slot);
	if (deq_flags & DEQ_SLEEP)
		sleep(client_at(slot));
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(least_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, ranked_len);
}

void BPF_STRUCT_OPS(least_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

void BPF_STRUCT_OPS(least_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	slot_give_back(slot_of(p));
}

s32 BPF_STRUCT_OPS(least_init)
{
	return slots_init();
}

/* All but init_task and the name. */
#define LEAST_OPS                                                                       \
	.select_cpu = (void *)least_select_cpu, .runnable = (void *)least_runnable,     \
	.enqueue = (void *)least_enqueue, .dispatch = (void *)least_dispatch,           \
	.running = (void *)least_running, .stopping = (void *)least_stopping,           \
	.quiescent = (void *)least_quiescent, .set_cpumask = (void *)least_set_cpumask, \
	.update_idle = (void *)least_update_idle, .exit_task = (void *)least_exit_task, \
	.init = (void *)least_init, .exit = (void *)record_exit,                        \
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE

#endif
