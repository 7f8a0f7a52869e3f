/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round robin [VTRR §2.2].
 *
 * Tasks wait in one queue for all CPUs. The head runs for at most one quantum
 * and then goes to the end. Weights and shares count for nothing. What a turn was
 * longer than that, as slices end at timer ticks, is taken off the next one.
 *
 * When turns end on several CPUs at the same tick, the order in which the CPUs decide is not
 * defined: a task can have its next turn before another one has had its first. So that this does
 * not add up, turns are counted in rounds. The queue is in two parts: tasks that have yet to run
 * in this round, and tasks that have run. A task that did not come to its turn before a round
 * ended goes on, or waits in the first part. On one CPU the order is that of one queue.
 *
 * Cost per decision: O(1), two queue operations.
 *
 * Where it is bad: with N busy tasks each task, interactive or not, waits for
 * N - 1 quanta; a short quantum shortens that and pays with switches. A task
 * that blocks early gets no credit for the time it did not use. Quanta shorter than a
 * tick are a tick long, and equal only as far as ticks are. The one queue is a point of
 * contention on large machines.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "idle.bpf.h"

/* Those with their turn in round r wait in DSQ r % 2: this round, or the next one. */
#define NR_QUEUES 2
#define ENQ_HEAD  kernel_value(scx_enq_flags, SCX_ENQ_HEAD)

QUANTUM_TUNABLE;

struct rr_stats {
	u64 direct help_text("wakeups that found an idle CPU");
	u64 queued help_text("tasks that had to wait in the queue");
	u64 kept help_text("quanta given again to the same task: no task waited, or it was late");
};

struct rr_stats stats;
u64 round_now = 1;

struct turn {
	u64 round;    /* of its last turn */
	u64 began_at; /* its CPU time then */
	u64 slice_ns;
	u64 over_ns; /* what the last one was too long */
	bool direct; /* it is sent to an idle CPU */
	bool aside;  /* a higher class took the CPU during its turn */
};

TASK_STORAGE(turns, struct turn);

static struct turn *turn_of(struct task_struct *p)
{
	return bpf_task_storage_get(&turns, p, NULL, 0);
}

static void begin_turn(struct turn *t, struct task_struct *p)
{
	t->began_at = p->se.sum_exec_runtime;
	t->slice_ns = p->scx.slice;
	t->over_ns = 0;
}

/* @aside: it shall have the rest of it later. */
static void end_turn(struct turn *t, struct task_struct *p, bool aside)
{
	u64 used = p->se.sum_exec_runtime - t->began_at;

	t->over_ns = used > t->slice_ns ? used - t->slice_ns : 0;
	t->aside = aside && used < t->slice_ns;
	if (t->aside)
		t->slice_ns -= used;
}

/* The task's next turn: in this round if it is late, else in the next one. */
static void count_turn(struct turn *t)
{
	u64 now = round_now;

	t->round = t->round < now ? now : now + 1;
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
	s32 cpu = find_idle_cpu(p, prev_cpu, wake_flags, &is_idle);
	struct turn *t = turn_of(p);

	if (t)
		t->direct = is_idle;
	/* An idle CPU means that no task that could use it waits: the order holds. */
	if (is_idle) {
		__sync_fetch_and_add(&stats.direct, 1);
		dsq_insert(p, DSQ_LOCAL, next_slice(p), ENQ_NONE);
	}
	return cpu;
}

/*
 * A task that comes waits behind all others: in the next round only if one waits for that.
 * On an idle CPU its turn begins now.
 */
void BPF_STRUCT_OPS(rr_runnable, struct task_struct *p, u64 enq_flags)
{
	struct turn *t = turn_of(p);
	u64 now = round_now;

	if (!t)
		return;
	t->round = t->direct || scx_bpf_dsq_nr_queued((now + 1) % NR_QUEUES) ? now : now - 1;
	t->direct = false;
}

void BPF_STRUCT_OPS(rr_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct turn *t = turn_of(p);

	if (!t)
		return;
	__sync_fetch_and_add(&stats.queued, 1);
	if (t->aside) {
		/* The rest of its turn comes before all others. */
		t->aside = false;
		t->round = round_now;
		dsq_insert(p, t->round % NR_QUEUES, t->slice_ns, enq_flags | ENQ_HEAD);
	} else {
		count_turn(t);
		dsq_insert(p, t->round % NR_QUEUES, next_slice(p), enq_flags);
	}
	kick_idle_cpu_for(p);
}

/* Takes the head of the queue; a @late task goes before those of the next round. */
static bool take_next(bool late)
{
	u64 now = round_now, queue = now % NR_QUEUES;

	if (dsq_move_to_local(queue))
		return true;
	if (late || !dsq_move_to_local((now + 1) % NR_QUEUES))
		return false;
	if (!scx_bpf_dsq_nr_queued(queue))
		__sync_bool_compare_and_swap(&round_now, now, now + 1);
	return true;
}

/*
 * @prev used up its quantum and is not queued yet: it is enqueued, at the end,
 * only after we return. So the head of the queue is the right one to take.
 */
void BPF_STRUCT_OPS(rr_dispatch, s32 cpu, struct task_struct *prev)
{
	struct turn *t = prev && is_runnable(prev) ? turn_of(prev) : NULL;

	if (take_next(t && t->round < round_now))
		return;
	wake_idle_cpu_for_queue(0);
	wake_idle_cpu_for_queue(1);
	if (!prev)
		look_again(cpu, false);
	if (!t)
		return;
	__sync_fetch_and_add(&stats.kept, 1);
	end_turn(t, prev, false);
	count_turn(t);
	task_set_slice(prev, next_slice(prev));
	begin_turn(t, prev);
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
		end_turn(t, p, put_aside(p, runnable));
}

s32 BPF_STRUCT_OPS(rr_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return bpf_task_storage_get(&turns, p, NULL, STORAGE_GET_CREATE) ? 0 : -ENOMEM;
}

void BPF_STRUCT_OPS(rr_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, scx_bpf_dsq_nr_queued(0) || scx_bpf_dsq_nr_queued(1));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rr_init)
{
	s32 err;

	forget_idle_marks();
	err = scx_bpf_create_dsq(0, -1);
	return err ? err : scx_bpf_create_dsq(1, -1);
}

SCX_OPS_HEED(rr_ops, "SMT, LLC, NUMA");
SCX_OPS_DEFINE(rr_ops)
help_text("Round robin: each task runs for one quantum in turn") paper("VTRR §2.2") = {
	.select_cpu = (void *)rr_select_cpu,
	.runnable = (void *)rr_runnable,
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
