/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stride scheduling [VTRR §2.4], as its reference 33 has it: C. Waldspurger, Lottery and
 * Stride Scheduling, PhD thesis, MIT 1995.
 *
 * A task has tickets; its stride is stride1 / tickets, a whole number, with stride1 =
 * 2^20. Its pass begins at one stride and advances by the stride for each quantum that it
 * runs. Each decision takes the task with the smallest pass for one quantum. Tickets
 * are rota_shares[pid], else the task's weight.
 *
 * - A task that used a part of its quantum, or more than one as slices end at timer
 *   ticks, advances by that part of its stride. Nothing is lost: what is below one unit of
 *   pass is carried on (until the quantum changes).
 * - A task that leaves keeps the distance of its pass to the queue's, and comes back with it, so
 *   that sleeping neither pays nor costs (no_remain: it comes back as a new task). When a
 *   task's tickets change it keeps that distance in strides.
 * - Ties go to the lowest id (the pid).
 *
 * Our readings, as in wfq, where the thesis has one CPU
 * - The queue's pass is where the task that ran last began, the greatest so far. (The
 *   thesis advances it by stride1 / all tickets. On several CPUs that runs away from the
 *   tasks' when one of them has more tickets than a CPU can serve.) A task that lags behind it,
 *   as its CPU had too little time for it, comes back with a distance of 0.
 * - No charge for a quantum in which no other task could use the CPU, or the pass of a task
 *   that has a CPU to itself would run away from those elsewhere.
 * - One order for all CPUs, under one lock. A task that is still running does not wait, so
 *   the next one is taken. A task with a share of more than a CPU gets one.
 *
 * Cost per decision: O(log n) in a heap of the waiting tasks, O(n) with queue=list and
 * where the first task is not allowed on the CPU that asks.
 *
 * Where it is bad: strides are rounded down, so that many tickets get too much: 60000 and
 * 40000 have strides of 17 and 26, which is 60.5 % and 39.5 %, for ever; and all above 2^19
 * have a stride of 1, and so the same. (wfq carries the remainders, and is exact.) A task
 * with many tickets can be ahead by many quanta, and one that wakes up waits for its turn like
 * any other. One lock and one heap for all CPUs.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "shares.bpf.h"
#include "slots.bpf.h"

#define STRIDE1 (1u << 20)

QUANTUM_TUNABLE;
const volatile bool no_remain help_text("a task that slept comes back as a new one");

struct stride_stats {
	u64 picks help_text("quanta begun");
	u64 kept help_text("quanta that the same task got again");
	u64 scans help_text("decisions that compared every waiting task");
};

struct stride_stats stats;

struct client {
	u64 pass;	  /* while it is away: its distance to the queue's pass */
	u64 rest;	  /* below one unit of pass, times rest_quantum */
	u64 rest_quantum; /* quantum_ns then */
	u64 charged_at;	  /* its CPU time when last charged */
	u32 tickets;
	bool queued;	/* runnable */
	bool contested; /* another client could have had the quantum that it runs in */
};

struct client clients[NR_SLOTS];
u64 queue_pass;
u64 quantum_seen; /* quantum_ns as the last decision saw it */

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

static bool ranks_above(u32 a, u32 b)
{
	const struct client *x = client_at(a), *y = client_at(b);

	if (x->pass != y->pass)
		return x->pass < y->pass;
	return pid_of[a & SLOT_MASK] < pid_of[b & SLOT_MASK];
}

static bool runs_before(u32 a, u32 b)
{
	return ranks_above(a, b);
}

static bool pick_rule_differs(void)
{
	return false;
}

#include "ranked.bpf.h"

static u64 stride_of(const struct client *c)
{
	return STRIDE1 / c->tickets;
}

/* How far the client is from the queue's pass; one that lags behind it is at 0. */
static u64 remain(const struct client *c)
{
	if (!c->queued)
		return c->pass;
	return c->pass > queue_pass ? c->pass - queue_pass : 0;
}

/* Its tickets are its share. */
static void set_share(u32 slot, u32 tickets)
{
	struct client *c = client_at(slot);
	u64 distance, old_stride;

	if (tickets == c->tickets)
		return;
	distance = remain(c);
	old_stride = stride_of(c);
	c->tickets = tickets;
	/* Of two factors below 2^21 each, and whole strides apart */
	distance = distance / old_stride * stride_of(c) +
		   distance % old_stride * stride_of(c) / old_stride;
	c->pass = c->queued ? queue_pass + distance : distance;
	if (place_of(slot))
		ranked_settle(place_of(slot), slot);
}

/* Time is free that no other task could have had, neither at its begin nor at its end. */
static void charge(struct client *c, u64 cpu_time, u32 cpu)
{
	u64 used = cpu_time - c->charged_at, stride = stride_of(c), part;

	c->charged_at = cpu_time;
	if (!c->contested && !ranked_first_may_use(cpu))
		return;
	if (c->rest_quantum != quantum_seen)
		c->rest = 0;
	c->rest_quantum = quantum_seen;
	part = used % quantum_seen * stride + c->rest; /* below 2^51 */
	c->pass += used / quantum_seen * stride + part / quantum_seen;
	c->rest = part % quantum_seen;
}

static void begin_quantum(u32 slot)
{
	struct client *c = client_at(slot);
	u64 stride = stride_of(c), began = c->pass > stride ? c->pass - stride : 0;

	stats.picks++;
	if (queue_pass < began)
		queue_pass = began;
}

__kinline void join(struct client *c)
{
	if (c->queued)
		return;
	c->pass = queue_pass + (no_remain ? stride_of(c) : c->pass);
	c->queued = true;
}

static void leave(struct client *c)
{
	c->pass = remain(c);
	c->queued = false;
}

static void use_quantum(u64 new_quantum)
{
	quantum_seen = new_quantum;
}

#include "share_ops.bpf.h"

s32 BPF_STRUCT_OPS(stride_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 slot = slot_take(p), tickets = share_of(p);

	if (!slot)
		return -ENOMEM;
	clients[slot] = (struct client){.tickets = tickets, .pass = STRIDE1 / tickets};
	return 0;
}

SCX_OPS_HEED(stride_ops, "nice, share, SCHED_IDLE, SMT, LLC, NUMA");
SCX_OPS_DEFINE(stride_ops)
help_text("Stride scheduling: whole strides of 2^20 / share, smallest pass first")
paper("VTRR §2.4") = {
	SHARE_OPS,
	.init_task = (void *)stride_init_task,
	.name = "stride",
};
