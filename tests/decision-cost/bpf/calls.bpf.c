/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * First come, first served through the global queue, with one call of the kernel
 * repeated in ops.running(), or with another queue: what that costs is the difference
 * to CALL 0, which has nothing. The numbers are those of src/calls.rs.
 */
#include "rota.bpf.h"
#include "shares.bpf.h"
#include "slots.bpf.h"
#include "virtual_time.bpf.h"

#define TIMES 8
#define QUEUE 7
#define SLICE 20000000

bool __scx_bpf_dsq_insert_vtime(struct task_struct *p,
				struct scx_bpf_dsq_insert_vtime_args *args) __ksym __weak;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} per_cpu SEC(".maps");

u64 sum;
struct virt times[NR_SLOTS];
u32 nr_times = 32;

__kinline void call(struct task_struct *p)
{
#if CALL == 1
	bpf_spin_lock(&lock);
	bpf_spin_unlock(&lock);
#elif CALL == 2
	sum += !!bpf_task_storage_get(&slot_refs, p, NULL, 0);
#elif CALL == 3
	u32 pid = p->pid;

	sum += !!bpf_map_lookup_elem(&rota_shares, &pid);
#elif CALL == 4
	u32 zero = 0;
	u64 *value = bpf_map_lookup_elem(&per_cpu, &zero);

	if (value)
		*value += 1;
#elif CALL == 5
	struct task_struct *other = bpf_task_from_pid(p->pid);

	if (other)
		bpf_task_release(other);
#elif CALL == 6
	sum += bpf_cpumask_test_cpu(0, p->cpus_ptr);
#elif CALL == 7
	static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;

	sum += bpf_ktime_get_ns();
#elif CALL == 8
	__sync_fetch_and_add(&sum, 1);
#elif CALL == 9
	sum += scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
#elif CALL == 12
	virt_advance(&times[p->pid & SLOT_MASK], p->se.sum_exec_runtime, p->scx.weight);
#elif CALL == 13
	u32 i, first = 0;

	for (i = loop_start + 1; i < nr_times && can_loop(); i++)
		if (virt_before(&times[i & SLOT_MASK], &times[first & SLOT_MASK]))
			first = i;
	sum += first;
#endif
}

#if CALL == 10 || CALL == 11
void BPF_STRUCT_OPS(calls_enqueue, struct task_struct *p, u64 enq_flags)
{
#if CALL == 10
	dsq_insert(p, QUEUE, SLICE, enq_flags);
#else
	struct scx_bpf_dsq_insert_vtime_args args = {
		.dsq_id = QUEUE,
		.slice = SLICE,
		.vtime = p->se.sum_exec_runtime,
		.enq_flags = enq_flags,
	};

	__scx_bpf_dsq_insert_vtime(p, &args);
#endif
}

void BPF_STRUCT_OPS(calls_dispatch, s32 cpu, struct task_struct *prev)
{
	dsq_move_to_local(QUEUE);
}
#endif

void BPF_STRUCT_OPS(calls_running, struct task_struct *p)
{
	int i;

#pragma unroll
	for (i = 0; i < TIMES; i++)
		call(p);
}

s32 BPF_STRUCT_OPS(calls_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return slot_take(p) && share_of(p) ? 0 : -ENOMEM;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(calls_init)
{
	return slots_init() ?: scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(calls_ops) = {
#if CALL == 10 || CALL == 11
	.enqueue = (void *)calls_enqueue,
	.dispatch = (void *)calls_dispatch,
#endif
	.running = (void *)calls_running,
	.init_task = (void *)calls_init_task,
	.init = (void *)calls_init,
	.name = "calls",
};
