/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lottery scheduling [VTRR §2.5], as its reference 33 has it: C. Waldspurger, Lottery and
 * Stride Scheduling, PhD thesis, MIT 1995.
 *
 * Each task holds tickets: its share, which is rota_shares[pid], else the task's weight.
 * Each decision draws a ticket at random, and the task that holds it runs for one quantum.
 *
 * - The draws are the policy's own sequence of numbers (splitmix64), which begins at `seed`:
 *   same seed and same events, same picks. Numbers have 64 bits, all tickets at most 35, so
 *   that no ticket is more likely than another by more than 2^-29 of that.
 * - Every runnable task takes part. Tickets are numbered by slot: in the order in which
 *   the tasks came into being as long as none has gone.
 * - Several CPUs (the paper has one): a task that wins while it runs elsewhere has that
 *   quantum right after the present one, and the draw is repeated; up to 30 such wins (it
 *   cannot use them if its share is more than a CPU), which it loses when it sleeps.
 * - If the winner may not use the CPU, one is drawn among the tasks that may.
 *
 * Cost per decision: O(log n), fifteen steps in a tree of partial sums for each draw; as many
 * when a task comes or goes. O(all tasks) where the winner may not use the CPU that asks.
 *
 * Where it is bad: it is exact in the long run only. After n quanta a task with the part p
 * of the tickets has n * p of them, with a standard deviation of sqrt(n * p * (1 - p)): with
 * 10 ms quanta, half of the tickets are 2.5 s of five seconds, give or take 0.11 s. A task can
 * wait for any time. A task that blocks early loses the rest of its quantum (the thesis
 * has compensation tickets for that; the paper does not). One lock for all CPUs.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "shares.bpf.h"
#include "slots.bpf.h"

QUANTUM_TUNABLE;
const volatile u64 seed help_text("where the sequence of draws begins") = 1;

struct lottery_stats {
	u64 picks help_text("quanta begun");
	u64 kept help_text("quanta that the same task got again");
	u64 draws help_text("tickets drawn");
	u64 in_hand help_text("draws won by tasks that ran on another CPU");
	u64 redraws help_text("draws again, as the winner may not use the CPU");
};

struct lottery_stats stats;

struct client {
	u64 tickets; /* of 64 bits, or a verifier would follow every sum of them */
	u32 wins;    /* quanta that it won while it ran */
	bool queued; /* runnable: its tickets are in the tree */
	bool waits;  /* in our custody: can be dispatched */
};

#define MOST_WINS  30
#define MOST_DRAWS 100 /* of one decision, should a running task have most tickets */

struct client clients[NR_SLOTS];
u64 tree[NR_SLOTS]; /* at i: the tickets of the last i & -i slots up to i */
u64 all_tickets;
u32 nr_waiting;
u64 random_state;

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

/* Adds to the tickets of @slot in the tree; modulo 2^64, so that it can take away too. */
static void tree_add(u32 slot, u64 tickets)
{
	u32 at;

	all_tickets += tickets;
	/* The mask ends it: a comparison instead is lost on the verifier of 6.19. */
	for (at = slot & SLOT_MASK; at && can_loop(); at = (at + (at & -at)) & SLOT_MASK)
		tree[at] += tickets;
}

/* Which task holds this ticket, below all_tickets? */
static u32 tree_find(u64 ticket)
{
	u32 at = loop_start, step;

	for (step = NR_SLOTS / 2; step && can_loop(); step /= 2) {
		u64 sum = tree[(at + step) & SLOT_MASK];

		if (sum > ticket)
			continue;
		ticket -= sum;
		at += step;
	}
	return at + 1;
}

static void set_queued(u32 slot, bool queued)
{
	struct client *c = client_at(slot);

	if (!slot || c->queued == queued)
		return;
	c->queued = queued;
	c->wins = 0;
	tree_add(slot, queued ? c->tickets : -c->tickets);
}

static void set_waits(u32 slot, bool waits)
{
	struct client *c = client_at(slot);

	nr_waiting += waits - c->waits;
	c->waits = waits;
}

static void set_tickets(u32 slot, u64 tickets)
{
	struct client *c = client_at(slot);

	if (c->queued)
		tree_add(slot, tickets - c->tickets);
	c->tickets = tickets;
}

/* A number below @limit: the next one of splitmix64. */
static u64 draw(u64 limit)
{
	u64 z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	stats.draws++;
	return (z ^ z >> 31) % limit;
}

static bool can_run(u32 slot, u32 cpu, u32 prev)
{
	return slot == prev || (client_at(slot)->waits && slot_may_use(slot, cpu));
}

