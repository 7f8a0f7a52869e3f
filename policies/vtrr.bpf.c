/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual-Time Round-Robin [VTRR §3].
 *
 * Runnable tasks stand in one queue, largest share first, and run for one
 * quantum each from its head on. After a task has run, the next one follows
 *  1. if its time counter, the quanta of its share in this cycle, is greater than
 *     the counter of the one that ran (no_counter_rule), or
 *  2. if it is behind: VFT - QVT(t + Q) < Q / S [eq. 6] (no_vft_rule: always);
 * otherwise the queue starts again from its head. A cycle is as many quanta as
 * there are shares; then every counter is its task's share again.
 *
 * Dynamic rules [§3.2]
 * - A task that comes starts at the queue's virtual time [eq. 7], but not before its own
 *   old VFT [eq. 8] (no_keep_vft), and with its proportion of the quanta left in
 *   the cycle [eq. 9], not more than it left with in the same cycle
 *   (no_keep_counter), between the counters of its neighbours (no_clamp).
 * - Its place: between its neighbours of last time if both are still runnable and
 *   adjacent, and its share fits (no_references), else by a walk from the head;
 *   insert=array keeps the last task of each share [§3.3] and needs no walk.
 *   Equal shares stand in order of pid; with the array, in order of arrival.
 * - Before a task comes or goes QVT is brought up to date [eq. 4], and with it the
 *   running tasks: what was run until then counts by the shares of then.
 * - When the current task leaves, the queue goes on after its place, and compares
 *   with the counter that it left with. So one behind it can be left with more quanta
 *   than those before, and has them at the end of the cycle.
 * - When its share changes a task leaves and comes back, and keeps its VFT if that
 *   is later than eq. 8 gives with the new share. If it runs it goes on with its quantum.
 *
 * Our readings
 * - Eq. 6 prints "current client": the next one's VFT and share are meant, and "<"
 *   is strict. In terms of virtual time: VT_next < QVT + Q / sum(S).
 * - A task without quanta left is never "behind": running it would break the
 *   cycle. A cycle ends when the sum of counters is 0, wherever the queue stands.
 * - Virtual times advance by CPU time used. A quantum is counted when a task had
 *   Q of CPU time, in one piece or several: a task that blocks early goes on later with
 *   the rest of its quantum. What a timer tick gave beyond is taken off.
 * - A changed quantum holds from the next decision on. Each task's service still to come in the
 *   cycle stays the same time, in quanta of the new length.
 * - Insertion clamps with the upper bound first, the lower last. A neighbour's quantum
 *   that is being run counts as had: the bounds never cross then, and counters fall
 *   along the queue whichever task comes (else they need not: found by our tests).
 * - Several CPUs (the paper has one) take their picks from the same sequence: each
 *   quantum being run counts in QVT(t + Q) as if done. A task that runs
 *   elsewhere, or may not use the CPU, is passed over. A task with quanta left that
 *   would keep a CPU busy until the cycle ends goes first: later it could not use
 *   them. The only task that can run on a CPU runs there outside of the sequence, and
 *   is not charged for more quanta than its share of the cycle.
 *   If no task with quanta left can run here the cycle ends early, as a CPU must
 *   not idle, and what was left is kept, up to one share. Tasks with quanta kept go
 *   first; where CPUs are not enough for those tied to them they share by stride.
 *
 * Cost per decision: O(1); with several CPUs plus up to four steps per CPU, and
 * one per task passed over. Counters are reset one by one as they are met [§3.3]. Coming back:
 * O(1), or O(n) if a walk is needed; with several CPUs a step for each, as for leaving.
 * O(n) once when the quantum changes.
 *
 * Where it is bad: a small task waits for up to a whole cycle, the sum of all
 * shares in quanta (weights of 100 make that long: use small shares). Wakeups get
 * no preference. Errors of ±10 quanta occur with skewed shares [VTRR §5.1], of ±25 on
 * several CPUs together with tasks that wake up often, for tasks with a share of most of a CPU:
 * with weights and a quantum of 10 ms that is a quarter of a second, and stays that.
 * A task with a share of more than a CPU gets the CPU, and the others what is left,
 * in proportion.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "shares.bpf.h"
#include "slots.bpf.h"
#include "virtual_time.bpf.h"

QUANTUM_TUNABLE;
enum insert_rule { INSERT_WALK, INSERT_ARRAY };
const volatile u32 insert help_text("place of a task that comes: walk the queue, or array by share")
values("walk|array") = INSERT_WALK;
const volatile bool no_counter_rule help_text("ignore a next task that has more quanta left");
const volatile bool no_vft_rule help_text("follow the queue to its end in every round");
const volatile bool no_keep_vft help_text("a task that slept forgets how far ahead it was");
const volatile bool no_keep_counter
	help_text("leaving and returning in a cycle can yield more quanta");
