/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The completely fair scheduler of Linux 2.6.24 [O1CFS §2.2], kernel/sched_fair.c, whose
 * functions are named. Tunables are called as its sysctls were, with its values.
 *
 * Each CPU has a queue in order of vruntime, which is CPU time by weight: it grows by
 * delta × weight of nice 0 / weight. Each decision takes the smallest. The weight is
 * rota_shares[pid] (100: as nice 0), else the kernel's of the nice value: 1024 for 0, 820
 * for 1, 655 for 2.
 *
 * - In a period, sched_latency_ns, everybody shall have the CPU once, for its ideal slice:
 *   the part of the period that is its weight's part of the queue's. Three equal clients
 *   have 6.67 ms of 20 each. With more than sched_latency / sched_min_granularity clients
 *   the period is stretched, by which each has sched_min_granularity_ns on average. (In
 *   [O1CFS] "the minimum is 4 ms": of equal clients. Who weighs less has less.)
 * - Each queue has a min_vruntime, the smallest so far of all who take part in it, that
 *   never falls. Who slept begins sched_latency_ns before that, or where it was if that is
 *   later (no_new_fair_sleepers: at min_vruntime). The equation of [O1CFS] for it is an offset
 *   from min_vruntime. Who is new begins after it, by its slice in virtual time
 *   (no_start_debit: at it).
 * - Who wakes up preempts the one that runs if its vruntime is smaller by more than
 *   sched_wakeup_granularity_ns, by the weight of that one (no_wakeup_preempt).
 * - A client that goes to another CPU keeps the distance to min_vruntime.
 * - As in the kernel, with more CPUs the three times grow: by 1 + log2(CPUs)
 *   (no_scaling: they do not), latency and granularity to 200 ms at most.
 *
 * CPUs and balancing are in fair_balance.bpf.h, and are simpler than the kernel's. Slices end
 * at timer ticks, as they did there.
 *
 * Cost per decision: O(log n), n of one CPU, in a tree by vruntime. O(CPUs) for one with
 * nothing to do; more where clients are tied to other CPUs.
 *
 * Where it is bad: latency is the same for all, and grows with n. Who sleeps a little gains
 * up to a period over who computes, again and again. Fairness is of one CPU's queue. One lock
 * for all queues, which kernels do not have.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

const volatile u64 sched_latency_ns help_text("the period, with one CPU") unit(ns)
range(100000, 200000000) = 20000000;
const volatile u64 sched_min_granularity_ns
	help_text("part of each when the period is stretched, with one CPU") unit(ns)
	range(10000, 200000000) = 4000000;
const volatile u64 sched_wakeup_granularity_ns
	help_text("by how much a woken client must be behind to preempt, with one CPU") unit(ns)
	range(0, 1000000000) = 10000000;
const volatile u32 imbalance_pct help_text("load in percent of ours from which we pull from a CPU")
range(100, 1000) = 125;
const volatile bool no_scaling help_text("those times do not grow with the number of CPUs");
const volatile bool no_new_fair_sleepers help_text("who slept begins at min_vruntime");
const volatile bool no_start_debit help_text("who is new begins at min_vruntime");
const volatile bool no_wakeup_preempt help_text("who wakes up waits for the next decision");

struct cfs_stats {
	u64 picks help_text("decisions for somebody");
	u64 kept help_text("of these, for the client that ran");
	u64 preemptions help_text("clients that came and took a CPU away");
	u64 pulls help_text("clients pulled to another CPU");
};

struct cfs_stats stats;

#define SCALED_LIMIT_NS 200000000

u64 latency, min_granularity, wakeup_granularity;
u32 nr_latency; /* clients that a period has room for */

struct own_part {
};

struct own_queue {
	s64 min_vruntime;
};

#include "fair_queue.bpf.h"
#include "fair_balance.bpf.h"
#include "fair_ops.bpf.h"

static bool tree_before(u32 a, u32 b)
{
	return client_at(a)->vruntime < client_at(b)->vruntime;
}

/* (__sched_period) */
static u64 period(u32 nr)
{
	return nr > nr_latency ? latency * nr / nr_latency : latency;
}

/*
 * period × weight / load (sched_slice). The product can exceed 64 bits, so the period is taken
 * in two parts: of a load below 2^45 a remainder has room for 16 bits more.
 */
static u64 ideal_slice(const struct client *c)
{
	const struct cpu_queue *q = home_of(c);
	u64 ns = period(q->nr), high = (ns >> 16) * c->weight, low = (ns & 0xffff) * c->weight;

	return (high / q->load << 16) + ((high % q->load << 16) + low) / q->load;
}

/* (update_curr) */
static void advanced(u32 slot, s64 by)
{
	struct cpu_queue *q = home_of(client_at(slot));
	s64 least = client_at(slot)->vruntime;
	u32 first = tree_first(q->root);

	if (first && client_at(first)->vruntime < least)
		least = client_at(first)->vruntime;
	if (least > q->own.min_vruntime)
		q->own.min_vruntime = least;
}

