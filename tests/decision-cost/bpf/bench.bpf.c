/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes decisions of a policy in a loop, on one CPU with CPU-bound tasks, and times
 * the loop. The policy's callbacks are called as the kernel calls them, in its order,
 * with the arguments in an array on the stack, where sched_ext's trampoline has them.
 *
 * One decision is what one quantum costs: the running task's slice is used up, so
 * ops.dispatch() is called, then for the old task ops.stopping() and ops.enqueue(),
 * and for the new one ops.running(). Around it is what the core does to the fields
 * that policies read. Ticks are not called.
 */
#include "standins.bpf.h"

char bench_license[] SEC("license") = "GPL";

BENCH_HOOK(init)
BENCH_HOOK(init_task)
BENCH_HOOK(enable)
BENCH_HOOK(set_weight)
BENCH_HOOK(set_cpumask)
BENCH_HOOK(select_cpu)
BENCH_HOOK(runnable)
BENCH_HOOK(enqueue)
BENCH_HOOK(dispatch)
BENCH_HOOK(running)
BENCH_HOOK(stopping)

/* Bits of bench_has_op, in this order in src/hooks.rs. */
enum {
	HAS_INIT,
	HAS_INIT_TASK,
	HAS_ENABLE,
	HAS_SET_WEIGHT,
	HAS_SET_CPUMASK,
	HAS_SELECT_CPU,
	HAS_RUNNABLE,
	HAS_ENQUEUE,
	HAS_DISPATCH,
	HAS_RUNNING,
	HAS_STOPPING,
};

#define HAS(op)	      (bench_has_op & (1u << HAS_##op))
#define ARG(x)	      ((u64)(x))
#define MAX_PICKS     65536
#define PICK_MASK     (MAX_PICKS - 1)
#define UNBOUNDED_RUN 10000000 /* of a task whose slice does not end, then it yields */

u32 bench_picks[MAX_PICKS] BENCH_DATA;
u64 bench_decisions BENCH_DATA;

SEC("syscall")
s32 bench_init(void *args)
{
	u64 ctx[1] = {};

	bench_cpu_idle = true;
	return HAS(INIT) ? (s32)hook_init(ctx) : 0;
}

/* A task comes into being: 0, or an error number. */
SEC("syscall")
s32 bench_add(struct bench_add_args *args)
{
	struct scx_init_task_args init_args = {};
	struct bench_add_args task = *args;
	struct bench_task *slot = bpf_map_lookup_elem(&bench_tasks, &task.index);
	struct task_struct *p = (struct task_struct *)slot;
	u64 ctx[2];
	s32 err = 0;

	if (!slot || !bench_bind_task(slot, task.pid))
		return -ENOENT;
	bench_fill_task(p, &task);
	bpf_rcu_read_lock();
	ctx[0] = ARG(p);
	ctx[1] = ARG(&init_args);
	if (HAS(INIT_TASK))
		err = hook_init_task(ctx);
	if (HAS(ENABLE))
		hook_enable(ctx);
	ctx[1] = task.weight;
	if (HAS(SET_WEIGHT))
		hook_set_weight(ctx);
	bpf_rcu_read_unlock();
	return err;
}

/* ops.enqueue(), for a task that select_cpu did not dispatch already. */
__kinline void bench_enqueue(struct task_struct *p, u64 enq_flags)
{
	struct bench_dsq *global;
	u64 ctx[2];

	if (p->scx.dsq)
		return;
	ctx[0] = ARG(p);
	ctx[1] = enq_flags;
	if (HAS(ENQUEUE)) {
		hook_enqueue(ctx);
		return;
	}
	global = bench_builtin_dsq(BENCH_GLOBAL);
	p->scx.slice = SCX_SLICE_DFL;
	if (global)
		bench_insert(global, p, 0);
}

/* A task wakes up for the first time. */
SEC("syscall")
s32 bench_wake(struct bench_add_args *args)
{
	u32 index = args->index;
	struct task_struct *p = bench_task_at(index);
	u64 ctx[3];

	if (!p)
		return -ENOENT;
	bpf_rcu_read_lock();
	ctx[0] = ARG(p);
	ctx[1] = 0;
	ctx[2] = SCX_WAKE_TTWU;
	if (HAS(SELECT_CPU))
		hook_select_cpu(ctx);
	p->scx.flags |= SCX_TASK_QUEUED;
	ctx[1] = SCX_ENQ_WAKEUP;
	if (HAS(RUNNABLE))
		hook_runnable(ctx);
	bench_enqueue(p, SCX_ENQ_WAKEUP);
	bpf_rcu_read_unlock();
	return 0;
}

