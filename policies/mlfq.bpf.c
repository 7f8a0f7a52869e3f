/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The basic multilevel feedback queue [CAS §3.2].
 *
 * There are m queues, Q_0 to Q_(m-1) (levels). A task that wakes up goes to the end of Q_0.
 * In Q_i it may run for 2^i q (quantum_ns); if it needs more it goes to the end of Q_(i+1),
 * from Q_(m-1) to its own end. No task in Q_(i+1) runs until Q_i is empty.
 *
 * Our readings where the paper is silent
 * - "Absolute priority" holds for a running task, too: one that comes into a queue before its own
 *   preempts it (no_preemption). The preempted task goes to the head of its queue with what is
 *   left of its quantum; its service [eq. 10] is not cut.
 * - A quantum is CPU time. What one was too long, as slices end at the kernel's timer ticks,
 *   is taken off the next one.
 * - A task that yields goes to the end of the queue that it is in, with what is left.
 * - Several CPUs take from the same queues; a task that comes preempts the task of the last queue
 *   on the CPUs that it may use.
 *
 * Cost per decision: O(m), an operation for each queue that is empty; O(CPUs) when a task comes.
 *
 * Where it is bad: a task that sleeps before its q is over stays in Q_0, and enough of them
 * starve all others for ever (a kernel ejects the policy after 30 s of that). Tasks that
 * compute for long wait for up to 2^(m-1) q of each other. Nice values and shares count for
 * nothing, and the one set of queues is a point of contention on large machines.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "idle.bpf.h"

#define MAX_LEVELS 16
#define MAX_CPUS   1024
#define ENQ_HEAD   kernel_value(scx_enq_flags, SCX_ENQ_HEAD)
#define ENQ_WAKEUP kernel_value(scx_enq_flags, SCX_ENQ_WAKEUP)

QUANTUM_TUNABLE;
const volatile u32 levels help_text("number of queues") range(1, 16) = 4;
const volatile bool no_preemption help_text("a task that comes waits for the end of a quantum");

struct mlfq_stats {
	u64 picks help_text("tasks that got a CPU, or kept it");
	u64 kept help_text("decisions for the task that ran");
	u64 demoted help_text("quanta used up: into the next queue");
	u64 preemptions help_text("tasks that came and preempted another");
};

struct mlfq_stats stats;
u32 runs_on[MAX_CPUS]; /* 1 + the level of the task that runs there; 0: none */
u32 nr_cpus;

struct task_state {
	s64 left_ns;	/* of its quantum */
	u64 charged_at; /* its CPU time when last charged */
	u32 level;
	bool runs;    /* it was on a CPU, and its place was not decided since */
	bool to_head; /* of its queue, in the enqueue that follows */
	bool yields;  /* until the next decision */
	bool comes;   /* became runnable and was not enqueued yet */
};

TASK_STORAGE(states, struct task_state);

static struct task_state *state_of(struct task_struct *p)
{
	return bpf_task_storage_get(&states, p, NULL, 0);
}

static u32 nr_levels(void)
{
	return levels < MAX_LEVELS ? levels : MAX_LEVELS;
}

static u64 quantum_of(u32 level)
{
	return quantum_now() << level % MAX_LEVELS;
}

/* A changed quantum, too, leaves no task more than a whole one. */
static u64 next_slice(struct task_state *t)
{
	u64 quantum = quantum_of(t->level);

	if (t->left_ns > 0 && (u64)t->left_ns > quantum)
		t->left_ns = quantum;
	return t->left_ns > 0 ? t->left_ns : 1;
}

static void charge(struct task_state *t, struct task_struct *p)
{
	u64 now = p->se.sum_exec_runtime;

	t->left_ns -= now - t->charged_at;
	t->charged_at = now;
}

/* Its queue from now on. True: it goes to the head, as its quantum is not over. */
static bool settle(struct task_state *t)
{
	bool yields = t->yields;

	t->runs = false;
	t->yields = false;
	if (t->left_ns > 0)
		return !yields;
	if (t->level + 1 < nr_levels())
		t->level++;
	__sync_fetch_and_add(&stats.demoted, 1);
	t->left_ns += quantum_of(t->level);
	return false;
}

static void begin(struct task_state *t, s32 cpu)
{
	t->runs = true;
	t->to_head = false;
	t->comes = false;
	runs_on[(u32)cpu % MAX_CPUS] = t->level + 1;
}

static bool wake_idle_cpu_for(struct task_struct *p)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, KICK_IDLE);
	return cpu >= 0;
}

/* The CPU on which a task of Q_0 would replace that of the last queue; -1: none. */
static s32 cpu_to_preempt(struct task_struct *p)
{
	u32 cpu, most = 1; /* Q_0 + 1 */
	s32 found = -1;

	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++) {
		u32 level = runs_on[cpu % MAX_CPUS];

		if (level <= most || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		most = level;
		found = cpu;
	}
	return found;
}

s32 BPF_STRUCT_OPS(mlfq_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = find_idle_cpu(p, prev_cpu, wake_flags, &is_idle);

	/* An idle CPU means that no task that could use it waits: the order holds. */
	if (is_idle)
		dsq_insert(p, DSQ_LOCAL, quantum_of(0), ENQ_NONE);
	return cpu;
}

