/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round robin [VTRR §2.2].
 *
 * Tasks wait in one queue for all CPUs. The head runs for at most one quantum
 * and then goes to the end. Weights and shares count for nothing. What a turn was
 * longer than that, as slices end at timer ticks, is taken off the next one.
 *
 * Cost per decision: O(1), one queue operation.
 *
 * Where it is bad: with N busy tasks everyone, interactive or not, waits for
 * N - 1 quanta; a short quantum shortens that and pays with switches. A task
 * that blocks early gets no credit for the time it did not use. Quanta shorter than a
 * tick are a tick long, and equal only as far as ticks are. The one queue is a point of
 * contention on large machines.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "idle.bpf.h"

#define QUEUE 0

QUANTUM_TUNABLE;

struct rr_stats {
	u64 direct help_text("wakeups that found an idle CPU");
	u64 queued help_text("tasks that had to wait in the queue");
	u64 kept help_text("quanta given again to the same task, as nobody waited");
};

struct rr_stats stats;

struct turn {
	u64 began_at; /* its CPU time then */
	u64 slice_ns;
	u64 over_ns; /* what the last one was too long */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct turn);
} turns SEC(".maps");

static struct turn *turn_of(struct task_struct *p)
{
	return bpf_task_storage_get(&turns, p, NULL, 0);
}

static void begin_turn(struct turn *t, struct task_struct *p)
{
	*t = (struct turn){.began_at = p->se.sum_exec_runtime, .slice_ns = p->scx.slice};
}

static void end_turn(struct turn *t, struct task_struct *p)
{
	u64 used = p->se.sum_exec_runtime - t->began_at;

	t->over_ns = used > t->slice_ns ? used - t->slice_ns : 0;
}

/* A slice of 0 would be the kernel's default; one of 1 ends at the next tick just so. */
static u64 next_slice(struct task_struct *p)
{
	struct turn *t = turn_of(p);
	u64 quantum = quantum_now(), over = t ? t->over_ns : 0;

	return over < quantum ? quantum - over : 1;
}

s32 BPF_STRUCT_OPS(rr_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	/* An idle CPU means that nobody who could use it waits: the order holds. */
	if (is_idle) {
		__sync_fetch_and_add(&stats.direct, 1);
		dsq_insert(p, DSQ_LOCAL, next_slice(p), ENQ_NONE);
	}
	return cpu;
}

void BPF_STRUCT_OPS(rr_enqueue, struct task_struct *p, u64 enq_flags)
{
	__sync_fetch_and_add(&stats.queued, 1);
	dsq_insert(p, QUEUE, next_slice(p), enq_flags);
	kick_idle_cpu_for(p);
}

/*
 * @prev used up its quantum and is not queued yet: it is enqueued, at the end,
 * only after we return. So the head of the queue is the right one to take.
 */
void BPF_STRUCT_OPS(rr_dispatch, s32 cpu, struct task_struct *prev)
{
	if (dsq_move_to_local(QUEUE))
		return;
	wake_idle_cpu_for_queue(QUEUE);
	if (!prev)
		look_again(cpu, false);
	if (prev && is_runnable(prev)) {
		struct turn *t = turn_of(prev);

		__sync_fetch_and_add(&stats.kept, 1);
		if (t)
			end_turn(t, prev);
		task_set_slice(prev, next_slice(prev));
		if (t)
			begin_turn(t, prev);
	}
}

void BPF_STRUCT_OPS(rr_running, struct task_struct *p)
{
	struct turn *t = turn_of(p);

	if (t)
		begin_turn(t, p);
}

void BPF_STRUCT_OPS(rr_stopping, struct task_struct *p, bool runnable)
{
	struct turn *t = turn_of(p);

	if (t)
		end_turn(t, p);
}

s32 BPF_STRUCT_OPS(rr_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return bpf_task_storage_get(&turns, p, NULL, STORAGE_GET_CREATE) ? 0 : -ENOMEM;
}

void BPF_STRUCT_OPS(rr_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, scx_bpf_dsq_nr_queued(QUEUE));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rr_init)
{
	forget_idle_marks();
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(rr_ops)
help_text("Round robin: everyone runs for one quantum in turn") paper("VTRR §2.2") = {
	.select_cpu = (void *)rr_select_cpu,
	.enqueue = (void *)rr_enqueue,
	.dispatch = (void *)rr_dispatch,
	.running = (void *)rr_running,
	.stopping = (void *)rr_stopping,
	.update_idle = (void *)rr_update_idle,
	.init_task = (void *)rr_init_task,
	.init = (void *)rr_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "rr",
};