/* The running task has used up its slice: update_curr_scx(). */
__kinline void bench_account(struct task_struct *prev)
{
	u64 used = prev->scx.slice == SCX_SLICE_INF ? UNBOUNDED_RUN : prev->scx.slice;

	bench_now_ns += used;
	prev->scx.slice = 0;
	prev->se.sum_exec_runtime += used;
	prev->se.exec_start = bench_now_ns;
}

/* balance_one(): true if the local queue has the next task, else @prev goes on. */
__kinline bool bench_balance(struct bench_dsq *local, struct task_struct *prev)
{
	struct bench_dsq *global = bench_builtin_dsq(BENCH_GLOBAL);
	u64 ctx[2];

	if (local->first)
		return true;
	if (global && global->first && bench_consume(global))
		return true;
	if (!HAS(DISPATCH))
		return false;
	ctx[0] = 0;
	ctx[1] = ARG(prev);
	hook_dispatch(ctx);
	if (prev && prev->scx.slice)
		return false;
	return local->first || (global && global->first && bench_consume(global));
}

__kinline void bench_count(const struct task_struct *p)
{
	if (bench_recording)
		bench_picks[bench_decisions & PICK_MASK] = p->pid;
	bench_decisions++;
}

__kinline void bench_set_next(struct task_struct *next)
{
	u64 ctx[2];

	next->scx.dsq = NULL;
	next->se.exec_start = bench_now_ns;
	bench_current = bench_index_of(next);
	ctx[0] = ARG(next);
	if (HAS(RUNNING))
		hook_running(ctx);
	bench_count(next);
}

__kinline void bench_put(struct task_struct *prev, u64 enq_flags)
{
	u64 ctx[2];

	ctx[0] = ARG(prev);
	ctx[1] = true;
	if (HAS(STOPPING))
		hook_stopping(ctx);
	bench_enqueue(prev, enq_flags);
}

/*
 * One decision, as a callback of bpf_loop(), so that the verifier looks at it once.
 * Not 0: the rest would be worthless.
 */
static s64 bench_decide_once(u64 i, void *unused)
{
	struct task_struct *prev = bench_current ? bench_task_at(bench_current) : NULL, *next;
	struct bench_dsq *local = bench_builtin_dsq(BENCH_LOCAL);

	if (!local)
		return 1;
	if (prev)
		bench_account(prev);
	if (bench_balance(local, prev)) {
		if (prev)
			bench_put(prev, 0);
	} else if (prev && (prev->scx.slice || !bench_enq_last)) {
		if (!prev->scx.slice)
			prev->scx.slice = SCX_SLICE_DFL;
		bench_count(prev);
		return !!bench_failure;
	} else if (prev) {
		/* the policy wants to be asked before its last task goes on */
		bench_put(prev, SCX_ENQ_LAST);
		bench_balance(local, NULL);
	}
	next = bench_pop(local);
	if (!next) {
		bench_fail(BENCH_NOBODY, bench_decisions);
		return 1;
	}
	bench_set_next(next);
	return !!bench_failure;
}

struct bench_decide_args {
	u64 decisions;	/* in: how many to take */
	u64 elapsed_ns; /* out: time that took */
	u64 taken;	/* out */
};

/*
 * Preemption is off meanwhile, as in a callback; interrupts are not. Before 6.15 a global
 * function may not be called so (tree.bpf.h), and preemption stays on.
 */
SEC("syscall")
s32 bench_decide(struct bench_decide_args *args)
{
	u64 began, before = bench_decisions;
	u32 wanted = args->decisions;

	bpf_rcu_read_lock();
	if (!bench_preemptible)
		bpf_preempt_disable();
	began = bpf_ktime_get_ns();
	bpf_loop(wanted, bench_decide_once, NULL, 0);
	args->elapsed_ns = bpf_ktime_get_ns() - began;
	if (!bench_preemptible)
		bpf_preempt_enable();
	bpf_rcu_read_unlock();
	args->taken = bench_decisions - before;
	return bench_failure;
}
