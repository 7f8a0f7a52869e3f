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
 * - With cgroups=true a cgroup takes part by its cpu.weight in the queue of the one above, with
 *   the clients and cgroups there, and has a queue of its own on each CPU.
 * - As in the kernel, with more CPUs the three times grow: by 1 + log2(CPUs)
 *   (no_scaling: they do not), latency and granularity to 200 ms at most.
 *
 * CPUs and balancing are in fair_balance.bpf.h, and are simpler than the kernel's; groups are in
 * cfs_groups.bpf.h. Slices end at timer ticks, as they did there.
 *
 * Cost per decision: O(log n), n of one CPU, in a tree by vruntime; in groups that of each
 * level. O(CPUs) for one with nothing to do, with 32 steps at most on each for those who are tied
 * to other CPUs.
 *
 * Where it is bad: latency is the same for all, and grows with n. Who sleeps a little gains
 * up to a period over who computes, again and again. Fairness is of one CPU's queue, of groups
 * too. One lock for all queues, which kernels do not have.
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

#define FAIR_GROUPS

/* Of those who take part in a CPU's queue or in that of a group there, not in queues below. */
struct entity_queue {
	u32 root; /* a group's; the CPU's is where it always is */
	u32 nr;
	u64 load;
};

struct own_part {
	u32 group;  /* its cgroup's */
	u32 around; /* the one in whose queue it takes part, or did last */
	u32 above;  /* the slot of that on its CPU */
	bool is_group;
	struct entity_queue queue; /* of a group */
};

struct own_queue {
	struct entity_queue queue;
};

#include "fair_queue.bpf.h"
#include "fair_balance.bpf.h"
#include "fair_ops.bpf.h"

static bool tree_before(u32 a, u32 b)
{
	return client_at(a)->vruntime < client_at(b)->vruntime;
}

/* (place_entity) Who slept since the queue's @min_vruntime was less. */
static void place_slept(struct client *c, s64 min_vruntime)
{
	s64 place = no_new_fair_sleepers ? min_vruntime : min_vruntime - (s64)latency;

	if (c->vruntime < place)
		c->vruntime = place;
}

#include "cfs_groups.bpf.h"

