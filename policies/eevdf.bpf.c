/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Earliest eligible virtual deadline first, as Linux has it since 6.6 and completed in 6.12;
 * here by kernel/sched/fair.c of 7.2. The algorithm: I. Stoica, H. Abdel-Wahab, Earliest
 * Eligible Virtual Deadline First, Old Dominion University TR-95-22, 1995.
 *
 * Each CPU has a queue. A task requests a slice of CPU time (base_slice_ns, or what it asked
 * for with sched_setattr's sched_runtime); its virtual time, vruntime, is CPU time by weight.
 * V is the average of vruntime by weight, lag is V - vruntime, and the deadline is vruntime at
 * the beginning of a request plus slice by weight. Each decision takes the earliest deadline
 * of the eligible tasks: those with lag >= 0, which have had at most their share. So long-term
 * shares are by weight, and a task with a short slice runs sooner, not more.
 *
 * The weight is rota_shares[pid] (100: as nice 0), else the kernel's of the nice value.
 *
 * - Placement: a task that comes begins at V less the lag that it left with, so that it has that
 *   lag again (no_place_lag: none); with half a slice the first time (no_place_deadline_initial);
 *   and with its old deadline if it did not sleep (no_place_rel_deadline).
 * - Delayed dequeue: a task that goes to sleep with negative lag takes part until it would be
 *   picked, or wakes up, and so works off its debt (no_delay_dequeue). It gains no lag thereby
 *   (no_delay_zero).
 * - Run to parity: the running task keeps its CPU until it is not eligible, or has run for the
 *   shortest slice requested there, or its request is over (no_run_to_parity: for 0.7 ms).
 * - A task that wakes up preempts if it would be picked (no_wakeup_preemption); one with a shorter
 *   slice also preempts a task that run to parity protects (no_preempt_short).
 * - When a task comes, the kernel checks the running one: it yields if its protection is over. A
 *   task that runs on another CPU does so, and is preempted, at its next tick (preempt_full: at
 *   once).
 * - So does the end of a task, which since 6.14 makes its CPU decide anew.
 * - Yielding ends a request: vruntime goes on to the deadline.
 *
 * Cgroups compete level by level, each with its weight (cgroups=false: they do not count):
 * eevdf_groups.bpf.h. CPUs and balancing are in eevdf_balance.bpf.h. As in the kernel, tasks can
 * wait while other CPUs are idle (work_conserving: they do not). Slices end at timer ticks, as in
 * kernels without high-resolution preemption (HRTICK).
 *
 * Cost per decision: O(log n), n of one CPU, in a tree by deadline that knows the least
 * vruntime of each subtree. O(CPUs) for a CPU with nothing to do, and at times for others.
 *
 * Where it is bad: lag is of one CPU's queue. On several CPUs with loads that cannot be
 * balanced, shares are those of each CPU. Many wakeups with short slices are many switches.
 * One lock for all queues, which kernels do not have.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

const volatile u64 base_slice_ns help_text("slice of a task that requests none, with one CPU")
unit(ns) follows_base_slice range(100000, 100000000) = 700000;
enum scaling { SCALING_LOG, SCALING_NONE, SCALING_LINEAR };
const volatile u32 tunable_scaling help_text("how base_slice_ns grows with up to 8 CPUs: times 1 + "
					     "log2(CPUs), not, or by CPUs") with_base_slice(none)
	values("log|none|linear") = SCALING_LOG;
const volatile u64 tick_ns help_text("the kernel's timer tick; lag is bounded by it")
unit(ns) follows_tick range(1000000, 10000000) = 4000000;
const volatile u32 imbalance_pct
	help_text("load of another CPU, in percent of its own, from which a CPU pulls")
	range(100, 1000) = 117;
const volatile bool no_place_lag help_text("a task that comes back has no lag");
const volatile bool no_place_rel_deadline help_text("a task that migrated begins a new request");
const volatile bool no_place_deadline_initial help_text("new tasks begin with a whole slice");
const volatile bool no_run_to_parity
	help_text("the running task is protected for base_slice_ns only");
const volatile bool no_preempt_short help_text("a shorter slice does not cancel that protection");
const volatile bool no_delay_dequeue help_text("a task that sleeps stops taking part at once");
const volatile bool no_delay_zero help_text("a task that takes part while it sleeps can gain lag");
const volatile bool no_requeue_update
	help_text("a task that wakes up and took part still is judged by what the running one had "
		  "used when that was counted last, as before Linux 7.2") follows_before(7.2);
const volatile bool no_wakeup_preemption
	help_text("a task that wakes up waits for the next decision");

const volatile bool preempt_full follows_preempt
	help_text("a task that runs on another CPU is preempted at once, not at its "
		  "next tick");

struct eevdf_stats {
	u64 picks help_text("decisions that picked a task");
	u64 kept help_text("of these, for the task that ran");
	u64 requests help_text("requests that ended");
	u64 preemptions help_text("tasks that came and preempted another");
	u64 delayed help_text("tasks that slept and still took part");
	u64 pulls help_text("tasks pulled to another CPU");
	u64 throttled help_text("times that a CPU had no time left of a limited group");
};

struct eevdf_stats stats;

u64 base_slice;

#include "eevdf_rules.bpf.h"
#include "eevdf_balance.bpf.h"
/* A task that is sent to another CPU comes into its queue even if no other takes its place. */
#define FAIR_FLAGS (SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_LAST)
#include "fair_ops.bpf.h"

static void ask(u32 slot, struct task_struct *p)
{
	struct own_part *own = &client_at(slot)->own;
	/* Read in any case: a verifier wants to know which pointer an instruction reads by. */
	u64 asked = *(const volatile u64 *)&p->se.slice;
	bool custom = kernel_has_field(p->se.custom_slice) && p->se.custom_slice;

	own->policy = p->policy;
	own->slice_ns = base_slice;
	if (custom && asked >= 100000 && asked <= 100000000)
		own->slice_ns = asked;
}

static void comes_awake(u32 slot, struct task_struct *p)
{
	if (!client_at(slot)->home || client_at(slot)->delayed)
		follow_session(slot, p);
}

/* requeue_delayed_entity() calls update_curr() first in Linux 7.2, not in 6.12 and 6.18. */
static bool revives_first(void)
{
	return no_requeue_update;
}

/* It goes on from where it is, unless that would be lag it gained asleep. (requeue_delayed_entity)
 */
static void revive(u32 slot)
{
	struct client *c = client_at(slot);

	note_lag(c);
	c->delayed = false;
	expect(slot, c->home - 1);
	count_idle(c);
	if (average(queue_around(c)) - c->own.lag == c->vruntime)
		return;
	count_out(c);
	place(slot);
}

static void lies_down(u32 slot)
{
	struct client *c = client_at(slot);

	if (no_delay_dequeue || is_eligible(c)) {
		leave(slot, true);
		return;
	}
	note_lag(c);
	expect_less(slot, c->home - 1, true);
	c->delayed = true;
	stats.delayed++;
	start_waiting(slot);
}

static u32 pick(u32 cpu, u32 prev)
{
	u32 slot;

	queue_of(cpu)->own.cancels = false;
	slot = pick_from(cpu, prev);
	if (!slot)
		chain_to(cpu, 0);
	return slot;
}

static void begin(u32 slot, bool again)
{
	if (!again)
		protect(slot);
}

/* (sched_change_end, prio_changed_fair, sched_move_task) */
static bool goes_on(void)
{
	return true;
}

/* (resched_curr_lazy) */
static bool is_lazy(void)
{
	return !preempt_full;
}

/*
 * They compete where their groups meet. What has the CPU there was charged, and yields if it has
 * had what protects it, whichever is picked then. (wakeup_preempt_fair, update_curr)
 */
static bool preempts(u32 cpu, u32 slot, bool comes_first_time)
{
	struct cpu_queue *q = queue_of(cpu);
	u32 other = q->running, task = slot, index, picked;
	struct client *running, *c;
	bool runs_idle, comes_idle, over;
	s64 until;

	settle_changed();
	if (client_at(slot)->own.around != client_at(other)->own.around && cgroups)
		find_matching(&slot, &other);
	running = client_at(other);
	c = client_at(slot);
	index = c->own.around;
	runs_idle = idles_by_policy(other);
	comes_idle = idles_by_policy(slot);
	if (runs_idle | comes_idle | (client_at(task)->own.policy != 0)) {
		/* One of SCHED_IDLE makes way for others, unprotected, and takes no CPU from them.
		 */
		if (runs_idle && !comes_idle && !no_wakeup_preemption) {
			running->own.protected_to =
				min_s64(running->own.protected_to, running->vruntime);
			if (cgroups)
				clear_buddies(other);
			return true;
		}
		if (runs_idle != comes_idle || is_batch_or_idle(client_at(task)))
			return false;
	}
	if (no_wakeup_preemption)
		return false;
	/* Where it came into that queue itself, that was found out then. (update_curr) */
	over = task != slot && notices_in(index);
	q->own.cancels = !no_preempt_short && c->own.slice_ns < running->own.slice_ns;
	if (comes_first_time && !q->own.cancels)
		return over;
	picked = earliest_in(index, cpu, other);
	if (client_at(picked)->delayed)
		picked = pick_awake_in(index, cpu, other);
	if (picked == slot) {
		until = q->own.cancels ? running->vruntime : running->own.protected_to;
		running->own.protected_to = min_s64(running->own.protected_to, until);
		if (cgroups && q->own.cancels)
			clear_buddies(other);
		return true;
	}
	if (!no_run_to_parity) {
		until = virtual_ns(least_slice(queue_at(index), running->own.slice_ns),
				   running->weight);
		until += running->vruntime;
		running->own.protected_to = min_s64(running->own.protected_to, until);
	}
	return over;
}

s32 BPF_STRUCT_OPS(eevdf_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	if (has_domains())
		return choose_in_domains(p, prev_cpu, wake_flags);
	return work_conserving ? choose_queue(p, prev_cpu, wake_flags)
			       : choose_as_linux(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(eevdf_enqueue, struct task_struct *p, u64 enq_flags)
{
	fair_enqueue(p);
}

void BPF_STRUCT_OPS(eevdf_tick, struct task_struct *p)
{
	fair_tick(p);
}

/* (yield_task_fair) */
bool BPF_STRUCT_OPS(eevdf_yield, struct task_struct *from, struct task_struct *to)
{
	u32 slot = slot_of(from);
	u64 used_ns = from->se.sum_exec_runtime;
	struct client *c = client_at(slot);
	s64 left;

	if (to)
		return false;
	bpf_spin_lock(&lock);
	if (c->home && home_of(c)->nr > 1) {
		charge_used(slot, used_ns);
		left = c->own.deadline - c->vruntime;
		if (is_eligible(c)) {
			c->vruntime += left;
			advanced(slot, left);
		}
	}
	bpf_spin_unlock(&lock);
	task_set_slice(from, 0);
	return true;
}

void BPF_STRUCT_OPS(eevdf_update_idle, s32 cpu, bool idle)
{
	fair_update_idle(cpu, idle);
	if (idle && has_domains()) {
		if (are_unequal())
			ability_of(cpu)->works = false;
		note_idle_core(cpu);
	}
	/* One look at the others is all that it takes: see NI_RANDOM. */
	if (idle)
		look_again(cpu, work_conserving ? nr_waiting : queue_of(cpu)->nr_waiting);
}

void BPF_STRUCT_OPS(eevdf_disable, struct task_struct *p)
{
	fair_disable(p);
}

s32 BPF_STRUCT_OPS(eevdf_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	s32 err = fair_new_task(p, args);
	u64 now = bpf_ktime_get_ns();
	u32 slot;

	if (err)
		return err;
	slot = slot_of(p);
	bpf_spin_lock(&lock);
	time_is(now);
	follow_session(slot, p);
	bpf_spin_unlock(&lock);
	return 0;
}

void BPF_STRUCT_OPS(eevdf_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	fair_task_gone(p);
}

s32 BPF_STRUCT_OPS(eevdf_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	s32 err = group_init(cgrp, args->weight);

	if (!err && kernel_has_field(args->bw_quota_us) && args->bw_quota_us != NO_LIMIT)
		group_set_limit(cgrp, args->bw_period_us, args->bw_quota_us, args->bw_burst_us);
	return err;
}

void BPF_STRUCT_OPS(eevdf_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us,
		    u64 burst_us)
{
	group_set_limit(cgrp, period_us, quota_us, burst_us);
}

void BPF_STRUCT_OPS(eevdf_cgroup_set_idle, struct cgroup *cgrp, bool idle)
{
	group_set_idle(cgrp, idle);
}

s32 BPF_STRUCT_OPS(eevdf_init)
{
	s32 err = slots_init();
	u32 cpus = nr_cpus < 8 ? nr_cpus : 8, factor = 1;

	rules_init();
	balance_init();
	if (tunable_scaling == SCALING_LINEAR)
		factor = cpus;
	else if (tunable_scaling == SCALING_LOG)
		factor = cpus < 2 ? 1 : cpus < 4 ? 2 : cpus < 8 ? 3 : 4;
	base_slice = base_slice_ns * factor;
	return err;
}

SCX_OPS_OPTIONAL(eevdf_ops, "cgroup_set_bandwidth, cgroup_set_idle");
SCX_OPS_HEED(eevdf_ops, "nice, share, slice, SCHED_BATCH, SCHED_IDLE");
SCX_OPS_HEED(eevdf_ops, "cpu.weight if cgroups, cpu.idle if cgroups");
SCX_OPS_HEED(eevdf_ops, "cpu.max if cgroups and limits, autogroup if cgroups and autogroup");
SCX_OPS_HEED(eevdf_ops, "SMT unless no_domains, LLC unless no_domains, NUMA unless no_domains");
SCX_OPS_HEED(eevdf_ops, "uclamp unless no_domains or work_conserving");
SCX_OPS_HEED(eevdf_ops, "SMT if work_conserving, LLC if work_conserving, NUMA if work_conserving");
SCX_OPS_STANDS_FOR(eevdf_ops, "Linux's fair class");
SCX_OPS_DEFINE(eevdf_ops)
help_text("Linux 6.12 and later: the earliest deadline of the eligible tasks")
paper("Linux 7.2, kernel/sched/fair.c") = {
	FAIR_OPS,
	.select_cpu = (void *)eevdf_select_cpu,
	.enqueue = (void *)eevdf_enqueue,
	.tick = (void *)eevdf_tick,
	.yield = (void *)eevdf_yield,
	.update_idle = (void *)eevdf_update_idle,
	.disable = (void *)eevdf_disable,
	.init_task = (void *)eevdf_init_task,
	.exit_task = (void *)eevdf_exit_task,
	.cgroup_init = (void *)eevdf_cgroup_init,
	.cgroup_set_bandwidth = (void *)eevdf_cgroup_set_bandwidth,
	.cgroup_set_idle = (void *)eevdf_cgroup_set_idle,
	.init = (void *)eevdf_init,
	.name = "eevdf",
};