/* A draw among the tasks that may use @cpu, by a walk of all tasks. */
static u32 draw_again(u32 cpu, u32 prev)
{
	u64 ticket, limit = loop_start;
	u32 slot;

	stats.redraws++;
	for (slot = loop_start + 1; slot <= slots_used && can_loop(); slot++)
		if (can_run(slot, cpu, prev))
			limit += client_at(slot)->tickets;
	if (!limit)
		return 0;
	ticket = draw(limit);
	for (slot = loop_start + 1; slot <= slots_used && can_loop(); slot++) {
		if (!can_run(slot, cpu, prev))
			continue;
		if (ticket < client_at(slot)->tickets)
			return slot;
		ticket -= client_at(slot)->tickets;
	}
	return 0;
}

/* The client to run on @cpu next: one that waits, or @prev (0: none). */
static u32 pick(u32 cpu, u32 prev)
{
	u32 draws;

	if (!nr_waiting)
		return prev;
	if (prev && client_at(prev)->wins) {
		client_at(prev)->wins--;
		return prev;
	}
	for (draws = loop_start; all_tickets && draws < MOST_DRAWS && can_loop(); draws++) {
		u32 slot = tree_find(draw(all_tickets));
		struct client *c = client_at(slot);

		if (can_run(slot, cpu, prev))
			return slot;
		if (c->waits)
			break;
		stats.in_hand++;
		c->wins += c->wins < MOST_WINS;
	}
	return draw_again(cpu, prev);
}

/* No direct dispatch: of several that wake up at once, each shall have its chance. */
s32 BPF_STRUCT_OPS(lottery_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(lottery_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_of(p), tickets = share_of(p);

	bpf_spin_lock(&lock);
	set_tickets(slot, tickets);
	set_queued(slot, true);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(lottery_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	set_waits(slot, true);
	bpf_spin_unlock(&lock);
	call_idle_cpu(p, slot);
}

void BPF_STRUCT_OPS(lottery_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 prev_slot = prev && is_runnable(prev) ? slot_of(prev) : 0, slot, in_vain;
	u32 tickets = prev_slot ? share_of(prev) : 0;
	u64 slice_ns = quantum_now();
	struct decision d;

	bpf_spin_lock(&lock);
	if (prev_slot)
		set_tickets(prev_slot, tickets);
	slot = pick(cpu, prev_slot);
	if (slot && slot == prev_slot) {
		stats.picks++;
		stats.kept++;
	}
	set_waits(slot, false);
	in_vain = who_waits_in_vain(cpu, slot);
	decide(&d, slot, slice_ns, in_vain, client_at(in_vain)->waits);
	bpf_spin_unlock(&lock);
	carry_out(&d, cpu, prev, prev_slot);
}

void BPF_STRUCT_OPS(lottery_running, struct task_struct *p)
{
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	stats.picks++;
	set_waits(slot, false); /* it does if a change of the task raced with its dispatch */
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(lottery_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	set_waits(slot, false);
	set_queued(slot, false);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(lottery_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, nr_waiting);
}

void BPF_STRUCT_OPS(lottery_set_weight, struct task_struct *p, u32 weight)
{
	u32 slot = slot_of(p), tickets = share_of(p);

	bpf_spin_lock(&lock);
	set_tickets(slot, tickets);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(lottery_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

s32 BPF_STRUCT_OPS(lottery_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 slot = slot_take(p);

	if (!slot)
		return -ENOMEM;
	clients[slot] = (struct client){.tickets = share_of(p)};
	return 0;
}

void BPF_STRUCT_OPS(lottery_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	forget_share_of(p);
	slot_give_back(slot_of(p));
}

s32 BPF_STRUCT_OPS(lottery_init)
{
	random_state = seed;
	return slots_init();
}

SCX_OPS_HEED(lottery_ops, "nice, share, SCHED_IDLE, SMT, LLC, NUMA");
SCX_OPS_DEFINE(lottery_ops)
help_text("Lottery: each quantum goes to the holder of a ticket drawn at random")
paper("VTRR §2.5") = {
	.select_cpu = (void *)lottery_select_cpu,
	.runnable = (void *)lottery_runnable,
	.enqueue = (void *)lottery_enqueue,
	.dispatch = (void *)lottery_dispatch,
	.running = (void *)lottery_running,
	.quiescent = (void *)lottery_quiescent,
	.set_weight = (void *)lottery_set_weight,
	.set_cpumask = (void *)lottery_set_cpumask,
	.update_idle = (void *)lottery_update_idle,
	.init_task = (void *)lottery_init_task,
	.exit_task = (void *)lottery_exit_task,
	.init = (void *)lottery_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "lottery",
};
