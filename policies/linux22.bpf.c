/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler of Linux 2.2, as the VTRR paper describes it [VTRR §4, §5.3].
 *
 * A task has a priority, 20 by default, and a counter, the ticks of 10 ms (tick_ns) left to
 * it. The counter begins at the priority, and each tick that the task runs takes one off.
 * Goodness is counter + priority, and 0 once the counter is 0. Each decision walks the run
 * queue and takes the task with the highest goodness, which runs until its counter drops
 * below zero: for one tick more than the counter. When all goodness in the queue is 0, every
 * task's counter becomes counter / 2 + priority, also of tasks that sleep.
 *
 * - The priority is 20 - nice, as in Linux 2.2: 40 for nice -20, 20 for 0, 1 for 19. So the
 *   user priorities 19, 17, 15, 13, 11 of [VTRR §5.3] are these nice values, the priorities
 *   1, 3, 5, 7, 9, and quanta of 20, 40, 60, 80, 100 ms: shares of 1 to 5. Weights that do
 *   not come from a nice value count for nothing, nor do shares.
 * - Ties go to the first in the queue; that is the running task, then the one that came last.
 *   (Linux 2.2 gives the running task a bonus of 1, and puts a task that comes at the head.)
 * - A decision takes place when a counter has dropped below zero, when the running task sleeps or
 *   yields, and when one with more goodness comes, which preempts (no_preemption). A lower
 *   goodness has an effect only then: a task that is at 0 loses its last tick there.
 * - A task that yields counts as goodness 0 in the decision that follows.
 *
 * Our readings
 * - Time is CPU time used, not ticks met. What a quantum was too long, as slices end at the
 *   kernel's timer ticks, is taken off the next one.
 * - Left out: the bonus of 1 for threads of the same program, that of tasks that ran last
 *   on the CPU that asks (several CPUs), half a counter for a forked child, real time.
 * - Several CPUs (the paper has one) take their picks from the one queue under one lock; a task
 *   that comes preempts the CPU that runs the least goodness of those it may use.
 *
 * Cost per decision: O(n), a walk of the run queue; O(all tasks) when counters are reset.
 *
 * Where it is bad: it gives each task all its time at once, so that others wait for the sum
 * of their quanta, 210 ms each by default. Proportions are of nice values only, by 20 ms. A task
 * that sleeps gains up to twice its priority in counters, and preempts. Each decision walks all
 * runnable tasks.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "slots.bpf.h"

#define DEFAULT_PRIORITY 20
#define NICE_0		 120 /* static_prio of nice 0 */

const volatile u64 tick_ns help_text("one count of a task's counter") unit(ns)
range(1000000, 100000000) = 10000000;
const volatile bool no_preemption help_text("a task that comes waits for the next decision");

struct linux22_stats {
	u64 picks help_text("quanta begun, or gone on with after a decision");
	u64 kept help_text("decisions for the task that ran");
	u64 looked_at help_text("tasks examined in the run queue");
	u64 resets help_text("times that all counters were reset");
	u64 preemptions help_text("tasks that came and preempted another");
};

struct linux22_stats stats;

struct client {
	s64 left_ns;	/* CPU time until its counter drops below zero */
	u64 charged_at; /* its CPU time when last charged */
	u32 priority;
	u32 next, prev; /* in the run queue */
	bool queued;
	bool waits;  /* in our custody: can be dispatched */
	bool comes;  /* became runnable and was not enqueued yet */
	bool yields; /* until the next decision */
	bool is_new; /* has not been runnable under this policy */
};

/* Slot 0 is the run queue's anchor: its next is the head, its prev the tail. */
struct client clients[NR_SLOTS];
u32 nr_waiting;
u32 runs_on[MAX_CPUS]; /* the task that runs there, 0: none */

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

static u32 counter_of(const struct client *c)
{
	return c->left_ns > 0 ? (u64)(c->left_ns - 1) / tick_ns : 0;
}

static u32 goodness(const struct client *c)
{
	u32 counter = counter_of(c);

	return counter && !c->yields ? counter + c->priority : 0;
}

