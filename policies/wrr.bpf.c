/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Weighted round robin [VTRR §2.2].
 *
 * Tasks take turns in a queue. A turn is as many consecutive quanta as the
 * task has shares: with shares 3, 2, 1 the picks are A, A, A, B, B, C. The
 * share is rota_shares[pid], else the task's weight.
 *
 * Time goes in rounds: in each round every task has one turn. There is a queue
 * per round, a task waits in that of its next turn, and CPUs take from the earliest
 * round that they can. That is what keeps the proportions on several CPUs, where with
 * one queue a task with a short turn would be back in it, and come round, more often
 * than one with a long turn. On one CPU it is the paper's queue.
 *
 * On several CPUs a round can pass while a task still has its turn on one of them.
 * Then the task is late, and has its next turn at once: it goes on, or waits in the
 * queue of the round before, from which CPUs take first. No round passes while a task
 * waits there. So a task with a share of nearly a whole CPU, which had to wait for others'
 * turns, catches up. No more than two turns are made up for: a task that misses more has a
 * share of more than a CPU, is always late and so has a CPU to itself, and the others share
 * the rest.
 *
 * Our readings where the paper is silent:
 * - A turn is share × quantum of CPU time. What a task overran (a timer tick is
 *   coarser than a quantum) is taken from its next turn.
 * - A task that blocks keeps the rest of its turn until the round ends, so that
 *   no task gets more than its share in a round by blocking (no_keep_turn: it
 *   starts a new turn).
 * - A turn in progress follows a changed share or quantum in proportion.
 * - Where no other task can use the CPU, the next turn is in the next round at most,
 *   which begins with it if no task waits on other CPUs either.
 * - A task that sleeps is as late when it returns as it was when it left.
 *
 * Cost per decision: O(1), up to two queue operations; up to eight where the tasks
 * of the current round are tied to other CPUs.
 *
 * Where it is bad: the error grows with the shares, [VTRR §2.2]: -1000..+1500
 * quanta for shares 3000, 2000, 1000, as a task gets all of its service at
 * once; every other task waits that long. Weights count as shares too: at the usual
 * 100 and a quantum of 10 ms a turn is a second long, so give small shares. Where
 * a task tied to one CPU holds a round up, the others can be six rounds ahead;
 * from then on their proportions suffer. Likewise those of tasks with a turn
 * shorter than a sixth of a tick, which they overrun by more than six turns.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "idle.bpf.h"
#include "shares.bpf.h"

/*
 * Queues: the tasks with their next turn in round r wait in DSQ r % NR_QUEUES. There is one
 * for the round before the current one, and one for each that a client can be ahead.
 */
#define NR_QUEUES 8
#define MAX_AHEAD (NR_QUEUES - 2)
/* Turns that a client can be late by. With 1, some that are due just a CPU got 0.8 % less. */
#define MAX_LATE 2

QUANTUM_TUNABLE;
const volatile bool no_keep_turn help_text("a task that blocks starts a new turn on return");

struct wrr_stats {
	u64 picks help_text("quanta begun");
	u64 kept help_text("quanta that went on with the same task's turn");
	u64 rounds help_text("rounds completed");
	u64 missed help_text("turns that tasks were too late for: their share is above one CPU");
};

struct wrr_stats stats;
u64 round_now = 1;

struct turn {
	u64 round;	/* of its last turn */
	u64 slept_in;	/* the round in which it went to sleep */
	s64 left_ns;	/* of its turn; negative: overrun */
	u64 charged_at; /* its CPU time when last charged */
	u64 share;	/* that the turn was measured by */
	u64 quantum;	/* likewise */
	bool aside;	/* a higher class took the CPU during its turn */
};

#define ENQ_HEAD kernel_value(scx_enq_flags, SCX_ENQ_HEAD)

TASK_STORAGE(turns, struct turn);

static struct turn *turn_of(struct task_struct *p)
{
	return bpf_task_storage_get(&turns, p, NULL, 0);
}

/*
 * What is left of a turn changes in proportion with the share and the quantum. It is at most
 * two turns, 2 × 10^6 × 1 s, and so that nothing overflows it is multiplied in parts.
 */
