/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The O(1) scheduler of Linux 2.6.0 to 2.6.22 [O1CFS §2.1].
 *
 * Each CPU has a run queue of two arrays, with a list of tasks for each priority and a
 * bitmap of the lists that are not empty. It runs the first task of the highest priority
 * in the active array. When its time slice ends, a task gets the next one and goes into
 * the expired array. When the active array is empty, the two change places.
 *
 * - Static priority: 100 for nice -20 to 139 for nice 19. The base time slice in ms is
 *   (140 - static priority) × 20 for those above 120, × 5 for the others.
 * - Bonus (no_bonus): floor(average sleep / 100 ms) - 5. Time asleep adds to the average, up
 *   to 1 s; time run takes off as much, divided by the bonus + 5 (no_slow_decay: as much). One
 *   sleep makes a task just interactive at most (no_sleep_ceiling). A part of the time between
 *   a wakeup and running counts as sleep (runqueue_credit_percent).
 * - Dynamic priority: max(100, min(static priority - bonus, 139)).
 * - Interactive (no_interactive): bonus >= static priority / 4 - 28. Such a task stays in
 *   the active array when its slice ends, unless the eldest expired task has waited for
 *   starvation_limit_ns × the tasks there, or a better static priority waits in
 *   the expired array (no_starvation_limit). It goes behind those of its priority
 *   each granularity (no_granularity): 10 ms × 2^(4 - bonus) × CPUs.
 * - A task that wakes up preempts a lower dynamic priority (no_preemption).
 * - A CPU without tasks pulls one; one with fewer than another pulls each balance_ns, as
 *   Linux 2.6.0 does: half the difference, if that is a quarter (no_balance).
 * - A new task has half of what was left of its parent's slice (no_fork_split), and
 *   child_penalty percent of its average sleep. When it ends within that slice the parent
 *   gets the rest back. A task that yields goes into the expired array.
 *
 * Our readings
 * - Times are CPU times, not ticks met. What a slice was too long, as slices end at the
 *   kernel's timer ticks, is taken off the next one.
 * - Real-time priorities, 0 to 99, are classes above sched_ext: those lists are not here.
 * - The paper has one CPU, and gives no rule for averages: both are Linux 2.6.22's.
 *
 * Left out, as sched_ext does not report it: which wakeups came from interrupts (their whole wait
 * counted as sleep in 2.6), and SCHED_BATCH. A forked child does not go before its parent.
 * Loads are numbers of tasks: weighing them by slice came with 2.6.18. docs/shipped-policies.md
 * goes through 2.6's rules one by one.
 *
 * Cost per decision: O(1); O(CPUs) where a CPU has nothing to run or balances, with 32 steps at
 * most on each for tasks that may not be pulled. One lock for all CPUs, where 2.6 has one for
 * each.
 *
 * Where it is bad: with N busy tasks each waits for the others' slices, 100 ms each, so 300 of
 * them are too many for sched_ext's watchdog of 30 s. A task that looks interactive starves others
 * for seconds, the longer the more tasks there are. Proportions by nice value jump at nice 0 (-1
 * has four times 0's slice), and hold on one CPU only: three tasks on two CPUs get 1, 1/2, 1/2.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "slots.bpf.h"

#define ENQ_WAKEUP kernel_value(scx_enq_flags, SCX_ENQ_WAKEUP)
#define DEQ_SLEEP  kernel_value(scx_deq_flags, SCX_DEQ_SLEEP)

const volatile u64 timeslice_ns help_text("time slice of nice 0; those of others in proportion")
unit(ns) range(1000000, 1000000000) = 100000000;
const volatile u64 granularity_ns
	help_text("turn of the most interactive among equals; others' are 2, 4, 8 … times as long")
	unit(ns) range(1000000, 1000000000) = 10000000;
const volatile u64 starvation_limit_ns
	help_text("wait of the expired tasks, for each task, that ends interactive ones' privilege")
	unit(ns) range(1000000, 100000000000) = 1000000000;
const volatile u64 balance_ns
	help_text("time between a busy CPU's attempts to pull tasks from others") unit(ns)
	range(1000000, 10000000000) = 200000000;
const volatile u64 cache_hot_ns
	help_text("a busy CPU pulls no task that ran less than this time ago") unit(ns)
	range(0, 1000000000) = 2500000;
const volatile u32 runqueue_credit_percent
	help_text("of the time from a wakeup to running, what counts as sleep") range(0, 100) = 30;
const volatile u32 child_penalty
	help_text("percent of its parent's average sleep that a new task has") range(0, 100) = 95;
const volatile bool no_bonus help_text("sleep changes no priority");
const volatile bool no_sleep_ceiling help_text("one long sleep can give the whole bonus");
const volatile bool no_slow_decay
	help_text("time run takes all of its length off the average sleep");
const volatile bool no_interactive
	help_text("every task that used up its slice goes to the expired");
const volatile bool no_starvation_limit help_text("interactive tasks never wait for the expired");
const volatile bool no_granularity help_text("slices of interactive tasks are not divided");
const volatile bool no_preemption help_text("a task that wakes up waits for the next decision");
const volatile bool no_balance help_text("only CPUs with nothing to run pull tasks");
const volatile bool no_fork_split help_text("new tasks have a slice of their own");

struct o1_stats {
	u64 picks help_text("decisions that picked a task");
	u64 kept help_text("decisions for the task that ran");
	u64 expired help_text("time slices used up");
	u64 requeued help_text("of these, into the active array again: interactive");
	u64 starving help_text("interactive, but into the expired array, as that starved");
	u64 switches help_text("times that the arrays changed places");
	u64 turns help_text("interactive tasks that went behind those of their priority");
	u64 preemptions help_text("tasks that came and preempted another");
	u64 pulled help_text("tasks that a CPU with nothing to run took from another one");
	u64 moved help_text("tasks that a busy CPU took from a busier one");
};

struct o1_stats stats;

#include "o1_priority.bpf.h"
#include "o1_arrays.bpf.h"
#include "o1_balance.bpf.h"

static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;
static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
u64 scx_bpf_now(void) __ksym __weak;

static u64 now_ns(void)
{
	return kernel_has_func(scx_bpf_now) ? scx_bpf_now() : bpf_ktime_get_ns();
}

/* Is it @current that forks @p? Its slot; 0: no, or none that we know. */
static u32 parent_of(struct task_struct *p, struct task_struct *current)
{
	struct slot_ref *ref;
	s32 parent = 0;

	bpf_probe_read_kernel(&parent, sizeof(parent), &p->real_parent->tgid);
	if (parent != current->tgid && p->tgid != current->tgid)
		return 0;
	ref = bpf_task_storage_get(&slot_refs, current, NULL, 0);
	return ref ? ref->slot & SLOT_MASK : 0;
}

/* No direct dispatch: of several that wake up at once the best must win. */
s32 BPF_STRUCT_OPS(o1_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(o1_runnable, struct task_struct *p, u64 enq_flags)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u64 now = now_ns(), cpu_time = 0;
	u32 slot = slot_of(p), parent = 0;
	struct client *c = client_at(slot);
	s64 slice_ns = 0;

	if (c->is_forked && current) {
		parent = parent_of(p, current);
		cpu_time = current->se.sum_exec_runtime;
	}
	bpf_spin_lock(&lock);
	if (parent && client_at(parent)->runs)
		slice_ns = forked(c, parent, cpu_time);
	else if (enq_flags & ENQ_WAKEUP && !c->is_new)
		woken(c, now);
	if (c->left_ns <= 0)
		refill(c);
	c->comes = true;
	c->runs = false;
	c->is_new = false;
	c->is_forked = false;
	bpf_spin_unlock(&lock);
	if (current && slice_ns > 0)
		task_set_slice(current, slice_ns);
}

void BPF_STRUCT_OPS(o1_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_of(p), cpu = (u32)scx_bpf_task_cpu(p) % MAX_CPUS;
	u64 cpu_time = p->se.sum_exec_runtime, now = now_ns();
	struct run_queue *rq = run_queue_of(cpu);
	struct client *c = client_at(slot);
	bool preempts = false;

	bpf_spin_lock(&lock);
	unlink_client(slot);
	if (c->runs) { /* another class took the CPU, without a decision of ours */
		charge(c, cpu_time);
		settle(rq, c, now);
	}
	if (c->comes || c->cpu != cpu) {
		c->array = rq->active;
		c->to_head = false;
		preempts = !no_preemption && rq->current && c->prio < client_at(rq->current)->prio;
	}
	c->comes = false;
	c->cpu = cpu;
	link_client(slot);
	bpf_spin_unlock(&lock);
	if (call_idle_cpu(p, slot) || !preempts)
		return;
	__sync_fetch_and_add(&stats.preemptions, 1);
	scx_bpf_kick_cpu(cpu, KICK_PREEMPT);
}

/* Gives @cpu to a client, which was waiting or ran there before. */
static void begin(struct run_queue *rq, u32 cpu, u32 slot, u64 now)
{
	struct client *c = client_at(slot);

	unlink_client(slot);
	rq->current = slot;
	c->cpu = cpu;
	c->runs = true;
	if (c->credit)
		slept(c, (now - c->came_at) * runqueue_credit_percent / 100);
	c->credit = false;
	c->turn_left = left_at_turn(c);
}

void BPF_STRUCT_OPS(o1_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 prev_slot = prev && is_runnable(prev) ? slot_of(prev) : 0, slot, in_vain;
	u64 cpu_time = prev_slot ? prev->se.sum_exec_runtime : 0, now = now_ns();
	struct run_queue *rq = run_queue_of(cpu);
	struct client *c;
	struct decision d;

	bpf_spin_lock(&lock);
	if (prev_slot) {
		charge(client_at(prev_slot), cpu_time);
		settle(rq, client_at(prev_slot), now);
	}
	slot = pick(rq, prev_slot);
	if (!slot) {
		slot = pull_for_idle(cpu, cpu_comes_for[(u32)cpu % MAX_CPUS] & SLOT_MASK);
		stats.pulled += !!slot;
	}
	c = client_at(slot);
	rq->current = 0;
	if (slot) {
		stats.picks++;
		stats.kept += slot == prev_slot;
		begin(rq, cpu, slot, now);
	}
	in_vain = who_waits_in_vain(cpu, slot);
	decide(&d, slot, c->left_ns - c->turn_left, in_vain, client_at(in_vain)->waits);
	bpf_spin_unlock(&lock);
	carry_out(&d, cpu, prev, prev_slot);
}

void BPF_STRUCT_OPS(o1_running, struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = (u32)scx_bpf_task_cpu(p) % MAX_CPUS;
	struct client *c = client_at(slot);
	u64 cpu_time = p->se.sum_exec_runtime;

	bpf_spin_lock(&lock);
	unlink_client(slot); /* it waits if a change of the task raced with its dispatch */
	c->charged_at = cpu_time;
	c->cpu = cpu;
	c->runs = true;
	run_queue_of(cpu)->current = slot;
	run_queue_of(cpu)->awake = true;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(o1_stopping, struct task_struct *p, bool runnable)
{
	u32 slot = slot_of(p), cpu = (u32)scx_bpf_task_cpu(p) % MAX_CPUS;
	u64 cpu_time = p->se.sum_exec_runtime, now = now_ns();
	struct run_queue *rq = run_queue_of(cpu);
	struct client *c = client_at(slot);

	bpf_spin_lock(&lock);
	charge(c, cpu_time);
	if (!runnable)
		count_run(c);
	c->stopped_at = now;
	if (rq->current == slot)
		rq->current = 0;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(o1_tick, struct task_struct *p)
{
	u32 cpu = (u32)scx_bpf_task_cpu(p) % MAX_CPUS;
	struct run_queue *rq = run_queue_of(cpu);
	bool preempts = false;
	u64 now = now_ns();

	if (no_balance || now - rq->balanced_at < balance_ns)
		return;
	bpf_spin_lock(&lock);
	rq->balanced_at = now;
	preempts = pull_for_balance(cpu, now);
	bpf_spin_unlock(&lock);
	if (preempts)
		scx_bpf_kick_cpu(cpu, KICK_PREEMPT);
}

void BPF_STRUCT_OPS(o1_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 slot = slot_of(p);
	struct client *c = client_at(slot);
	u64 now = now_ns();
	bool idled = p->__state == UNINTERRUPTIBLE;

	bpf_spin_lock(&lock);
	unlink_client(slot);
	if (deq_flags & DEQ_SLEEP) {
		c->slept_at = now;
		c->idled = idled;
	}
	bpf_spin_unlock(&lock);
}

bool BPF_STRUCT_OPS(o1_yield, struct task_struct *from, struct task_struct *to)
{
	if (to)
		return false;
	client_at(slot_of(from))->yields = true;
	task_set_slice(from, 0);
	return true;
}

void BPF_STRUCT_OPS(o1_update_idle, s32 cpu, bool idle)
{
	run_queue_of(cpu)->awake = !idle;
	if (idle)
		look_again(cpu, nr_waiting);
}

void BPF_STRUCT_OPS(o1_set_weight, struct task_struct *p, u32 weight)
{
	u32 slot = slot_of(p), static_prio = static_prio_of(p);
	struct client *c = client_at(slot);
	bool waits;

	bpf_spin_lock(&lock);
	waits = c->waits;
	unlink_client(slot);
	c->static_prio = static_prio;
	c->prio = effective_prio(c);
	if (c->is_new)
		c->left_ns = time_slice(c);
	if (waits)
		link_client(slot);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(o1_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

s32 BPF_STRUCT_OPS(o1_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 slot = slot_take(p);
	struct client *c = client_at(slot);

	if (!slot)
		return -ENOMEM;
	*c = (struct client){.static_prio = static_prio_of(p), .life = c->life + 1};
	c->is_new = true;
	c->is_forked = args->fork;
	c->prio = effective_prio(c);
	c->left_ns = time_slice(c);
	return 0;
}

void BPF_STRUCT_OPS(o1_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	unlink_client(slot);
	exited(client_at(slot));
	bpf_spin_unlock(&lock);
	slot_give_back(slot);
}

s32 BPF_STRUCT_OPS(o1_init)
{
	return slots_init();
}

SCX_OPS_HEED(o1_ops, "nice, SMT, LLC, NUMA");
SCX_OPS_STANDS_FOR(o1_ops, "Linux 2.6's O(1) scheduler");
SCX_OPS_DEFINE(o1_ops)
help_text("Linux 2.6's O(1): priorities by nice value and sleep, active and expired arrays")
paper("O1CFS §2.1") = {
	.select_cpu = (void *)o1_select_cpu,
	.runnable = (void *)o1_runnable,
	.enqueue = (void *)o1_enqueue,
	.dispatch = (void *)o1_dispatch,
	.running = (void *)o1_running,
	.tick = (void *)o1_tick,
	.stopping = (void *)o1_stopping,
	.quiescent = (void *)o1_quiescent,
	.yield = (void *)o1_yield,
	.set_weight = (void *)o1_set_weight,
	.set_cpumask = (void *)o1_set_cpumask,
	.update_idle = (void *)o1_update_idle,
	.init_task = (void *)o1_init_task,
	.exit_task = (void *)o1_exit_task,
	.init = (void *)o1_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "o1",
};