static u32 priority_of(struct task_struct *p)
{
	s32 priority = DEFAULT_PRIORITY - (p->static_prio - NICE_0);

	return priority > 0 ? priority : 1;
}

/* Goodness is more than 0 afterwards: what a quantum was too long has its bounds. */
static void reset_counter(struct client *c)
{
	u32 counter = counter_of(c);
	s64 used_ns = (counter + 1) * tick_ns - c->left_ns; /* of the tick that has begun */
	s64 most_ns = c->priority * tick_ns - 1;

	if (c->left_ns <= 0)
		used_ns = -c->left_ns;
	else if (!counter)
		used_ns = 0;
	if (used_ns > most_ns)
		used_ns = most_ns;
	c->left_ns = (counter / 2 + c->priority + 1) * tick_ns - used_ns;
}

static void reset_all_counters(void)
{
	u32 slot;

	stats.resets++;
	for (slot = loop_start + 1; slot <= slots_used && can_loop(); slot++)
		reset_counter(client_at(slot));
}

static void charge(struct client *c, u64 cpu_time)
{
	c->left_ns -= cpu_time - c->charged_at;
	c->charged_at = cpu_time;
}

static void set_waits(struct client *c, bool waits)
{
	nr_waiting += waits - c->waits;
	c->waits = waits;
}

/* The first client with the highest goodness on @cpu: one that waits, or @prev (0: none). */
static u32 best_client(u32 cpu, u32 prev)
{
	u32 slot = clients[0].next & SLOT_MASK, best = prev;
	u32 highest = prev ? goodness(client_at(prev)) : 0;

	while (slot && can_loop()) {
		struct client *c = client_at(slot);

		stats.looked_at++;
		if (c->waits && slot_may_use(slot, cpu) && (!best || goodness(c) > highest)) {
			best = slot;
			highest = goodness(c);
		}
		slot = c->next & SLOT_MASK;
	}
	return best;
}

static u32 pick(u32 cpu, u32 prev)
{
	u32 best = nr_waiting ? best_client(cpu, prev) : prev;

	if (best && !goodness(client_at(best))) {
		reset_all_counters();
		client_at(prev)->yields = false;
		best = best_client(cpu, prev);
	}
	client_at(prev)->yields = false;
	return best;
}

/* The CPU on which @slot would replace the client with the least goodness; -1: none. */
static s32 cpu_to_preempt(u32 slot)
{
	u32 least = goodness(client_at(slot)), cpu;
	s32 found = -1;

	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++) {
		u32 running = runs_on[cpu % MAX_CPUS];

		if (!running || !slot_may_use(slot, cpu) || goodness(client_at(running)) >= least)
			continue;
		least = goodness(client_at(running));
		found = cpu;
	}
	return found;
}

