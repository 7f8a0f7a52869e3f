/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Weighted fair queueing by virtual finishing time [VTRR §2.4], also known as
 * stride scheduling.
 *
 * A task's virtual time is its CPU time divided by its share [eq. 3]; its
 * virtual finishing time (VFT) is what that will be after one more quantum. Each
 * decision takes the task with the smallest VFT for one quantum. The share is
 * rota_shares[pid], else the task's weight.
 *
 * - Tasks are charged for the CPU time they used, not for the quantum; not for a
 *   quantum in which no other task could use the CPU. (Of several CPUs one may be
 *   free for a task with a small share. Its virtual time, and so that of the
 *   queue, would run away from tasks elsewhere, which then starve newcomers.)
 * - Ties go to the lowest id (the pid). The paper's example, A, B, A, B, C, A for
 *   shares 3, 2, 1, needs another rule, tie=rr: the next id after the task that
 *   ran last. Its error range, -5/6..+1, holds with the first rule only, where
 *   the order is A, B, A, A, B, C.
 * - The paper defines no start for tasks that come or return. Ours begin at the
 *   queue's virtual time, as [eq. 7, 8] do for VTRR: the virtual time, at its
 *   start, of the task that ran last, the greatest so far. (Eq. 4's QVT runs
 *   away from the tasks' when one of them has more share than a CPU can give.)
 *   A task that had run ahead of that stays ahead, so that sleeping does not
 *   pay (no_keep_vft: it does).
 * - A changed quantum holds from the next decision on: all VFTs are computed anew.
 * - One order for all CPUs. A task that is still running does not wait, so the
 *   next one is taken; the one at the end of its quantum competes with the waiting
 *   ones, and goes on if it is first.
 *
 * Cost per decision: O(log n) in a heap of the waiting tasks. O(n) with queue=list,
 * the usual way [VTRR §2.4], with tie=rr, and where the first task is not allowed on
 * the CPU that asks; O(n log n) once when the quantum changes.
 *
 * Where it is bad: a task with a large share can be ahead by many quanta (only
 * "never more than one quantum behind" is guaranteed). A task that wakes up
 * waits for its turn like any other, whatever it waited for. One lock and one
 * heap for all CPUs.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "shares.bpf.h"
#include "slots.bpf.h"
#include "virtual_time.bpf.h"

QUANTUM_TUNABLE;
enum tie_rule { TIE_ID, TIE_RR };
const volatile u32 tie help_text("equal finishing times: lowest id, or next id after the last run")
values("id|rr") = TIE_ID;
const volatile bool no_keep_vft help_text("a task that slept forgets how far ahead it was");

struct wfq_stats {
	u64 picks help_text("quanta begun");
	u64 kept help_text("quanta that the same task got again");
	u64 scans help_text("decisions that compared every waiting task");
};

struct wfq_stats stats;

struct client {
	struct virt done;   /* virtual time */
	struct virt finish; /* virtual finishing time */
	u64 charged_at;	    /* its CPU time when last charged */
	u32 share;
	bool known;	/* was runnable before, so that its VFT means something */
	bool contested; /* another client could have had the quantum that it runs in */
};

struct client clients[NR_SLOTS];
struct virt queue_time;
u64 quantum_seen; /* quantum_ns as the last decision saw it */
u32 last_pid;

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

/* The heap needs an order that does not change: ties by id whatever the rule. */
static bool ranks_above(u32 a, u32 b)
{
	const struct client *x = client_at(a), *y = client_at(b);

	if (!virt_equal(&x->finish, &y->finish))
		return virt_before(&x->finish, &y->finish);
	return pid_of[a & SLOT_MASK] < pid_of[b & SLOT_MASK];
}

static bool pick_rule_differs(void)
{
	return tie == TIE_RR;
}

static bool runs_before(u32 a, u32 b)
{
	if (tie == TIE_RR && virt_equal(&client_at(a)->finish, &client_at(b)->finish))
		return pid_of[a & SLOT_MASK] - last_pid - 1 < pid_of[b & SLOT_MASK] - last_pid - 1;
	return ranks_above(a, b);
}

#include "ranked.bpf.h"

static void set_finish(struct client *c)
{
	c->finish = virt_finish(&c->done, quantum_seen, c->share);
}

/* A changed share leaves the VFT where it is, unless a new client's would be later. */
static void set_share(u32 slot, u32 share)
{
	struct client *c = client_at(slot);

	if (share == c->share)
		return;
	if (c->known)
		virt_reshare(&c->done, quantum_seen, c->share, share);
	c->share = share;
	virt_at_least(&c->done, &queue_time);
	set_finish(c);
	if (place_of(slot))
		ranked_settle(place_of(slot), slot);
}

/* Builds the heap up again, one client after the other, with VFTs by a new quantum. */
static void use_quantum(u64 new_quantum)
{
	u32 at, len = ranked_len;

	if (new_quantum == quantum_seen)
		return;
	quantum_seen = new_quantum;
	for (at = loop_start + 1; at <= len && can_loop(); at++) {
		u32 slot = ranked[at & SLOT_MASK];

		set_finish(client_at(slot));
		ranked_len = at;
		ranked_settle(at, slot);
	}
	ranked_len = len;
}

/* Time is free that no other task could have had, neither at its begin nor at its end. */
static void charge(struct client *c, u64 cpu_time, u32 cpu)
{
	if (c->contested || ranked_first_may_use(cpu))
		virt_advance(&c->done, cpu_time - c->charged_at, c->share);
	c->charged_at = cpu_time;
	set_finish(c);
}

static void begin_quantum(u32 slot)
{
	stats.picks++;
	last_pid = pid_of[slot & SLOT_MASK];
	virt_at_least(&queue_time, &client_at(slot)->done);
}

__kinline void join(struct client *c)
{
	if (no_keep_vft)
		c->done = (struct virt){};
	virt_at_least(&c->done, &queue_time);
	set_finish(c);
	c->known = true;
}

static void leave(struct client *c)
{
}

#include "share_ops.bpf.h"

s32 BPF_STRUCT_OPS(wfq_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 slot = slot_take(p);

	if (!slot)
		return -ENOMEM;
	clients[slot] = (struct client){.share = share_of(p)};
	return 0;
}

SCX_OPS_HEED(wfq_ops, "nice, share, SCHED_IDLE, SMT, LLC, NUMA");
SCX_OPS_DEFINE(wfq_ops)
help_text("Weighted fair queueing: smallest virtual finishing time first") paper("VTRR §2.4") = {
	SHARE_OPS,
	.init_task = (void *)wfq_init_task,
	.name = "wfq",
};