static void measure(struct turn *t, struct task_struct *p)
{
	u64 share = share_of(p), quantum = quantum_now(), left = t->left_ns;

	if (t->left_ns > 0 && t->share && t->quantum) {
		if (share != t->share)
			left = left / t->share * share + left % t->share * share / t->share;
		if (quantum != t->quantum)
			left = left / t->quantum * quantum +
			       left % t->quantum * quantum / t->quantum;
		t->left_ns = left;
	}
	t->share = share;
	t->quantum = quantum;
}

/* The client's next turn: in the round after that of its last one, if that is still open. */
static void begin_turn(struct turn *t)
{
	u64 turn_ns = t->share * t->quantum, now = round_now, round = t->round + 1;

	t->left_ns += turn_ns;
	if (round + MAX_LATE < now) {
		__sync_fetch_and_add(&stats.missed, now - MAX_LATE - round);
		round = now - MAX_LATE;
	}
	/* A turn that was overrun by more than a turn: sit some rounds out. */
	if (t->left_ns <= 0) {
		u64 skip = (u64)-t->left_ns / turn_ns + 1;

		t->left_ns += skip * turn_ns;
		round += skip;
	}
	t->round = round > now + MAX_AHEAD ? now + MAX_AHEAD : round;
}

/* Its turn is over. Is the next one in a round that has passed? */
static bool is_late(const struct turn *t)
{
	return t->round + 1 < round_now && t->left_ns + (s64)(t->share * t->quantum) > 0;
}

static bool somebody_waits(void)
{
	u64 queue;

	for (queue = 0; queue < NR_QUEUES; queue++)
		if (scx_bpf_dsq_nr_queued(queue))
			return true;
	return false;
}

static void end_rounds_before(u64 round, u64 now)
{
	if (__sync_bool_compare_and_swap(&round_now, now, round))
		__sync_fetch_and_add(&stats.rounds, round - now);
}

/* A turn that no other task could have: it takes no rounds in advance. */
static void begin_free_turn(struct turn *t)
{
	u64 now = round_now;

	begin_turn(t);
	if (t->round <= now)
		return;
	t->round = now + 1;
	if (!somebody_waits())
		end_rounds_before(now + 1, now);
}

static void charge(struct turn *t, struct task_struct *p)
{
	u64 now = p->se.sum_exec_runtime;

	t->left_ns -= now - t->charged_at;
	t->charged_at = now;
}

static u64 next_slice(const struct turn *t)
{
	return t->left_ns > 0 && (u64)t->left_ns < t->quantum ? (u64)t->left_ns : t->quantum;
}

s32 BPF_STRUCT_OPS(wrr_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = find_idle_cpu(p, prev_cpu, wake_flags, &is_idle);
	struct turn *t = turn_of(p);

	/* An idle CPU means that no task that could use it waits: the order holds. */
	if (is_idle && t)
		dsq_insert(p, DSQ_LOCAL, next_slice(t), ENQ_NONE);
	return cpu;
}

/* It was away: rounds that it slept through are lost, a debt is not. */
void BPF_STRUCT_OPS(wrr_runnable, struct task_struct *p, u64 enq_flags)
{
	struct turn *t = turn_of(p);
	u64 now = round_now, late;

	if (!t)
		return;
	measure(t, p);
	if ((t->round >= now || t->slept_in == now) && !no_keep_turn)
		return;
	if (t->left_ns > 0)
		t->left_ns = 0;
	late = t->round + 1 < t->slept_in ? t->slept_in - t->round - 1 : 0;
	t->round = now - 1 - late;
}

void BPF_STRUCT_OPS(wrr_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct turn *t = turn_of(p);
	u64 now = round_now, round;

	if (!t)
		return;
	if (t->left_ns <= 0)
		begin_turn(t);
	round = t->round < now - 1 ? now - 1 : t->round;
	if (t->aside)
		enq_flags |= ENQ_HEAD;
	t->aside = false;
	dsq_insert(p, round % NR_QUEUES, next_slice(t), enq_flags);
	kick_idle_cpu_for(p);
}

