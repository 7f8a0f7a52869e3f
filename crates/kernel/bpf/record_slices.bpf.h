/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where slices begin. sched_switch does not know that a CPU begins another slice of the task that
 * it runs already, nor that a task which comes back only goes on: sched_ext's pick does.
 */
#ifndef ROTA_RECORD_SLICES_BPF_H
#define ROTA_RECORD_SLICES_BPF_H

#include "record_tasks.bpf.h"

/* What the pick under way on a CPU found, and the last task that lost the CPU with slice left. */
struct cpu_state {
	u64 slice_before;
	u64 runtime_before;
	u64 slice_found;
	u64 slice_left;
	u32 armed;
	u32 found;
	u32 owner_of_left;
	bool unseen; /* since the last task that is recorded, others ran */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

/*
 * A task that was put aside with slice left, by a higher class, and is found with just that
 * goes on with its slice. By now ops.running() may have given it another one.
 */
__kinline bool begins_slice(const struct task_struct *next)
{
	u32 zero = 0, pid = next->pid;
	struct cpu_state *cpu = bpf_map_lookup_elem(&cpus, &zero);
	u64 slice;

	if (!cpu || !is_ext(next))
		return true;
	slice = next->scx.slice;
	/* Or one load would be for either pointer, which the verifier refuses. */
	asm volatile("" : "+r"(slice));
	if (cpu->found == pid)
		slice = cpu->slice_found;
	return cpu->owner_of_left != pid || !cpu->slice_left || cpu->slice_left != slice;
}

/*
 * Only for a higher class does sched_ext put a task aside that has slice left. Fair tasks are of
 * one, where a policy schedules SCHED_EXT tasks only.
 */
__kinline void note_left(const struct task_struct *prev, const struct task_struct *next,
			 bool sleeps)
{
	u32 zero = 0, pid = prev->pid;
	struct cpu_state *cpu = bpf_map_lookup_elem(&cpus, &zero);

	if (!cpu)
		return;
	cpu->armed = cpu->found = 0;
	/* It was not put aside but queued again, with a new slice, if another one comes first. */
	if (is_ext(next) && cpu->owner_of_left != (u32)next->pid)
		cpu->owner_of_left = 0;
	if (is_ext(prev) && !sleeps && !is_ext(next)) {
		cpu->owner_of_left = pid;
		cpu->slice_left = prev->scx.slice;
	} else if (cpu->owner_of_left == pid) {
		cpu->owner_of_left = 0;
	}
}

/*
 * Does the CPU idle after @from, a task that is recorded, or after others that followed one? A task
 * that can go on leaves for nothing if its group is out of CPU time, for instance.
 */
__kinline bool begins_idling(u32 from, u32 to, const struct task_struct *next)
{
	u32 zero = 0, idle = !next->pid;
	struct cpu_state *cpu = bpf_map_lookup_elem(&cpus, &zero);
	bool known;

	if (!cpu)
		return false;
	known = from || cpu->unseen;
	cpu->unseen = known && !idle && !to;
	return known && idle;
}

__kinline void arm(bool again)
{
	struct task_struct *curr = bpf_get_current_task_btf();
	u32 zero = 0;
	struct cpu_state *cpu = bpf_map_lookup_elem(&cpus, &zero);

	if (!cpu || (cpu->armed && !again))
		return;
	cpu->armed = is_ext(curr);
	cpu->slice_before = slice_of(curr);
	cpu->runtime_before = curr->se.sum_exec_runtime;
}

/*
 * A pick that ends with the task that runs already begins a slice of it if the old one, less
 * what the pick charged for, was used up.
 */
__kinline void picked(u64 *ctx)
{
	struct task_struct *curr = bpf_get_current_task_btf();
	u32 zero = 0, pid = curr->pid;
	struct cpu_state *cpu = bpf_map_lookup_elem(&cpus, &zero);
	const struct task_struct *other;
	bool armed;
	u64 found = 0;

	if (!cpu || bpf_get_func_ret(ctx, &found))
		return;
	/* RETRY_TASK: the same pick begins anew. */
	if (found == (u64)-1)
		return;
	armed = cpu->armed;
	cpu->armed = 0;
	if (found && found != (u64)curr) {
		other = (const struct task_struct *)found;
		read_field(&cpu->found, other->pid);
		read_field(&cpu->slice_found, other->scx.slice);
		return;
	}
	if (!armed || !found || !bpf_task_storage_get(&tasks, curr, NULL, 0))
		return;
	if (cpu->slice_before <= curr->se.sum_exec_runtime - cpu->runtime_before)
		emit(REC_PICK, 0, pid, 0, slice_of(curr));
}

/* Until 6.18 the policy's dispatch is called here, before the pick. */
SEC("fentry/balance_scx")
int before_balance(u64 *ctx)
{
	arm(true);
	return 0;
}

SEC("fentry/pick_task_scx")
int before_pick(u64 *ctx)
{
	arm(false);
	return 0;
}

SEC("fexit/pick_task_scx")
int after_pick(u64 *ctx)
{
	picked(ctx);
	return 0;
}

/* From 7.0 on, also called for the deadline server. */
SEC("fentry/do_pick_task_scx")
int before_do_pick(u64 *ctx)
{
	arm(false);
	return 0;
}

SEC("fexit/do_pick_task_scx")
int after_do_pick(u64 *ctx)
{
	picked(ctx);
	return 0;
}

#endif