/* No direct dispatch: of several that wake up at once the best must win. */
s32 BPF_STRUCT_OPS(linux22_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(linux22_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_of(p), head;
	struct client *c = client_at(slot);

	bpf_spin_lock(&lock);
	if (slot && !c->queued) {
		head = clients[0].next;
		c->next = head;
		c->prev = 0;
		client_at(head)->prev = slot;
		clients[0].next = slot;
		c->queued = true;
		c->comes = true;
	}
	c->is_new = false;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(linux22_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_of(p);
	struct client *c = client_at(slot);
	s32 victim = -1;

	bpf_spin_lock(&lock);
	set_waits(c, true);
	if (c->comes && !no_preemption)
		victim = cpu_to_preempt(slot);
	c->comes = false;
	bpf_spin_unlock(&lock);
	if (call_idle_cpu(p, slot) || victim < 0)
		return;
	__sync_fetch_and_add(&stats.preemptions, 1);
	scx_bpf_kick_cpu(victim, KICK_PREEMPT);
}

void BPF_STRUCT_OPS(linux22_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 prev_slot = prev && is_runnable(prev) ? slot_of(prev) : 0, slot, in_vain;
	u64 cpu_time = prev_slot ? prev->se.sum_exec_runtime : 0;
	struct decision d;

	bpf_spin_lock(&lock);
	if (prev_slot)
		charge(client_at(prev_slot), cpu_time);
	slot = pick(cpu, prev_slot);
	if (slot) {
		stats.picks++;
		stats.kept += slot == prev_slot;
		set_waits(client_at(slot), false);
	}
	in_vain = who_waits_in_vain(cpu, slot);
	decide(&d, slot, client_at(slot)->left_ns, in_vain, client_at(in_vain)->waits);
	bpf_spin_unlock(&lock);
	carry_out(&d, cpu, prev, prev_slot);
}

void BPF_STRUCT_OPS(linux22_running, struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	struct client *c = client_at(slot);
	u64 cpu_time = p->se.sum_exec_runtime;

	bpf_spin_lock(&lock);
	set_waits(c, false); /* it does if a change of the task raced with its dispatch */
	c->charged_at = cpu_time;
	runs_on[cpu % MAX_CPUS] = slot;
	bpf_spin_unlock(&lock);
}

/* For goodness as it is now, when a task comes. */
void BPF_STRUCT_OPS(linux22_tick, struct task_struct *p)
{
	u32 slot = slot_of(p);
	u64 cpu_time = p->se.sum_exec_runtime;

	bpf_spin_lock(&lock);
	charge(client_at(slot), cpu_time);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(linux22_stopping, struct task_struct *p, bool runnable)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 cpu_time = p->se.sum_exec_runtime;

	bpf_spin_lock(&lock);
	charge(client_at(slot), cpu_time);
	runs_on[cpu % MAX_CPUS] = 0;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(linux22_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 slot = slot_of(p);
	struct client *c = client_at(slot);

	bpf_spin_lock(&lock);
	set_waits(c, false);
	if (c->queued) {
		client_at(c->prev)->next = c->next;
		client_at(c->next)->prev = c->prev;
		c->queued = false;
	}
	bpf_spin_unlock(&lock);
}

bool BPF_STRUCT_OPS(linux22_yield, struct task_struct *from, struct task_struct *to)
{
	if (to)
		return false;
	client_at(slot_of(from))->yields = true;
	task_set_slice(from, 0);
	return true;
}

void BPF_STRUCT_OPS(linux22_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, nr_waiting);
}

void BPF_STRUCT_OPS(linux22_set_weight, struct task_struct *p, u32 weight)
{
	struct client *c = client_at(slot_of(p));
	u32 priority = priority_of(p);

	bpf_spin_lock(&lock);
	c->priority = priority;
	if (c->is_new)
		c->left_ns = (priority + 1) * tick_ns;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(linux22_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

s32 BPF_STRUCT_OPS(linux22_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 slot = slot_take(p), priority = priority_of(p);

	if (!slot)
		return -ENOMEM;
	clients[slot] = (struct client){
		.priority = priority,
		.left_ns = (priority + 1) * tick_ns,
		.is_new = true,
	};
	return 0;
}

void BPF_STRUCT_OPS(linux22_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	slot_give_back(slot_of(p));
}

s32 BPF_STRUCT_OPS(linux22_init)
{
	return slots_init();
}

SCX_OPS_HEED(linux22_ops, "nice, SMT, LLC, NUMA");
SCX_OPS_DEFINE(linux22_ops)
help_text("Linux 2.2: the highest goodness, counter + priority, of the runnable tasks")
paper("VTRR §4") = {
	.select_cpu = (void *)linux22_select_cpu,
	.runnable = (void *)linux22_runnable,
	.enqueue = (void *)linux22_enqueue,
	.dispatch = (void *)linux22_dispatch,
	.running = (void *)linux22_running,
	.tick = (void *)linux22_tick,
	.stopping = (void *)linux22_stopping,
	.quiescent = (void *)linux22_quiescent,
	.yield = (void *)linux22_yield,
	.set_weight = (void *)linux22_set_weight,
	.set_cpumask = (void *)linux22_set_cpumask,
	.update_idle = (void *)linux22_update_idle,
	.init_task = (void *)linux22_init_task,
	.exit_task = (void *)linux22_exit_task,
	.init = (void *)linux22_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "linux22",
};
