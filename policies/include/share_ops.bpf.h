/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callbacks of a policy that gives tasks CPU time by their shares, one quantum after the
 * other, from one ranked queue for all CPUs: all but what they are ranked by. The
 * policy that includes this defines before it struct client, with
 *  - charged_at: its CPU time when last charged;
 *  - contested: another task could have had the quantum that it runs in;
 * and under the lock
 *  - use_quantum(ns): from here on quanta are of this length;
 *  - set_share(slot, share), which may be the one that it has;
 *  - join(c), leave(c): it is runnable from here on, or is not any more;
 *  - charge(c, cpu_time, cpu): for what it ran there since the last time;
 *  - begin_quantum(slot).
 */
#ifndef ROTA_SHARE_OPS_BPF_H
#define ROTA_SHARE_OPS_BPF_H

#include "ranked.bpf.h"
#include "shares.bpf.h"

/* No direct dispatch: of several that wake up at once the first in rank must win. */
s32 BPF_STRUCT_OPS(share_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(share_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_of(p), share = share_of(p);
	struct client *c = client_at(slot);

	bpf_spin_lock(&lock);
	set_share(slot, share);
	join(c);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(share_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	ranked_add(slot);
	bpf_spin_unlock(&lock);
	call_idle_cpu(p, slot);
}

void BPF_STRUCT_OPS(share_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 prev_slot = prev && is_runnable(prev) ? slot_of(prev) : 0, in_vain;
	u64 cpu_time = prev_slot ? prev->se.sum_exec_runtime : 0;
	u32 share = prev_slot ? share_of(prev) : 0;
	u64 slice_ns = quantum_now();
	struct choice choice;
	struct decision d;

	bpf_spin_lock(&lock);
	use_quantum(slice_ns);
	if (prev_slot) {
		charge(client_at(prev_slot), cpu_time, cpu);
		set_share(prev_slot, share);
	}
	choice = ranked_pick(cpu, prev_slot);
	client_at(choice.slot)->contested = choice.candidates > 1;
	if (choice.slot && choice.slot == prev_slot) {
		stats.kept++;
		begin_quantum(prev_slot);
	}
	ranked_remove(choice.slot);
	in_vain = who_waits_in_vain(cpu, choice.slot);
	decide(&d, choice.slot, slice_ns, in_vain, place_of(in_vain));
	bpf_spin_unlock(&lock);
	carry_out(&d, cpu, prev, prev_slot);
}

void BPF_STRUCT_OPS(share_running, struct task_struct *p)
{
	u32 slot = slot_of(p);
	struct client *c = client_at(slot);
	u64 cpu_time = p->se.sum_exec_runtime;

	bpf_spin_lock(&lock);
	ranked_remove(slot); /* there still if a change of the task raced with its dispatch */
	c->charged_at = cpu_time;
	begin_quantum(slot);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(share_stopping, struct task_struct *p, bool runnable)
{
	struct client *c = client_at(slot_of(p));
	u64 cpu_time = p->se.sum_exec_runtime;
	u32 cpu = scx_bpf_task_cpu(p);

	if (cpu_time == c->charged_at) /* in ops.dispatch, which nothing else calls for this CPU */
		return;
	bpf_spin_lock(&lock);
	charge(c, cpu_time, cpu);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(share_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 slot = slot_of(p);
	struct client *c = client_at(slot);

	bpf_spin_lock(&lock);
	ranked_remove(slot);
	leave(c);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(share_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, ranked_len);
}

void BPF_STRUCT_OPS(share_set_weight, struct task_struct *p, u32 weight)
{
	u32 slot = slot_of(p), share = share_of(p);

	bpf_spin_lock(&lock);
	set_share(slot, share);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(share_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

void BPF_STRUCT_OPS(share_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	forget_share_of(p);
	slot_give_back(slot_of(p));
}

s32 BPF_STRUCT_OPS(share_init)
{
	quantum_seen = quantum_now();
	return slots_init();
}

/* All but init_task and the name. */
#define SHARE_OPS                                                                           \
	.select_cpu = (void *)share_select_cpu, .runnable = (void *)share_runnable,         \
	.enqueue = (void *)share_enqueue, .dispatch = (void *)share_dispatch,               \
	.running = (void *)share_running, .stopping = (void *)share_stopping,               \
	.quiescent = (void *)share_quiescent, .set_weight = (void *)share_set_weight,       \
	.set_cpumask = (void *)share_set_cpumask, .update_idle = (void *)share_update_idle, \
	.exit_task = (void *)share_exit_task, .init = (void *)share_init,                   \
	.exit = (void *)record_exit, .flags = SCX_OPS_KEEP_BUILTIN_IDLE

#endif
