/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs at switches and wakeups take, which is in the recorded work. One run of so many
 * is measured, where it happens: with the caches as the recorded tasks leave them.
 */
#ifndef ROTA_RECORD_COST_BPF_H
#define ROTA_RECORD_COST_BPF_H

#include "helpers.bpf.h"

#define MEASURED_OF 16 /* a power of two */
/* A longer one was interrupted. */
#define LONGEST_RUN_NS 20000

enum measured {
	COST_LEAVING,  /* of a switch, until its record has its time: the previous task's */
	COST_COMING,   /* after that: the next one's */
	COST_WAKING,   /* of a wakeup, at its beginning … */
	COST_RUNNABLE, /* … and at its end */
	COST_KINDS,
};

/* crates/kernel/src/events/taken.rs reads it. */
struct cost {
	u64 runs;
	u64 measured;
	u64 ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COST_KINDS);
	__type(key, u32);
	__type(value, struct cost);
} costs SEC(".maps");

/* The time, if this run is measured; else 0. */
__kinline u64 begin_cost(u32 kind)
{
	struct cost *cost = bpf_map_lookup_elem(&costs, &kind);

	if (!cost || cost->runs++ % MEASURED_OF)
		return 0;
	return bpf_ktime_get_ns();
}

__kinline void end_cost(u32 kind, u64 begin_ns, u64 end_ns)
{
	struct cost *cost;

	if (!begin_ns || end_ns < begin_ns || end_ns - begin_ns > LONGEST_RUN_NS)
		return;
	cost = bpf_map_lookup_elem(&costs, &kind);
	if (!cost)
		return;
	cost->measured++;
	cost->ns += end_ns - begin_ns;
}

#endif