const volatile bool no_clamp help_text("a new counter need not lie between its neighbours'");
const volatile bool no_references help_text("do not remember the neighbours in the queue");

struct vtrr_stats {
	u64 picks help_text("quanta begun");
	u64 kept help_text("quanta that the same task got again");
	u64 restarts help_text("picks that began at the head of the queue");
	u64 passed_over help_text("tasks that a pick skipped: running, or not allowed here");
	u64 cycles help_text("cycles completed");
	u64 short_cycles
		help_text("cycles ended with quanta still being run, or tied to other CPUs");
	u64 by_reference help_text("insertions between the neighbours of last time");
	u64 by_array help_text("insertions by the per-share array");
	u64 by_walk help_text("insertions by a walk of the queue");
	u64 walked help_text("tasks examined in those walks");
};

struct vtrr_stats stats;

#include "vtrr_array.bpf.h"
#include "vtrr_queue.bpf.h"
#include "vtrr_cpus.bpf.h"

/* Is the client behind, seen from after the quanta that run and the next one? [eq. 6] */
static bool is_behind(const struct client *c)
{
	u64 ns = (nr_running + 1) * quantum_seen;
	struct virt then = queue_time;

	if (no_vft_rule)
		return true;
	if (queue_step.service_ns != quantum_seen)
		virt_step_of(&queue_step, quantum_seen, total_share);
	if (all_early_ns) /* of the quanta that run this is in it already */
		ns -= all_early_ns < ns ? all_early_ns : ns;
	virt_advance_by(&then, &queue_step, ns, total_share);
	return virt_before(&c->done, &then);
}

/* From the head: the first with quanta left that can run here, else just the first. */
static u32 pick_from_head(u32 cpu, u32 prev)
{
	u32 slot = clients[0].next & SLOT_MASK, fallback = 0;
	u64 passed = 0;

	stats.restarts++;
	while (slot && can_loop()) {
		struct client *c = client_at(slot);

		catch_up(c);
		if (can_run(slot, cpu, prev)) {
			if (c->counter)
				return slot;
			if (!fallback)
				fallback = slot;
		}
		passed += c->counter;
		if (fallback && passed >= quanta_left)
			break;
		stats.passed_over++;
		slot = c->next & SLOT_MASK;
	}
	if (fallback) {
		stats.short_cycles++;
		begin_cycle(true);
		catch_up(client_at(fallback));
	}
	return fallback;
}

/* The client to run on @cpu next [§3.1]: one that waits, or @prev (0: none). */
static u32 pick(u32 cpu, u32 prev)
{
	u32 current = cursor & SLOT_MASK, next;
	u64 counter;

	if (!nr_waiting && !prev)
		return 0;
	if (!quanta_left) {
		stats.cycles++;
		begin_cycle(false);
		return pick_from_head(cpu, prev);
	}
	next = nr_running ? pick_urgent(cpu, prev) : 0;
	if (next)
		return next;
	catch_up(client_at(current));
	counter = current_left ? counter_at_leaving : client_at(current)->counter;
	while (current && (next = client_at(current)->next & SLOT_MASK) && can_loop()) {
		struct client *n = client_at(next);

		catch_up(n);
		if (!n->counter)
			break;
		if ((no_counter_rule || n->counter <= counter) && !is_behind(n))
			break;
		if (can_run(next, cpu, prev))
			return next;
		stats.passed_over++;
		current = next;
		counter = n->counter;
	}
	return pick_from_head(cpu, prev);
}

/* The slot of @p, without a look at the map if it is @slot. */
static u32 slot_perhaps(u32 slot, struct task_struct *p)
{
	return slot && pid_of[slot & SLOT_MASK] == (u32)p->pid ? slot & SLOT_MASK : slot_of(p);
}

static void begin_quantum(u32 slot)
{
	struct client *c = client_at(slot);

	set_waits(c, false);
	nr_running += !c->runs;
	c->has_due |= !c->runs;
	c->runs = true;
}

static u64 rest_of_quantum(const struct client *c)
{
	return c->part_ns < quantum_seen ? quantum_seen - c->part_ns : quantum_seen;
}