/* One that wakes up, or is new, begins in Q_0; one that was only changed goes on where it was. */
void BPF_STRUCT_OPS(mlfq_runnable, struct task_struct *p, u64 enq_flags)
{
	struct task_state *t = state_of(p);

	if (!t)
		return;
	t->runs = false;
	if (!(enq_flags & ENQ_WAKEUP) && t->left_ns > 0)
		return;
	t->level = 0;
	t->left_ns = quantum_of(0);
	t->comes = true;
}

void BPF_STRUCT_OPS(mlfq_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_state *t = state_of(p);
	s32 victim = -1;

	if (!t)
		return;
	if (t->runs) { /* another class took the CPU, without a decision of ours */
		charge(t, p);
		t->to_head = settle(t);
	}
	if (t->to_head)
		enq_flags |= ENQ_HEAD;
	t->to_head = false;
	dsq_insert(p, t->level, next_slice(t), enq_flags);
	if (wake_idle_cpu_for(p))
		return;
	if (t->comes && !no_preemption)
		victim = cpu_to_preempt(p);
	t->comes = false;
	if (victim < 0)
		return;
	runs_on[(u32)victim % MAX_CPUS] = 1; /* the next one that comes looks elsewhere */
	__sync_fetch_and_add(&stats.preemptions, 1);
	scx_bpf_kick_cpu(victim, KICK_PREEMPT);
}

/* Takes the first of the first queue that is not empty, of those before @end. */
static bool take_next(u32 end)
{
	u32 level;

	for (level = 0; level < MAX_LEVELS && level < end; level++)
		if (dsq_move_to_local(level))
			return true;
	return false;
}

static bool somebody_waits(void)
{
	u32 level;

	for (level = 0; level < MAX_LEVELS && level < nr_levels(); level++)
		if (scx_bpf_dsq_nr_queued(level))
			return true;
	return false;
}

/* This CPU may run none of those that wait, if there are any. */
static void wake_idle_cpus(void)
{
	u32 level;

	for (level = 0; level < MAX_LEVELS && level < nr_levels(); level++)
		wake_idle_cpu_for_queue(level);
}

/*
 * @prev is not queued yet. In its queue it would be the first if its quantum is not over, so
 * only queues before that count, else the last, behind all others there.
 */
void BPF_STRUCT_OPS(mlfq_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_state *t = prev && is_runnable(prev) ? state_of(prev) : NULL;

	if (!t) {
		if (take_next(nr_levels()))
			return;
		wake_idle_cpus();
		if (!prev)
			look_again(cpu, false);
		return;
	}
	charge(t, prev);
	t->to_head = settle(t);
	if (take_next(t->to_head ? t->level : t->level + 1))
		return;
	wake_idle_cpus();
	__sync_fetch_and_add(&stats.picks, 1);
	__sync_fetch_and_add(&stats.kept, 1);
	begin(t, cpu);
	task_set_slice(prev, next_slice(t));
}

void BPF_STRUCT_OPS(mlfq_running, struct task_struct *p)
{
	struct task_state *t = state_of(p);

	if (!t)
		return;
	__sync_fetch_and_add(&stats.picks, 1);
	t->charged_at = p->se.sum_exec_runtime;
	begin(t, scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(mlfq_stopping, struct task_struct *p, bool runnable)
{
	struct task_state *t = state_of(p);

	if (t)
		charge(t, p);
	runs_on[(u32)scx_bpf_task_cpu(p) % MAX_CPUS] = 0;
	put_aside(p, runnable);
}

bool BPF_STRUCT_OPS(mlfq_yield, struct task_struct *from, struct task_struct *to)
{
	struct task_state *t = state_of(from);

	if (to || !t)
		return false;
	t->yields = true;
	task_set_slice(from, 0);
	return true;
}

void BPF_STRUCT_OPS(mlfq_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, somebody_waits());
}

s32 BPF_STRUCT_OPS(mlfq_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return bpf_task_storage_get(&states, p, NULL, STORAGE_GET_CREATE) ? 0 : -ENOMEM;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(mlfq_init)
{
	s32 err = 0;
	u32 level;

	forget_idle_marks();
	nr_cpus = scx_bpf_nr_cpu_ids();
	if (nr_cpus > MAX_CPUS) {
		policy_error("%llu CPUs: this policy supports up to 1024", nr_cpus);
		return -E2BIG;
	}
	for (level = 0; level < nr_levels() && !err; level++)
		err = scx_bpf_create_dsq(level, -1);
	return err;
}

SCX_OPS_HEED(mlfq_ops, "SMT, LLC, NUMA");
SCX_OPS_DEFINE(mlfq_ops)
help_text("Multilevel feedback queue: a task that computes for long sinks, and has longer quanta")
paper("CAS §3.2") = {
	.select_cpu = (void *)mlfq_select_cpu,
	.runnable = (void *)mlfq_runnable,
	.enqueue = (void *)mlfq_enqueue,
	.dispatch = (void *)mlfq_dispatch,
	.running = (void *)mlfq_running,
	.stopping = (void *)mlfq_stopping,
	.yield = (void *)mlfq_yield,
	.update_idle = (void *)mlfq_update_idle,
	.init_task = (void *)mlfq_init_task,
	.init = (void *)mlfq_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "mlfq",
};