static u32 *tree_of(u32 slot)
{
	return root_in(above(slot), client_at(slot)->home - 1);
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
static u64 slice_in(const struct entity_queue *q, u64 weight)
{
	u64 ns = period(q->nr), high = (ns >> 16) * weight, low = (ns & 0xffff) * weight;

	return (high / q->load << 16) + ((high % q->load << 16) + low) / q->load;
}

/* Its own, or that of a group around it if that is shorter. */
static __attribute__((noinline)) u64 ideal_slice(u32 slot)
{
	u32 cpu = client_at(slot)->home - 1, level;
	u64 least = slice_in(queue_in(above(slot), cpu), client_at(slot)->weight), ns;

	for (level = loop_start; above(slot) && level < MOST_LEVELS && can_loop(); level++) {
		slot = above(slot);
		ns = slice_in(queue_in(above(slot), cpu), client_at(slot)->weight);
		if (ns < least)
			least = ns;
	}
	return least;
}

/* (update_curr) */
static void advanced(u32 slot, s64 by)
{
	min_advances(slot, client_at(slot)->home - 1);
}

/* What fair_balance.bpf.h goes by: of the CPU's own queue, with groups at their weights. */
static void renew_load(u32 cpu)
{
	queue_of(cpu)->load = queue_of(cpu)->own.queue.load;
}

/* (place_entity, set_task_cpu) */
static void join(u32 slot, u32 cpu)
{
	struct client *c = client_at(slot);
	s64 min = queue_around(slot, c->last_cpu)->min_vruntime;
	u32 part = group_joins(c->own.group, cpu);
	struct entity_queue *q = queue_in(part, cpu);

	c->own.above = part;
	c->own.around = part ? c->own.group : 0;
	q->nr++;
	q->load += c->weight;
	c->vruntime += queue_around(slot, cpu)->min_vruntime - min;
	if (!c->known) {
		c->vruntime = queue_around(slot, cpu)->min_vruntime;
		/* What the period has room for is promised to the others. */
		if (!no_start_debit)
			c->vruntime += virtual_ns(period(q->nr), q->load);
	} else if (c->slept) {
		place_slept(c, queue_around(slot, cpu)->min_vruntime);
	}
	c->slept = false;
	join_queue(c, cpu);
	renew_load(cpu);
}

static void leave(u32 slot, bool sleeps)
{
	struct client *c = client_at(slot);
	struct entity_queue *q = queue_in(above(slot), c->last_cpu);

	c->slept = sleeps;
	q->nr--;
	q->load -= c->weight;
	group_leaves(above(slot), c->last_cpu);
	leave_queue(c);
	renew_load(c->last_cpu);
}

static void reweigh(u32 slot, u32 weight)
{
	struct client *c = client_at(slot);

	if (c->home) {
		queue_in(above(slot), c->last_cpu)->load += (s64)weight - c->weight;
		renew_load(c->last_cpu);
	}
	c->weight = weight;
}

/* The client is in another group from here on. */
static void regroup(u32 slot, u32 group)
{
	struct client *c = client_at(slot);
	bool waited = c->waits, took_part = c->home;

	stop_waiting(slot);
	if (took_part)
		leave(slot, false);
	group_at(group)->users++;
	group_give_back(c->own.group);
	c->own.group = group;
	if (took_part)
		join(slot, c->last_cpu);
	if (waited)
		start_waiting(slot);
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
	u32 first;

	/* In a group it competes in what the group does: for a moment it waits there too. */
	if (prev && above(prev))
		start_waiting(prev);
	first = tree_first(queue_of(cpu)->root);
	if (prev && !above(prev) &&
	    (!first || client_at(prev)->vruntime < client_at(first)->vruntime))
		return prev;
	first = first_client(first);
	if (prev)
		stop_waiting(prev);
	return first;
}

static void begin(u32 slot, bool again)
{
}

/* (check_preempt_tick) */
static bool is_over(u32 slot)
{
	return client_at(slot)->ran_ns > ideal_slice(slot);
}

static u64 time_left(u32 slot)
{
	u64 slice = ideal_slice(slot);

	return slice ? slice : 1;
}

static bool notices(u32 cpu)
{
	return false;
}

static bool looks_at_ends(void)
{
	return false;
}

static bool is_lazy(void)
{
	return false;
}

static u32 level_of(u32 slot)
{
	return group_at(client_at(slot)->own.around)->level;
}

/* (check_preempt_wakeup, task_new_fair) They compare where their groups meet. */
static __attribute__((noinline)) bool preempts(u32 cpu, u32 slot, bool comes_first_time)
{
	u32 other = queue_of(cpu)->running, step;
	const struct client *running, *c;
	u64 granularity;

	for (step = loop_start; above(slot) != above(other) && step < 2 * MOST_LEVELS && can_loop();
	     step++) {
		if (level_of(other) >= level_of(slot))
			other = above(other);
		else
			slot = above(slot);
	}
	running = client_at(other);
	c = client_at(slot);
	granularity = virtual_ns(wakeup_granularity, running->weight);
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
	u32 group = cgroups && kernel_has_field(args->cgroup) && args->cgroup
			    ? group_of(args->cgroup)
			    : 0;
	s32 err = fair_init_task(p);
	u32 slot;

	if (err)
		return err;
	slot = slot_of(p);
	bpf_spin_lock(&lock);
	regroup(slot, group);
	bpf_spin_unlock(&lock);
	return 0;
}

void BPF_STRUCT_OPS(cfs_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 slot = slot_of(p);

	fair_disable(p);
	bpf_spin_lock(&lock);
	regroup(slot, 0);
	bpf_spin_unlock(&lock);
	fair_exit_task(p);
}

s32 BPF_STRUCT_OPS(cfs_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	return group_init(cgrp, args->weight);
}

void BPF_STRUCT_OPS(cfs_cgroup_exit, struct cgroup *cgrp)
{
	group_exit(cgrp);
}

void BPF_STRUCT_OPS(cfs_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	u32 slot = slot_of(p), group = group_of(to);

	bpf_spin_lock(&lock);
	regroup(slot, group);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(cfs_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	group_set_weight(cgrp, weight);
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
	.cgroup_init = (void *)cfs_cgroup_init,
	.cgroup_exit = (void *)cfs_cgroup_exit,
	.cgroup_move = (void *)cfs_cgroup_move,
	.cgroup_set_weight = (void *)cfs_cgroup_set_weight,
	.init = (void *)cfs_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "cfs",
};
