/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Least attained service, also known as foreground-background processor sharing [PBS §1, §2].
 *
 * The task that has had the least CPU time goes first, for one quantum. A task that came later
 * has had less, and so runs alone until it has caught up. Tasks that are even take turns. It is
 * what PBS becomes with a large alpha, in other code.
 *
 * - Service counts since the task was first seen, and with since=wakeup since it last slept.
 * - A task that comes preempts the one that was served most, on the CPUs that it may use, if that
 *   one was served more (no_preemption).
 * - Ties go to the lowest pid. Weights and shares count for nothing.
 * - All CPUs take from one heap; a task at the end of its quantum competes with the waiting ones.
 *
 * Cost per decision: O(log n) in a heap of the waiting tasks; O(n) with queue=list, and where the
 * first one is not allowed on the CPU that asks. O(CPUs) when a task comes.
 *
 * Where it is bad: as long as tasks come, old ones wait [PBS §3.3], for ever if the new ones
 * use up the CPU (a kernel ejects the policy after 30 s of that). An old task that slept
 * for long is no better off than one that did not. One lock and one heap for all CPUs.
 */
#include "rota.bpf.h"
#include "slots.bpf.h"

QUANTUM_TUNABLE_OF(4000000);
enum since { SINCE_BIRTH, SINCE_WAKEUP };
const volatile u32 since help_text("service counts since a task came, or since it slept")
values("birth|wakeup") = SINCE_BIRTH;
const volatile bool no_preemption help_text("a task that comes waits for the end of a quantum");

struct las_stats {
	u64 picks help_text("quanta begun");
	u64 kept help_text("quanta that the same task got again");
	u64 preemptions help_text("tasks that came and preempted another");
	u64 scans help_text("decisions that compared every waiting task");
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

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

static bool first_of_equals(u32 a, u32 b)
{
	return pid_of[a & SLOT_MASK] < pid_of[b & SLOT_MASK];
}

static u64 amount_of(const struct client *c, u64 ran_ns)
{
	return c->served_ns + ran_ns;
}

static void use_cpu(struct client *c, u64 ran_ns)
{
	c->served_ns += ran_ns;
}

static void come(struct client *c)
{
	if (c->slept && since == SINCE_WAKEUP)
		c->served_ns = 0;
	c->slept = false;
}

static void sleep(struct client *c)
{
	c->slept = true;
}

static bool may_preempt(void)
{
	return !no_preemption;
}

static bool keeps_cpu(void)
{
	return false;
}

#include "least_ops.bpf.h"

s32 BPF_STRUCT_OPS(las_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 slot = slot_take(p);

	if (!slot)
		return -ENOMEM;
	clients[slot] = (struct client){};
	return 0;
}

SCX_OPS_HEED(las_ops, "SMT, LLC, NUMA");
SCX_OPS_DEFINE(las_ops)
help_text("Least attained service: the task with the least CPU time goes first") paper("PBS §2") = {
	LEAST_OPS,
	.init_task = (void *)las_init_task,
	.name = "las",
};