/* (place_entity, set_task_cpu) */
static void join(u32 slot, u32 cpu)
{
	struct client *c = client_at(slot);
	struct cpu_queue *q = queue_of(cpu);
	s64 place = q->own.min_vruntime;

	if (!c->known) {
		/* What the period has room for is promised to the others. */
		if (!no_start_debit)
			place += virtual_ns(period(q->nr + 1), q->load + c->weight);
		c->vruntime = place;
	} else {
		c->vruntime += q->own.min_vruntime - queue_of(c->last_cpu)->own.min_vruntime;
		if (!no_new_fair_sleepers)
			place -= latency;
		if (c->slept && c->vruntime < place)
			c->vruntime = place;
	}
	c->slept = false;
	join_queue(c, cpu);
}

static void leave(u32 slot, bool sleeps)
{
	client_at(slot)->slept = sleeps;
	leave_queue(client_at(slot));
}

static void reweigh(u32 slot, u32 weight)
{
	struct client *c = client_at(slot);

	if (c->home)
		home_of(c)->load += (s64)weight - c->weight;
	c->weight = weight;
}

static void ask(u32 slot, struct task_struct *p)
{
}

static void revive(u32 slot)
{
}

static void lies_down(u32 slot)
{
	leave(slot, true);
}

/* (pick_next_entity) */
static u32 pick(u32 cpu, u32 prev)
{
	u32 first = tree_first(queue_of(cpu)->root);

	if (prev && (!first || client_at(prev)->vruntime < client_at(first)->vruntime))
		return prev;
	return first;
}

static void begin(u32 slot, bool again)
{
}

/* (check_preempt_tick) */
static bool is_over(u32 slot)
{
	return client_at(slot)->ran_ns > ideal_slice(client_at(slot));
}

static u64 time_left(u32 slot)
{
	u64 slice = ideal_slice(client_at(slot));

	return slice ? slice : 1;
}

static bool notices(u32 cpu)
{
	return false;
}

static bool is_lazy(void)
{
	return false;
}

/* (check_preempt_wakeup, task_new_fair) */
static bool preempts(u32 cpu, u32 slot, bool comes_first_time)
{
	const struct client *running = client_at(queue_of(cpu)->running), *c = client_at(slot);
	u64 granularity = virtual_ns(wakeup_granularity, running->weight);

	if (comes_first_time)
		return c->vruntime < running->vruntime;
	return !no_wakeup_preempt && c->vruntime + (s64)granularity < running->vruntime;
}

s32 BPF_STRUCT_OPS(cfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_queue(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(cfs_enqueue, struct task_struct *p, u64 enq_flags)
{
	fair_enqueue(p);
}

void BPF_STRUCT_OPS(cfs_dispatch, s32 cpu, struct task_struct *prev)
{
	fair_dispatch(cpu, prev);
}

void BPF_STRUCT_OPS(cfs_running, struct task_struct *p)
{
	fair_running(p);
}

void BPF_STRUCT_OPS(cfs_tick, struct task_struct *p)
{
	fair_tick(p);
}

void BPF_STRUCT_OPS(cfs_stopping, struct task_struct *p, bool runnable)
{
	fair_stopping(p);
}

void BPF_STRUCT_OPS(cfs_quiescent, struct task_struct *p, u64 deq_flags)
{
	fair_quiescent(p, deq_flags);
}

void BPF_STRUCT_OPS(cfs_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, nr_waiting);
}

void BPF_STRUCT_OPS(cfs_set_weight, struct task_struct *p, u32 weight)
{
	fair_set_weight(p);
}

void BPF_STRUCT_OPS(cfs_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

void BPF_STRUCT_OPS(cfs_disable, struct task_struct *p)
{
	fair_disable(p);
}

s32 BPF_STRUCT_OPS(cfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return fair_init_task(p);
}

void BPF_STRUCT_OPS(cfs_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	fair_exit_task(p);
}

static u64 scaled(u64 ns, u64 factor, u64 limit)
{
	return ns * factor < limit ? ns * factor : limit;
}

/* (sched_init_granularity) */
s32 BPF_STRUCT_OPS(cfs_init)
{
	s32 err = slots_init();
	u64 factor = 1 + loop_start;
	u32 cpus;

	for (cpus = nr_cpus + loop_start; cpus > 1 && !no_scaling && can_loop(); cpus /= 2)
		factor++;
	latency = scaled(sched_latency_ns, factor, SCALED_LIMIT_NS);
	min_granularity = scaled(sched_min_granularity_ns, factor, SCALED_LIMIT_NS);
	wakeup_granularity = sched_wakeup_granularity_ns * factor;
	nr_latency = (latency + min_granularity - 1) / min_granularity;
	return err;
}

SCX_OPS_DEFINE(cfs_ops)
help_text("Linux 2.6.24: the client that had the least CPU time by its weight")
paper("O1CFS §2.2") = {
	.select_cpu = (void *)cfs_select_cpu,
	.enqueue = (void *)cfs_enqueue,
	.dispatch = (void *)cfs_dispatch,
	.running = (void *)cfs_running,
	.tick = (void *)cfs_tick,
	.stopping = (void *)cfs_stopping,
	.quiescent = (void *)cfs_quiescent,
	.set_weight = (void *)cfs_set_weight,
	.set_cpumask = (void *)cfs_set_cpumask,
	.update_idle = (void *)cfs_update_idle,
	.disable = (void *)cfs_disable,
	.init_task = (void *)cfs_init_task,
	.exit_task = (void *)cfs_exit_task,
	.init = (void *)cfs_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "cfs",
};
