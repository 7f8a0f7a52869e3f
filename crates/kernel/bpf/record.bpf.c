/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records what the scheduler does: each event is one reservation in the ring buffer of its CPU.
 *
 * Here are switches, and how tasks come and go. The parts of the same object:
 *   record_tasks.bpf.h     whom to record, and what is told of them
 *   record_calls.bpf.h     the system calls that tasks are in
 *   record_slices.bpf.h    where slices begin
 *   record_wakeups.bpf.h   wakeups, with who did it
 *   record_cost.bpf.h      what the programs here and there take
 *   record_queues.bpf.h    insertions into dispatch queues
 *   record_transfers.bpf.h what tasks give to each other
 *   record_streams.bpf.h   the pipes and sockets that it goes through
 *   record_snapshot.bpf.h  what is there at the beginning
 *
 * Bad at: tasks that are renamed or change their pid while a thread other than the first
 * calls exec(); the events around such a change do not fit each other.
 */
#include "record_calls.bpf.h"
#include "record_cost.bpf.h"
#include "record_queues.bpf.h"
#include "record_slices.bpf.h"
#include "record_snapshot.bpf.h"
#include "record_streams.bpf.h"
#include "record_tasks.bpf.h"
#include "record_wakeups.bpf.h"

/* Of __state, and of sched_switch's prev_state. */
#define TASK_UNINTERRUPTIBLE 2
#define TASK_DEAD	     0x80

SEC("tp_btf/sched_switch")
int on_switch(u64 *ctx)
{
	bool preempt = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 prev_state = ctx[3], prev_pid = prev->pid;
	struct known *old = find(prev), *new = find(next);
	u32 from = old ? prev_pid : 0, to = new ? next->pid : 0;
	u64 begin_ns = begin_cost(COST_LEAVING), now = 0;
	u16 flags = 0;

	if (new)
		update_weight(new, next);
	/* Some kernels report the state of a task that a signal kept from sleeping. */
	if (!preempt && prev_state & TASK_DEAD)
		flags = OFF_EXIT;
	else if (!preempt && prev_state && prev->__state)
		flags = OFF_SLEEP;
	if (old)
		tell_transfers(prev);
	if (old && flags != OFF_EXIT) {
		if (flags && prev_state & TASK_UNINTERRUPTIBLE)
			flags |= OFF_DEEP;
		flags |= call_flags(prev);
	}
	if (to && begins_slice(next))
		flags |= NEW_SLICE;
	note_left(prev, next, flags & (OFF_SLEEP | OFF_EXIT));
	if (begins_idling(from, to, next))
		flags |= IDLES;
	if (from | to || flags & IDLES)
		now = emit(REC_SWITCH, flags, from, to, slice_of(next));
	/* After the record, also for a reader that gets a wakeup from another CPU's ring. */
	if (old)
		old->off_ns = (now ? now : bpf_ktime_get_ns()) + 1;
	if (config.detail && from && flags & OFF_EXIT)
		bpf_map_delete_elem(&pids, &prev_pid);
	if (begin_ns && now) {
		end_cost(COST_LEAVING, begin_ns, now);
		end_cost(COST_COMING, now, bpf_ktime_get_ns());
	}
	return 0;
}

SEC("tp_btf/sched_process_fork")
int on_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	bool ours = !config.only_tree && wanted(child);

	if (measures(parent))
		return 0;
	if (config.only_tree)
		ours = bpf_task_storage_get(&tasks, parent, NULL, 0) ||
		       (config.spawn && (u32)parent->pid == reader_thread);
	if (!ours)
		return 0;
	introduce(child);
	emit(REC_FORK, 0, child->pid, parent->pid, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	if (find(p))
		emit(REC_EXIT, 0, p->pid, 0, 0);
	return 0;
}

SEC("tp_btf/task_rename")
int on_rename(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	/* The task still has its old name. */
	if (find(p))
		emit_task(p, 0, bpf_get_smp_processor_id(), (const char *)ctx[1]);
	return 0;
}

SEC("fexit/set_user_nice")
int after_nice(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct known *known = find(p);

	if (known)
		update_weight(known, p);
	return 0;
}

__kinline void settings_changed(struct task_struct *p)
{
	if (find(p))
		emit_task(p, 0, bpf_get_smp_processor_id(), p->comm);
}

SEC("fexit/__sched_setscheduler")
int after_setscheduler(u64 *ctx)
{
	settings_changed((void *)ctx[0]);
	return 0;
}

SEC("fexit/__set_cpus_allowed_ptr")
int after_affinity(u64 *ctx)
{
	settings_changed((void *)ctx[0]);
	return 0;
}

/* Into another cgroup, or another session's group. */
SEC("fexit/sched_move_task")
int after_move(u64 *ctx)
{
	settings_changed((void *)ctx[0]);
	return 0;
}
