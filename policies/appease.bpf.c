/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Customer appeasement [CAS]: run the tasks that serve waiting requests first.
 *
 * Requests are seen at sockets. A task that serves one, or helps to serve it, belongs to Q0 and
 * goes before all others, which are in Q1. Within Q0 the first is the task with the request that
 * has waited longest, without the time in which it was being served [CAS §4, 1 to 6]. Q1 is a
 * fair queue by virtual time [7].
 *
 * Where the paper is silent:
 * - Q0 starves Q1. Here Q1 has a reserve of the CPU time, 5 % by default.
 * - New processes start in Q0 [8], so a task that forks all the time would stay there. Here new
 *   processes are the first in Q1, by newborn_ns, which their parents pay. With newborns=q0 it is
 *   as in the paper, which has no numbers: newborn_ns is the unhappiness that they begin with, and
 *   they are moved to Q1 after a quantum, or when they sleep.
 * - How responses are detected [§5]: by what is sent on the socket that the request came from. A
 *   request also ends when its holder takes another one instead, or after forget_ns.
 * - What counts as a customer: see appease_requests.bpf.h.
 * - The paper keeps unhappiness per process and request. Which of several requests a process
 *   works on is not known, so the one with the highest total counts.
 * - A task of Q0 that wakes up takes a CPU from Q1 at once; within Q0 the next decision counts, at
 *   the end of a quantum.
 *
 * mode=rbpe is the paper's simpler form for a fair scheduler [§5, Table 1]: all tasks are in Q1,
 * and a task that received something weighs more for a while.
 *
 * Cost per decision: O(log n). O(n) where customers or servers have different weights, in
 * the quanta of the reserve, and where the first task is not allowed on the CPU that asks. O(CPUs)
 * for a wakeup; events at sockets O(1), but for up to 32 requests that one task holds.
 *
 * Where it is bad: while there are customers, tasks that compute for themselves have the reserve
 * only. Requests that are no messages on sockets are not seen: pipes, shared memory, files. A
 * server that never answers is in Q0 until it takes the next request. One lock and one heap for
 * all CPUs.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "appease_requests.bpf.h"

#define DEQ_SLEEP	     kernel_value(scx_deq_flags, SCX_DEQ_SLEEP)
#define ENQ_WAKEUP	     kernel_value(scx_enq_flags, SCX_ENQ_WAKEUP)
#define TASK_UNINTERRUPTIBLE 2

