/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Least attained service, also known as foreground-background processor sharing [PBS §1, §2].
 *
 * The client that has had the least CPU time goes first, for one quantum; who came later has
 * had less, and so runs alone until it has caught up. Those that are even take turns. It is what
 * PBS becomes with a large alpha, in other code.
 *
 * - Service counts since the client was first seen, and with since=wakeup since it last slept.
 * - Who comes preempts the client that was served most, on the CPUs that it may use, if that
 *   was served more (no_preemption).
 * - Ties go to the lowest pid. Weights and shares count for nothing.
 * - All CPUs take from one heap; the one whose quantum ends competes with those who wait.
 *
 * Cost per decision: O(log n) in a heap of those who wait; O(n) with queue=list, and where the
 * first one is not allowed on the CPU that asks. O(CPUs) for who comes.
 *
 * Where it is bad: as long as clients come, old ones wait [PBS §3.3], for ever if the new ones
 * use up the CPU (a kernel ejects the policy after 30 s of that). An old client that slept
 * for long is no better off than one that did not. One lock and one heap for all CPUs.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "slots.bpf.h"

#define DEQ_SLEEP kernel_value(scx_deq_flags, SCX_DEQ_SLEEP)

QUANTUM_TUNABLE_OF(4000000);
enum since { SINCE_BIRTH, SINCE_WAKEUP };
const volatile u32 since help_text("service counts since a client came, or since it slept")
values("birth|wakeup") = SINCE_BIRTH;
const volatile bool no_preemption help_text("who comes waits for the end of a quantum");

struct las_stats {
	u64 picks help_text("quanta begun");
	u64 kept help_text("quanta that the same client got again");
	u64 preemptions help_text("clients that came and took a CPU away");
	u64 scans help_text("decisions that looked at every waiting client");
};

struct las_stats stats;

struct client {
	u64 served_ns;
	u64 charged_at; /* its CPU time when last charged */
	u64 charged_ns; /* the time then */
	bool slept;
	bool comes; /* became runnable and was not enqueued yet */
};

struct client clients[NR_SLOTS];

struct cpu_state {
	u32 running; /* 0: nobody of ours */
	bool gives_way;
};

struct cpu_state cpus[MAX_CPUS];

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

static bool ranks_above(u32 a, u32 b)
{
	u64 served = client_at(a)->served_ns, other = client_at(b)->served_ns;

	if (served != other)
		return served < other;
	return pid_of[a & SLOT_MASK] < pid_of[b & SLOT_MASK];
}

static bool pick_rule_differs(void)
{
	return false;
}

static bool runs_before(u32 a, u32 b)
{
	return ranks_above(a, b);
}

#include "ranked.bpf.h"
#include "preemption.bpf.h"

static void charge(struct client *c, u64 cpu_time, u64 now)
{
	c->served_ns += cpu_time - c->charged_at;
	c->charged_at = cpu_time;
	c->charged_ns = now;
}

static void begin_waiting(u32 slot, u64 now)
{
	ranked_add(slot);
}

static bool may_preempt(void)
{
	return !no_preemption;
}

/* The CPU of whom has most, if that is more than @slot has: 1 + its number, 0: none. */
static u32 cpu_to_preempt(u32 slot, u64 now)
{
	u64 most = client_at(slot)->served_ns;
	u32 cpu, found = 0;

	if (!place_of(slot))
		return 0;
	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++) {
		const struct cpu_state *state = &cpus[cpu % MAX_CPUS];
		const struct client *c = client_at(state->running);
		u64 served = c->served_ns + (now > c->charged_ns ? now - c->charged_ns : 0);

		if (!state->running || state->gives_way || !slot_may_use(slot, cpu))
			continue;
		if (served <= most)
			continue;
		most = served;
		found = cpu + 1;
	}
	return taken(found);
}

/* No direct dispatch: of several that wake up at once the first must win. */
s32 BPF_STRUCT_OPS(las_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(las_runnable, struct task_struct *p, u64 enq_flags)
{
	struct client *c = client_at(slot_of(p));

	bpf_spin_lock(&lock);
	if (c->slept && since == SINCE_WAKEUP)
		c->served_ns = 0;
	c->slept = false;
	c->comes = true;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(las_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_and_preempt(p);
}

void BPF_STRUCT_OPS(las_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 prev_slot = prev && is_runnable(prev) ? slot_of(prev) : 0, in_vain;
	u64 cpu_time = prev_slot ? prev->se.sum_exec_runtime : 0;
	u64 now = bpf_ktime_get_ns(), slice_ns = quantum_now();
	struct choice choice;
	struct decision d;

	bpf_spin_lock(&lock);
	if (prev_slot)
		charge(client_at(prev_slot), cpu_time, now);
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

void BPF_STRUCT_OPS(las_running, struct task_struct *p)
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

void BPF_STRUCT_OPS(las_stopping, struct task_struct *p, bool runnable)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 cpu_time = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	charge(client_at(slot), cpu_time, now);
	cpus[cpu % MAX_CPUS].running = 0;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(las_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	ranked_remove(slot);
	if (deq_flags & DEQ_SLEEP)
		client_at(slot)->slept = true;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(las_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, ranked_len);
}

void BPF_STRUCT_OPS(las_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

s32 BPF_STRUCT_OPS(las_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 slot = slot_take(p);

	if (!slot)
		return -ENOMEM;
	clients[slot] = (struct client){};
	return 0;
}

void BPF_STRUCT_OPS(las_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	slot_give_back(slot_of(p));
}

s32 BPF_STRUCT_OPS(las_init)
{
	return slots_init();
}

SCX_OPS_DEFINE(las_ops)
help_text("Least attained service: who had the least CPU time goes first") paper("PBS §2") = {
	.select_cpu = (void *)las_select_cpu,
	.runnable = (void *)las_runnable,
	.enqueue = (void *)las_enqueue,
	.dispatch = (void *)las_dispatch,
	.running = (void *)las_running,
	.stopping = (void *)las_stopping,
	.quiescent = (void *)las_quiescent,
	.set_cpumask = (void *)las_set_cpumask,
	.update_idle = (void *)las_update_idle,
	.init_task = (void *)las_init_task,
	.exit_task = (void *)las_exit_task,
	.init = (void *)las_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "las",
};
