/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shortest job first, by predicted CPU bursts [OSC §5.3.2]: A. Silberschatz, P. Galvin, G. Gagne,
 * Operating System Concepts, 10th edition, Wiley 2018.
 *
 * A burst is the CPU time of a task from its wakeup until it sleeps. The next one is predicted
 * from those before, each counting less than the one after it:
 *
 *	tau' = alpha t + (1 - alpha) tau
 *
 * t is the length of the last burst and tau what was predicted for it. The task with the
 * least left of its burst goes first. A task that comes preempts the one that has most left, on the
 *CPUs that it may use, if that is more (shortest remaining time first); with no_preemption a task
 * keeps its CPU until its burst ends. Ties go to the task that came first.
 *
 * Our readings where the book is silent
 * - A burst that outlasts its prediction has as much left as it had already. (With nothing left it
 *   would be first for ever, and a task that computes would never be preempted.)
 * - Of those, and of all others, the first is determined again at the end of each quantum.
 * - A task that exits, or that the kernel takes out and puts back, ends no burst.
 * - Weights and shares count for nothing. All CPUs take from one heap.
 *
 * Cost per decision: O(log n) in a heap of the waiting tasks; O(n) with queue=list, and where the
 * first one is not allowed on the CPU that asks. O(CPUs) when a task comes.
 *
 * Where it is bad: long bursts wait as long as short ones come, for ever if these use up the CPU (a
 * kernel ejects the policy after 30 s of that). A task that alternates between long and short
 * bursts is predicted badly in both. One that cuts its work into pieces by short sleeps gets ahead
 * of one that does not. One lock and one heap for all CPUs.
 */
#include "rota.bpf.h"
#include "slots.bpf.h"

#define WHOLE 1000 /* alpha = 1 */

QUANTUM_TUNABLE_OF(4000000);
const volatile u64 alpha help_text("weight of the last burst in the prediction of the next")
scale(1000) range(0, 1) = WHOLE / 2;
const volatile u64 first_burst_ns help_text("what is predicted for a task's first burst") unit(ns)
range(0, 1000000000000) = 10000000;
const volatile bool no_preemption help_text("the running task keeps its CPU until its burst ends");

struct sjf_stats {
	u64 picks help_text("quanta begun");
	u64 kept help_text("quanta that the same task got again");
	u64 preemptions help_text("tasks that came and preempted another");
	u64 bursts help_text("bursts that ended");
	u64 outlasted help_text("of these, those that were longer than predicted");
	u64 scans help_text("decisions that compared every waiting task");
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

u64 wakeups;

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

/* What is left of its burst. */
static u64 amount_of(const struct client *c, u64 ran_ns)
{
	u64 burst_ns = c->burst_ns + ran_ns;

	return burst_ns < c->predicted_ns ? c->predicted_ns - burst_ns : burst_ns;
}

static bool first_of_equals(u32 a, u32 b)
{
	return client_at(a)->came < client_at(b)->came;
}

static void use_cpu(struct client *c, u64 ran_ns)
{
	c->burst_ns += ran_ns;
}

static void come(struct client *c)
{
	c->came = ++wakeups;
	if (!c->slept)
		return;
	c->slept = false;
	c->burst_ns = 0;
}

/* The burst is over. */
static void sleep(struct client *c)
{
	u64 weight = alpha < WHOLE ? alpha : WHOLE;

	stats.bursts++;
	stats.outlasted += c->burst_ns > c->predicted_ns;
	c->predicted_ns = (weight * c->burst_ns + (WHOLE - weight) * c->predicted_ns) / WHOLE;
	c->slept = true;
}

static bool may_preempt(void)
{
	return !no_preemption;
}

static bool keeps_cpu(void)
{
	return no_preemption;
}

#include "least_ops.bpf.h"

s32 BPF_STRUCT_OPS(sjf_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 slot = slot_take(p);

	if (!slot)
		return -ENOMEM;
	clients[slot] = (struct client){.predicted_ns = first_burst_ns};
	return 0;
}

SCX_OPS_HEED(sjf_ops, "SMT, LLC, NUMA");
SCX_OPS_DEFINE(sjf_ops)
help_text("Shortest job first: the least left of a CPU burst, predicted from those before")
paper("OSC §5.3.2") = {
	LEAST_OPS,
	.init_task = (void *)sjf_init_task,
	.name = "sjf",
};
