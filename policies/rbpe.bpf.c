/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CFS/RBPE: request-based priority elevation on the completely fair scheduler [CAS §5, §6].
 *
 * All is as in cfs, but a task that receives something from a socket has a negative nice value for
 * a while, and with it a larger part of the period: of N tasks of nice 0, of which one is at
 * -nice, it has 1.25^nice × sched_latency / (N - 1 + 1.25^nice), the others the same without the
 * factor [eq. 19]. How negative, and for how long each level lasts, is by the load and the kind of
 * socket [Table 1]. The steps of weights are the kernel's: 29154 / 1024 for 15 levels, not 28.42.
 *
 * As with the paper's script, which sets nice values, the CPU decides anew when the running task
 * gets another one. Where the paper is silent, or this differs:
 * - The script checks all levels whenever any process calls poll(). Here a task's own level is
 *   checked when it comes, has a tick, and stops: that of a waiting task falls when it runs.
 * - avenrun is of the machine, which had one CPU. Here it is of each CPU, over load_window_ns.
 * - A child does not inherit the level of its parent, as it would the nice value.
 * - The paper's kernel is 2.6.31; cfs has the rules of 2.6.24. Eq. 19 has no stretched period:
 *   with more than sched_latency / sched_min_granularity tasks, it is the stretched one here.
 * - A level counts from the nice value that the task has, to whatever weight that comes.
 *
 * mode=rbpe of appease is the same elevation on a single queue for all CPUs, with equal quanta.
 *
 * Cost per decision: as cfs. O(1) for what is received.
 *
 * Where it is bad: a task that reads from sockets all the time, for a customer or not, has up to
 * 28 times the weight of others under load; there is no bound to that. Answers end nothing.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "sockets.bpf.h"

#define FAIR_ELEVATION
#include "cfs_ops.bpf.h"

static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;

int BPF_TRACEPOINT(sock_recv_length, const struct sock *sk, int ret, int flags)
{
	u32 family = sk->__sk_common.skc_family, cpu = bpf_get_smp_processor_id(), weight, slot;
	struct task_struct *p = bpf_get_current_task_btf();
	u64 now = bpf_ktime_get_ns();
	struct slot_ref *ref;
	struct client *c;
	bool changed;

	if (!p || ret <= 0 || flags & MSG_PEEK)
		return 0;
	if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
		return 0;
	ref = bpf_task_storage_get(&slot_refs, p, NULL, 0);
	if (!ref)
		return 0;
	slot = ref->slot;
	weight = weight_of(p);
	c = client_at(slot);
	bpf_spin_lock(&lock);
	time_is(now);
	elevate(&elevations[slot & SLOT_MASK], family == AF_UNIX, now);
	changed = queue_of(cpu)->running == slot && divided(slot, weight) != c->weight;
	if (changed) {
		charge_clock(slot, now);
		set_weight(slot, weight);
	}
	stats.elevations += changed;
	bpf_spin_unlock(&lock);
	if (changed)
		scx_bpf_kick_cpu(cpu, KICK_PREEMPT);
	return 0;
}

void BPF_STRUCT_OPS(rbpe_enqueue, struct task_struct *p, u64 enq_flags)
{
	fair_enqueue(p);
}

void BPF_STRUCT_OPS(rbpe_tick, struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p), weight = weight_of(p);
	u64 used_ns = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();
	const struct client *c = client_at(slot);

	bpf_spin_lock(&lock);
	time_is(now);
	if (queue_of(cpu)->running == slot && divided(slot, weight) != c->weight) {
		charge_used(slot, used_ns);
		set_weight(slot, weight);
		queue_of(cpu)->gives_way = true;
	}
	bpf_spin_unlock(&lock);
	fair_tick(p);
}

void BPF_STRUCT_OPS(rbpe_disable, struct task_struct *p)
{
	fair_disable(p);
}

s32 BPF_STRUCT_OPS(rbpe_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	s32 err = fair_new_task(p, args);

	if (!err)
		elevations[slot_of(p) & SLOT_MASK] = (struct elevation){};
	return err;
}

void BPF_STRUCT_OPS(rbpe_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	fair_task_gone(p);
}

s32 BPF_STRUCT_OPS(rbpe_init)
{
	return cfs_start();
}

SCX_OPS_HEED(rbpe_ops,
	     "nice, share, SCHED_BATCH, SCHED_IDLE, cpu.weight if cgroups, SMT, LLC, NUMA");
SCX_OPS_DEFINE(rbpe_ops)
help_text("cfs, but a task that received something from a socket weighs more for a while")
paper("CAS §5") = {
	CFS_OPS,
	.enqueue = (void *)rbpe_enqueue,
	.tick = (void *)rbpe_tick,
	.disable = (void *)rbpe_disable,
	.init_task = (void *)rbpe_init_task,
	.exit_task = (void *)rbpe_exit_task,
	.init = (void *)rbpe_init,
	.name = "rbpe",
};