s32 BPF_STRUCT_OPS(appease_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(appease_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_of(p), cpu = bpf_get_smp_processor_id();
	struct client *c = client_at(slot);
	struct actor a = {}, waker = {};
	u64 now = bpf_ktime_get_ns();
	bool wakes = enq_flags & ENQ_WAKEUP && mode == MODE_UNHAPPINESS;

	if (wakes) {
		a = actor_of(p);
		waker = actor_of(bpf_get_current_task_btf());
	}
	bpf_spin_lock(&lock);
	set_pace(slot, PACE_WAITS, now);
	if (wakes && a.slot)
		woken(&a, &waker, cpu, now);
	if (c->virt + quantum_now() < min_virt)
		c->virt = min_virt - quantum_now();
	c->comes = true;
	/* Until now there was one less. */
	if (mode == MODE_RBPE)
		load_renew(nr_runnable, now);
	nr_runnable++;
	bpf_spin_unlock(&lock);
}

static void begin_waiting(u32 slot, u64 now)
{
	queue_add(slot, now);
	if (mode == MODE_RBPE)
		load_renew(nr_runnable, now);
	stats.load = load;
}

void BPF_STRUCT_OPS(appease_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_and_preempt(p);
}

void BPF_STRUCT_OPS(appease_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 prev_slot = prev && is_runnable(prev) ? slot_of(prev) : 0, in_vain;
	u64 cpu_time = prev_slot ? prev->se.sum_exec_runtime : 0;
	struct cpu_state *state = &cpus[(u32)cpu % MAX_CPUS];
	u64 now = bpf_ktime_get_ns(), slice_ns = quantum_now();
	struct choice choice;
	struct decision d;

	bpf_spin_lock(&lock);
	if (prev_slot)
		charge(client_at(prev_slot), cpu_time, now);
	choice = queue_pick(cpu, prev_slot, now);
	if (choice.slot && choice.slot == prev_slot)
		state->gives_way = false;
	stats.reserved += state->reserved;
	queue_remove(choice.slot);
	in_vain = who_waits_in_vain(cpu, choice.slot);
	decide(&d, choice.slot, slice_ns, in_vain, place_of(in_vain));
	bpf_spin_unlock(&lock);
	carry_out(&d, cpu, prev, prev_slot);
}

void BPF_STRUCT_OPS(appease_running, struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 cpu_time = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();
	struct client *c = client_at(slot);

	bpf_spin_lock(&lock);
	queue_remove(slot); /* there still if a change of the task raced with its dispatch */
	set_pace(slot, PACE_SERVED, now);
	c->charged_at = cpu_time;
	c->charged_ns = now;
	c->runs_as = c->rank;
	cpus[cpu % MAX_CPUS].running = slot;
	cpus[cpu % MAX_CPUS].gives_way = false;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(appease_stopping, struct task_struct *p, bool runnable)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 cpu_time = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	charge(client_at(slot), cpu_time, now);
	set_pace(slot, PACE_WAITS, now);
	cpus[cpu % MAX_CPUS].running = 0;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(appease_quiescent, struct task_struct *p, u64 deq_flags)
{
	bool waits_for_device = p->__state & TASK_UNINTERRUPTIBLE;
	u64 now = bpf_ktime_get_ns();
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	queue_remove(slot);
	if (mode == MODE_RBPE)
		load_renew(nr_runnable, now);
	nr_runnable--;
	if (deq_flags & DEQ_SLEEP) {
		sleeps(slot, now);
		client_at(slot)->newborn_ns = 0;
		/* Waiting for a device counts [CAS §2.2], waiting for others' work not [4]. */
		set_pace(slot, waits_for_device ? PACE_WAITS : PACE_STILL, now);
	}
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(appease_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, ranked_len);
}

void BPF_STRUCT_OPS(appease_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

static void weigh(u32 slot, struct task_struct *p)
{
	u32 share = share_of(p);

	client_at(slot)->weight = client_at(slot)->elevated_weight = weight_of(p);
	client_at(slot)->share = share < 10000 ? share : 10000;
}

void BPF_STRUCT_OPS(appease_set_weight, struct task_struct *p, u32 weight)
{
	weigh(slot_of(p), p);
}

void BPF_STRUCT_OPS(appease_enable, struct task_struct *p)
{
	weigh(slot_of(p), p);
}

/* A class above has it: what it holds may be served there. */
void BPF_STRUCT_OPS(appease_disable, struct task_struct *p)
{
	u32 slot = slot_of(p);
	u64 now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	set_pace(slot, PACE_STILL, now);
	bpf_spin_unlock(&lock);
}

s32 BPF_STRUCT_OPS(appease_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct actor parent = actor_of(bpf_get_current_task_btf());
	u64 now = bpf_ktime_get_ns(), virt = min_virt;
	bool in_q0 = newborns == NEWBORNS_Q0 && args->fork;
	u32 slot = slot_take(p);

	if (!slot)
		return -ENOMEM;
	if (args->fork && !in_q0 && parent.slot && virt > newborn_ns) {
		virt -= newborn_ns;
		bpf_spin_lock(&lock);
		client_at(parent.slot)->virt += newborn_ns;
		bpf_spin_unlock(&lock);
	}
	clients[slot] = (struct client){.virt = virt, .newborn_ns = in_q0 ? quantum_now() : 0};
	holder_begin(slot, now);
	weigh(slot, p);
	return 0;
}

void BPF_STRUCT_OPS(appease_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u64 now = bpf_ktime_get_ns();
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	forsake(slot, now);
	bpf_spin_unlock(&lock);
	forget_share_of(p);
	slot_give_back(slot);
}

s32 BPF_STRUCT_OPS(appease_init)
{
	requests_init();
	return slots_init();
}

SCX_OPS_HEED(appease_ops, "nice, share, SCHED_IDLE, SMT, LLC, NUMA");
SCX_OPS_DEFINE(appease_ops)
help_text("Customer appeasement: tasks that serve waiting requests go first") paper("CAS §4") = {
	.select_cpu = (void *)appease_select_cpu,
	.runnable = (void *)appease_runnable,
	.enqueue = (void *)appease_enqueue,
	.dispatch = (void *)appease_dispatch,
	.running = (void *)appease_running,
	.stopping = (void *)appease_stopping,
	.quiescent = (void *)appease_quiescent,
	.update_idle = (void *)appease_update_idle,
	.set_cpumask = (void *)appease_set_cpumask,
	.set_weight = (void *)appease_set_weight,
	.enable = (void *)appease_enable,
	.disable = (void *)appease_disable,
	.init_task = (void *)appease_init_task,
	.exit_task = (void *)appease_exit_task,
	.init = (void *)appease_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "appease",
};
