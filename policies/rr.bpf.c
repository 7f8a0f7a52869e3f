/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round robin [VTRR §2.2].
 *
 * Tasks wait in one queue for all CPUs. The head runs for at most one quantum
 * and then goes to the end. Weights and shares count for nothing.
 *
 * Cost per decision: O(1), one queue operation.
 *
 * Where it is bad: with N busy tasks everyone, interactive or not, waits for
 * N - 1 quanta; a short quantum shortens that and pays with switches. A task
 * that blocks early gets no credit for the time it did not use, and one whose slice
 * ended late, at a timer tick, no debit: where that falls on the same task each
 * time, its share is up to a tick per quantum larger. The one queue is a point of
 * contention on large machines.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

#define QUEUE 0

QUANTUM_TUNABLE;

struct rr_stats {
	u64 direct help_text("wakeups that found an idle CPU");
	u64 queued help_text("tasks that had to wait in the queue");
	u64 kept help_text("quanta given again to the same task, as nobody waited");
};

struct rr_stats stats;

s32 BPF_STRUCT_OPS(rr_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	/* An idle CPU means that nobody who could use it waits: the order holds. */
	if (is_idle) {
		__sync_fetch_and_add(&stats.direct, 1);
		dsq_insert(p, DSQ_LOCAL, quantum_now(), ENQ_NONE);
	}
	return cpu;
}

void BPF_STRUCT_OPS(rr_enqueue, struct task_struct *p, u64 enq_flags)
{
	__sync_fetch_and_add(&stats.queued, 1);
	dsq_insert(p, QUEUE, quantum_now(), enq_flags);
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
	if (prev && is_runnable(prev)) {
		__sync_fetch_and_add(&stats.kept, 1);
		task_set_slice(prev, quantum_now());
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rr_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(rr_ops)
help_text("Round robin: everyone runs for one quantum in turn") paper("VTRR §2.2") = {
	.select_cpu = (void *)rr_select_cpu,
	.enqueue = (void *)rr_enqueue,
	.dispatch = (void *)rr_dispatch,
	.init = (void *)rr_init,
	.exit = (void *)record_exit,
	.name = "rr",
};