/* No direct dispatch: each quantum is a pick in the queue's order. */
s32 BPF_STRUCT_OPS(vtrr_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(vtrr_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_of(p), share = share_of(p);
	u64 now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	set_share(slot, share, now);
	if (!client_at(slot)->queued) {
		charge_running(now);
		join(slot);
	}
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(vtrr_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	end_quantum(client_at(slot));
	set_waits(client_at(slot), true);
	bpf_spin_unlock(&lock);
	call_idle_cpu(p, slot);
}

void BPF_STRUCT_OPS(vtrr_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 hint = running_on[(u32)cpu % MAX_CPUS], slot, in_vain;
	u32 prev_slot = prev && is_runnable(prev) ? slot_perhaps(hint, prev) : 0;
	u64 cpu_time = prev_slot ? prev->se.sum_exec_runtime : 0;
	u32 share = prev_slot ? share_of(prev) : 0;
	u64 new_quantum = quantum_now(), now = 0;
	struct decision d;
	bool alone;

	if (prev_slot && share != client_at(prev_slot)->share)
		now = bpf_ktime_get_ns();
	bpf_spin_lock(&lock);
	use_quantum(new_quantum);
	if (prev_slot) {
		charge(client_at(prev_slot), cpu_time);
		end_quantum(client_at(prev_slot));
		if (share != client_at(prev_slot)->share)
			set_share(prev_slot, share, now);
	}
	slot = nr_running ? only_one_here(cpu, prev_slot) : 0;
	alone = slot;
	if (!alone) {
		slot = pick(cpu, prev_slot);
		if (slot)
			set_current(slot);
	}
	if (slot) {
		client_at(slot)->alone = alone;
		stats.picks++;
		stats.kept += slot == prev_slot;
		begin_quantum(slot);
	}
	if (slot != prev_slot) {
		running_on[(u32)cpu % MAX_CPUS] = 0;
		picked_for[(u32)cpu % MAX_CPUS] = slot;
		charged_at_on[(u32)cpu % MAX_CPUS] = cpu_time;
	}
	in_vain = who_waits_in_vain(cpu, slot);
	decide(&d, slot, rest_of_quantum(client_at(slot)), in_vain, client_at(in_vain)->waits);
	bpf_spin_unlock(&lock);
	if (slot && slot == prev_slot)
		client_at(slot)->charged_ns = bpf_ktime_get_ns();
	carry_out(&d, cpu, prev, prev_slot);
}

void BPF_STRUCT_OPS(vtrr_running, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p), slot = slot_perhaps(picked_for[cpu % MAX_CPUS], p);
	u64 cpu_time = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();
	struct client *c = client_at(slot);

	/* Without the lock: nothing charges it in advance before both of the latter are there. */
	c->charged_at = cpu_time;
	c->charged_ns = now;
	running_on[cpu % MAX_CPUS] = slot;
	if (c->runs)
		return;
	/* The kernel sent it here itself. */
	bpf_spin_lock(&lock);
	begin_quantum(slot);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(vtrr_stopping, struct task_struct *p, bool runnable)
{
	u32 cpu = scx_bpf_task_cpu(p), slot;
	u64 cpu_time = p->se.sum_exec_runtime;

	/* ops.dispatch charged it for that, and no task began to run here since. */
	if (!running_on[cpu % MAX_CPUS] && charged_at_on[cpu % MAX_CPUS] == cpu_time)
		return;
	slot = slot_of(p);
	bpf_spin_lock(&lock);
	charge(client_at(slot), cpu_time);
	running_on[cpu % MAX_CPUS] = 0;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(vtrr_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 slot = slot_of(p);
	u64 now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	end_quantum(client_at(slot));
	set_waits(client_at(slot), false);
	charge_running(now);
	leave(slot);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(vtrr_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, nr_waiting);
}

void BPF_STRUCT_OPS(vtrr_set_weight, struct task_struct *p, u32 weight)
{
	u32 slot = slot_of(p), share = share_of(p);
	u64 now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	set_share(slot, share, now);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(vtrr_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

s32 BPF_STRUCT_OPS(vtrr_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 slot = slot_take(p);
	struct client *c = client_at(slot);

	if (!slot)
		return -ENOMEM;
	*c = (struct client){
		.share = share_of(p), .life = c->life + 1, .charged_ns = NOT_KNOWN_YET};
	return 0;
}

void BPF_STRUCT_OPS(vtrr_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 slot = slot_of(p);

	forget_share_of(p);
	pid_of[slot & SLOT_MASK] = 0;
	slot_give_back(slot);
}

s32 BPF_STRUCT_OPS(vtrr_init)
{
	quantum_seen = quantum_now();
	return slots_init();
}

SCX_OPS_HEED(vtrr_ops, "nice, share, SCHED_IDLE, SMT, LLC, NUMA");
SCX_OPS_DEFINE(vtrr_ops)
help_text("Virtual-Time Round-Robin: proportional shares in constant time") paper("VTRR §3") = {
	.select_cpu = (void *)vtrr_select_cpu,
	.runnable = (void *)vtrr_runnable,
	.enqueue = (void *)vtrr_enqueue,
	.dispatch = (void *)vtrr_dispatch,
	.running = (void *)vtrr_running,
	.stopping = (void *)vtrr_stopping,
	.quiescent = (void *)vtrr_quiescent,
	.set_weight = (void *)vtrr_set_weight,
	.set_cpumask = (void *)vtrr_set_cpumask,
	.update_idle = (void *)vtrr_update_idle,
	.init_task = (void *)vtrr_init_task,
	.exit_task = (void *)vtrr_exit_task,
	.init = (void *)vtrr_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "vtrr",
};
