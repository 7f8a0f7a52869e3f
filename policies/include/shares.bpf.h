/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task's share: rota_shares[pid] if it is set, else the task's weight
 * (1..10000, 100 for nice 0). Only the ratio between tasks matters.
 */
#ifndef ROTA_SHARES_BPF_H
#define ROTA_SHARES_BPF_H

#define MAX_SHARE 1000000

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u64);
} rota_shares SEC(".maps");

/* Between 1 and MAX_SHARE; anything else in the map ends the policy. */
static u64 share_of(struct task_struct *p)
{
	u32 pid = p->pid;
	u64 *entry = bpf_map_lookup_elem(&rota_shares, &pid);
	u64 share = entry ? *entry : p->scx.weight;

	if (share >= 1 && share <= MAX_SHARE)
		return share;
	if (entry)
		policy_error("share %llu of task %llu is not between 1 and %llu",
			     share,
			     pid,
			     (u64)MAX_SHARE);
	return share ? MAX_SHARE : 1;
}

/* For ops.exit_task: the next task with this pid is another one. */
static void forget_share_of(struct task_struct *p)
{
	u32 pid = p->pid;

	bpf_map_delete_elem(&rota_shares, &pid);
}

#endif
