/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The completely fair scheduler of Linux 2.6.24 [O1CFS §2.2]: kernel/sched_fair.c, with the
 * functions named. Tunables have the names and values of its sysctls.
 *
 * Each CPU has a queue in order of vruntime, which is CPU time by weight: it grows by
 * delta × weight of nice 0 / weight. Each decision takes the smallest. The weight is
 * rota_shares[pid] (100: as nice 0), else the kernel's of the nice value: 1024 for 0, 820
 * for 1, 655 for 2.
 *
 * - In a period, sched_latency_ns, each task shall run once, for its ideal slice: the part of the
 *   period that is its weight's part of the queue's. Three equal tasks have 6.67 ms of 20 each.
 *   With more than sched_latency / sched_min_granularity tasks the period is stretched, so that
 *   each has sched_min_granularity_ns on average. (In [O1CFS] "the minimum is 4 ms": of equal
 *   tasks. A task with less weight has less.)
 * - Each queue has a min_vruntime: the smallest so far of all tasks on it, which never falls. A
 *   task that slept begins sched_latency_ns before that, or where it was if that is later
 *   (no_new_fair_sleepers: at min_vruntime). [O1CFS] has sched_latency / load × 1024 instead, an
 *   offset from min_vruntime: with sleeper_credit=load, of the load of the others, as only that
 *   gives the paper's 1:1. The default is what 2.6.24 does, the scheduler that the paper measured;
 *   with one other task of nice 0 both are the same. A new task begins after min_vruntime, by its
 *   slice in virtual time (no_start_debit: at it).
 * - A task that wakes up preempts the running one if its vruntime is smaller by more than
 *   sched_wakeup_granularity_ns, by the weight of the running one (no_wakeup_preempt).
 * - A task that migrates keeps its distance to min_vruntime.
 * - A cgroup takes part by its cpu.weight in the queue of its parent, with the tasks and cgroups
 *   there, and has a queue of its own on each CPU (cgroups=false: cgroups do not count).
 * - As in the kernel, with more CPUs the three times grow: by 1 + log2(CPUs)
 *   (no_scaling: they do not), latency and granularity to 200 ms at most.
 *
 * CPUs and balancing are in fair_balance.bpf.h, and are simpler than the kernel's; groups are in
 * cfs_groups.bpf.h. Slices end at timer ticks, as they did there.
 *
 * Cost per decision: O(log n), n of one CPU, in a tree by vruntime; in groups that of each
 * level. O(CPUs) for a CPU with nothing to do, with 32 steps at most on each for tasks that are
 * tied to other CPUs.
 *
 * Where it is bad: latency is the same for all tasks, and grows with n. A task that sleeps a
 * little gains up to a period compared with one that computes, again and again. Fairness is of one
 * CPU's queue, of groups too. One lock for all queues, which kernels do not have.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#define CGROUPS_DEFAULT true
#include "cfs_ops.bpf.h"

void BPF_STRUCT_OPS(cfs_enqueue, struct task_struct *p, u64 enq_flags)
{
	fair_enqueue(p);
}

void BPF_STRUCT_OPS(cfs_tick, struct task_struct *p)
{
	fair_tick(p);
}

void BPF_STRUCT_OPS(cfs_disable, struct task_struct *p)
{
	fair_disable(p);
}

s32 BPF_STRUCT_OPS(cfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return fair_new_task(p, args);
}

void BPF_STRUCT_OPS(cfs_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	fair_task_gone(p);
}

s32 BPF_STRUCT_OPS(cfs_init)
{
	return cfs_start();
}

SCX_OPS_HEED(cfs_ops,
	     "nice, share, SCHED_BATCH, SCHED_IDLE, cpu.weight if cgroups, SMT, LLC, NUMA");
SCX_OPS_STANDS_FOR(cfs_ops, "Linux 2.6.24's fair class");
SCX_OPS_DEFINE(cfs_ops)
help_text("Linux 2.6.24: the task that had the least CPU time by its weight")
paper("O1CFS §2.2") = {
	CFS_OPS,
	.enqueue = (void *)cfs_enqueue,
	.tick = (void *)cfs_tick,
	.disable = (void *)cfs_disable,
	.init_task = (void *)cfs_init_task,
	.exit_task = (void *)cfs_exit_task,
	.init = (void *)cfs_init,
	.name = "cfs",
};
