// SPDX-License-Identifier: GPL-2.0-only
/*
 * First come, first served, for a loader in Go, which counts what is enqueued and sets the slice.
 * The kernel's functions are declared as Linux 6.16 has them: cilium's library takes no others, and
 * none of newer kernels, which have two of some.
 */
#include "rota.bpf.h"

#define QUEUE 0

void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym;
bool scx_bpf_dsq_move_to_local(u64 dsq_id) __ksym;

/* The loader fills it before it loads the object. */
const volatile u64 first_slice_ns;
/* And this later, by its address: it is alone in its section. */
u64 slice_ns SEC(".data.slice");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} enqueued SEC(".maps");

void BPF_STRUCT_OPS(counting_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 zero = 0;
	u64 *count = bpf_map_lookup_elem(&enqueued, &zero);

	if (count)
		*count += 1;
	scx_bpf_dsq_insert(p, QUEUE, slice_ns ? slice_ns : first_slice_ns, enq_flags);
}

void BPF_STRUCT_OPS(counting_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(counting_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(counting_ops) = {
	.enqueue = (void *)counting_enqueue,
	.dispatch = (void *)counting_dispatch,
	.init = (void *)counting_init,
	.name = "counting",
};
