/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shortest job first, by predicted CPU bursts [OSC §5.3.2]: A. Silberschatz, P. Galvin, G. Gagne,
 * Operating System Concepts, 10th edition, Wiley 2018.
 *
 * A burst is the CPU time of a client from its wakeup until it sleeps. The next one is predicted
 * from those before, each counting less than the one after it:
 *
 *	tau' = alpha t + (1 - alpha) tau
 *
 * t is the length of the last burst and tau what was predicted for it. The client whose burst has
 * the least left goes first. Who comes preempts the client that has most left, on the CPUs that it
 * may use, if that is more (shortest remaining time first); with no_preemption a client keeps its
 * CPU until its burst ends. Ties go to who came first.
 *
 * Our readings where the book is silent
 * - A burst that outlasts its prediction has as much left as it had already. (Nothing left would
 *   be first of all for ever, and a client that computes would never give way.)
 * - Of those, and of all others, the first is looked for again at the end of each quantum.
 * - A client that exits, or that the kernel takes out and puts back, ends no burst.
 * - Weights and shares count for nothing. All CPUs take from one heap.
 *
 * Cost per decision: O(log n) in a heap of those who wait; O(n) with queue=list, and where the
 * first one is not allowed on the CPU that asks. O(CPUs) for who comes.
 *
 * Where it is bad: long bursts wait as long as short ones come, for ever if these use up the CPU (a
 * kernel ejects the policy after 30 s of that). A client that alternates between long and short
 * bursts is predicted badly in both. One that cuts its work into pieces by short sleeps gets ahead
 * of one that does not. One lock and one heap for all CPUs.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "slots.bpf.h"

#define DEQ_SLEEP kernel_value(scx_deq_flags, SCX_DEQ_SLEEP)
#define WHOLE	  1000 /* alpha = 1 */

QUANTUM_TUNABLE_OF(4000000);
const volatile u64 alpha help_text("weight of the last burst in the prediction of the next")
scale(1000) range(0, 1) = WHOLE / 2;
const volatile u64 first_burst_ns help_text("what is predicted for a client's first burst") unit(ns)
range(0, 1000000000000) = 10000000;
const volatile bool no_preemption help_text("who has a CPU keeps it until its burst ends");

struct sjf_stats {
	u64 picks help_text("quanta begun");
	u64 kept help_text("quanta that the same client got again");
	u64 preemptions help_text("clients that came and took a CPU away");
	u64 bursts help_text("bursts that ended");
	u64 outlasted help_text("of these, those that were longer than predicted");
	u64 scans help_text("decisions that looked at every waiting client");
};

struct sjf_stats stats;

struct client {
	u64 predicted_ns;
	u64 burst_ns;	/* of the burst, so far */
	u64 came;	/* the number of its wakeup, of all clients' */
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
u64 wakeups;

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

/* What is left of a burst that has had so much. */
static u64 rest_of(const struct client *c, u64 burst_ns)
{
	return burst_ns < c->predicted_ns ? c->predicted_ns - burst_ns : burst_ns;
}

static bool ranks_above(u32 a, u32 b)
{
	const struct client *one = client_at(a), *other = client_at(b);
	u64 rest = rest_of(one, one->burst_ns), others = rest_of(other, other->burst_ns);

	if (rest != others)
		return rest < others;
	return one->came < other->came;
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
	c->burst_ns += cpu_time - c->charged_at;
	c->charged_at = cpu_time;
	c->charged_ns = now;
}

static void begin_burst(struct client *c)
{
	c->came = ++wakeups;
	if (!c->slept)
		return;
	c->slept = false;
	c->burst_ns = 0;
}

static void end_burst(struct client *c)
{
	u64 weight = alpha < WHOLE ? alpha : WHOLE;

	stats.bursts++;
	stats.outlasted += c->burst_ns > c->predicted_ns;
	c->predicted_ns = (weight * c->burst_ns + (WHOLE - weight) * c->predicted_ns) / WHOLE;
	c->slept = true;
}

static void begin_waiting(u32 slot, u64 now)
{
	ranked_add(slot);
}

static bool may_preempt(void)
{
	return !no_preemption;
}

/* The CPU of whom has most left, if that is more than @slot has: 1 + its number, 0: none. */
static u32 cpu_to_preempt(u32 slot, u64 now)
{
	u64 most = rest_of(client_at(slot), client_at(slot)->burst_ns);
	u32 cpu, found = 0;

	if (!place_of(slot))
		return 0;
	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++) {
		const struct cpu_state *state = &cpus[cpu % MAX_CPUS];
		const struct client *c = client_at(state->running);
		u64 ran_ns = now > c->charged_ns ? now - c->charged_ns : 0;
		u64 rest = rest_of(c, c->burst_ns + ran_ns);

		if (!state->running || state->gives_way || !slot_may_use(slot, cpu))
			continue;
		if (rest <= most)
			continue;
		most = rest;
		found = cpu + 1;
	}
	return taken(found);
}

/* No direct dispatch: of several that wake up at once the first must win. */
s32 BPF_STRUCT_OPS(sjf_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(sjf_runnable, struct task_struct *p, u64 enq_flags)
{
	struct client *c = client_at(slot_of(p));

	bpf_spin_lock(&lock);
	begin_burst(c);
	c->comes = true;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(sjf_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_and_preempt(p);
}

void BPF_STRUCT_OPS(sjf_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 prev_slot = prev && is_runnable(prev) ? slot_of(prev) : 0, in_vain;
	u64 cpu_time = prev_slot ? prev->se.sum_exec_runtime : 0;
	u64 now = bpf_ktime_get_ns(), slice_ns = quantum_now();
	struct choice choice = {.slot = prev_slot};
	struct decision d;

	bpf_spin_lock(&lock);
	if (prev_slot)
		charge(client_at(prev_slot), cpu_time, now);
	if (!prev_slot || !no_preemption)
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

void BPF_STRUCT_OPS(sjf_running, struct task_struct *p)
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

void BPF_STRUCT_OPS(sjf_stopping, struct task_struct *p, bool runnable)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 cpu_time = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	charge(client_at(slot), cpu_time, now);
	cpus[cpu % MAX_CPUS].running = 0;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(sjf_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	ranked_remove(slot);
	if (deq_flags & DEQ_SLEEP)
		end_burst(client_at(slot));
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(sjf_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, ranked_len);
}

void BPF_STRUCT_OPS(sjf_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

s32 BPF_STRUCT_OPS(sjf_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 slot = slot_take(p);

	if (!slot)
		return -ENOMEM;
	clients[slot] = (struct client){.predicted_ns = first_burst_ns};
	return 0;
}

void BPF_STRUCT_OPS(sjf_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	slot_give_back(slot_of(p));
}

s32 BPF_STRUCT_OPS(sjf_init)
{
	return slots_init();
}

SCX_OPS_DEFINE(sjf_ops)
help_text("Shortest job first: the least left of a CPU burst, predicted from those before")
paper("OSC §5.3.2") = {
	.select_cpu = (void *)sjf_select_cpu,
	.runnable = (void *)sjf_runnable,
	.enqueue = (void *)sjf_enqueue,
	.dispatch = (void *)sjf_dispatch,
	.running = (void *)sjf_running,
	.stopping = (void *)sjf_stopping,
	.quiescent = (void *)sjf_quiescent,
	.set_cpumask = (void *)sjf_set_cpumask,
	.update_idle = (void *)sjf_update_idle,
	.init_task = (void *)sjf_init_task,
	.exit_task = (void *)sjf_exit_task,
	.init = (void *)sjf_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "sjf",
};