/*
 * Takes a client of the earliest round; false if none waits that may run here. A
 * round is over when no task waits in it, nor in the one before. A client that is
 * enqueued while other CPUs end a round or two can land in a queue that comes round
 * eight rounds later: rare, and it waits for no longer than those rounds take.
 */
static bool take_next(void)
{
	u64 now = round_now, ahead;
	bool over = true;

	for (ahead = 0; ahead < NR_QUEUES; ahead++) {
		u64 round = now - 1 + ahead;

		if (dsq_move_to_local(round % NR_QUEUES)) {
			if (over && ahead > 1)
				end_rounds_before(round, now);
			return true;
		}
		if (scx_bpf_dsq_nr_queued(round % NR_QUEUES))
			over = false;
	}
	return false;
}

/* This CPU may run none of those that wait, if there are any. */
static void wake_idle_cpus(void)
{
	u64 queue;

	for (queue = 0; queue < NR_QUEUES; queue++)
		wake_idle_cpu_for_queue(queue);
}

void BPF_STRUCT_OPS(wrr_dispatch, s32 cpu, struct task_struct *prev)
{
	struct turn *t = NULL;

	/* @prev used up a quantum. It goes on while its turn lasts, or if it is late. */
	if (prev && is_runnable(prev))
		t = turn_of(prev);
	if (t) {
		charge(t, prev);
		measure(t, prev);
	}
	if (t && t->left_ns <= 0 && is_late(t)) {
		begin_turn(t);
	} else if (!t || t->left_ns <= 0) {
		if (take_next())
			return;
		wake_idle_cpus();
		if (!prev)
			look_again(cpu, false);
		if (!t)
			return;
		begin_free_turn(t);
	}
	__sync_fetch_and_add(&stats.picks, 1);
	__sync_fetch_and_add(&stats.kept, 1);
	task_set_slice(prev, next_slice(t));
}

void BPF_STRUCT_OPS(wrr_running, struct task_struct *p)
{
	struct turn *t = turn_of(p);

	if (!t)
		return;
	__sync_fetch_and_add(&stats.picks, 1);
	t->charged_at = p->se.sum_exec_runtime;
	if (t->left_ns <= 0)
		begin_free_turn(t);
	if (t->quantum == quantum_now())
		return;
	/* The slice was measured when it began to wait. */
	measure(t, p);
	task_set_slice(p, next_slice(t));
}

void BPF_STRUCT_OPS(wrr_stopping, struct task_struct *p, bool runnable)
{
	struct turn *t = turn_of(p);

	if (!t)
		return;
	charge(t, p);
	t->aside = put_aside(p, runnable) && t->left_ns > 0;
}

void BPF_STRUCT_OPS(wrr_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct turn *t = turn_of(p);

	if (t)
		t->slept_in = round_now;
}

void BPF_STRUCT_OPS(wrr_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, somebody_waits());
}

s32 BPF_STRUCT_OPS(wrr_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct turn *t = bpf_task_storage_get(&turns, p, NULL, STORAGE_GET_CREATE);

	if (!t)
		return -ENOMEM;
	measure(t, p);
	return 0;
}

void BPF_STRUCT_OPS(wrr_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	forget_share_of(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(wrr_init)
{
	s32 err = 0;
	u64 queue;

	forget_idle_marks();
	for (queue = 0; queue < NR_QUEUES && !err; queue++)
		err = scx_bpf_create_dsq(queue, -1);
	return err;
}

SCX_OPS_HEED(wrr_ops, "nice, share, SCHED_IDLE, SMT, LLC, NUMA");
SCX_OPS_DEFINE(wrr_ops)
help_text("Weighted round robin: as many quanta in a row as shares") paper("VTRR §2.2") = {
	.select_cpu = (void *)wrr_select_cpu,
	.runnable = (void *)wrr_runnable,
	.enqueue = (void *)wrr_enqueue,
	.dispatch = (void *)wrr_dispatch,
	.running = (void *)wrr_running,
	.stopping = (void *)wrr_stopping,
	.quiescent = (void *)wrr_quiescent,
	.update_idle = (void *)wrr_update_idle,
	.init_task = (void *)wrr_init_task,
	.exit_task = (void *)wrr_exit_task,
	.init = (void *)wrr_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "wrr",
};
