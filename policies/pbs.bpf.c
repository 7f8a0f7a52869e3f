/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Priority-based blind scheduling [PBS].
 *
 * The task that has been there for long and was served little goes first; alpha decides which of
 * the two counts more. Each decision takes the task with the greatest priority [eq. 2]
 *
 *	p = log T - alpha log S
 *
 * for one quantum: T is its sojourn time, the time since it came, S its CPU time since then.
 * alpha = 0 is first come, first served; 1 equalises slowdown, T / S, and with tasks that came
 * together is processor sharing; a large one is least attained service. With a negative alpha
 * the smallest T / S^alpha goes first [§2]: last come, first served near 0, and again least
 * attained service far from it.
 *
 * - Logarithms are binary, and exact to 2^-32 (log2.bpf.h). So p is exact to (1 + |alpha|) 2^-32,
 *   or 0.5 us of a service of 1000 s for any alpha from 1 on.
 * - T and S count since the session began [§4.1] (pbs_session.bpf.h): the first time that the
 *   task was active under this policy, or with a finite beta after an unusually long inactive
 *   period. With a negative beta inactive periods within a session do not count into T.
 * - gamma is added to the priority of the running task, or of the one that was interrupted [§5.1]:
 *   it is chosen, or computed so that the time between switches is the given part of a task's
 *   service [eq. 5].
 * - A task with kappa times the weight of nice 0 has an offset of alpha log kappa [§5.2, eq. 6].
 *   When its weight changes it keeps the priority that it has.
 * - epsilon [§5.3] adds epsilon (log T' - alpha' log S'), with the session threshold beta'.
 * - alpha is kept between bounds, as 0 and infinity starve [§3.3].
 *
 * Our readings where the paper is silent
 * - A task that was not served yet has the greatest priority of all, but for alpha = 0. Of equal
 *   priorities the task that came first wins; for a negative alpha the one that came last.
 * - Decisions are made at the ends of quanta and when a task comes: it preempts the one with
 *   the least priority on the CPUs that it may use, if its own is greater (no_preemption).
 * - Tasks that were there when the policy was loaded came then.
 * - All CPUs choose from one set of tasks.
 *
 * Cost per decision: O(n), a logarithm for each task that waits; with mode=constant two for
 * L + M + 1 of them and for up to L that came [§5.5], but O(n) where none of those compared may
 * use the CPU. O(CPUs) when a task comes.
 *
 * Where it is bad: priorities are of whole lives. With beta = +inf a task that slept for an
 * hour and then computes has the CPU to itself for a long time, and so has a new one with a
 * large alpha among old ones; a small alpha makes newcomers wait. A kernel ejects the policy when
 * a task has waited for 30 s. Many tasks, one lock and one set: with the exact mode ten thousand
 * of them take more time for decisions than for work.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"
#include "shares.bpf.h"
#include "slots.bpf.h"
#include "crowd.bpf.h"

#define DEQ_SLEEP kernel_value(scx_deq_flags, SCX_DEQ_SLEEP)

QUANTUM_TUNABLE_OF(4000000);

#include "pbs_priority.bpf.h"

enum pick_mode { MODE_EXACT, MODE_CONSTANT };
const volatile bool no_offset help_text("weights and shares count for nothing");
const volatile bool no_preemption help_text("a task that comes waits for the end of a quantum");
const volatile u32 mode help_text("the greatest priority of all, or of a constant number")
values("exact|constant") = MODE_EXACT;

struct pbs_stats {
	u64 picks help_text("quanta begun");
	u64 kept help_text("quanta that the same task got again");
	u64 preemptions help_text("tasks that came and preempted another");
	u64 sessions help_text("sessions begun");
	u64 scans help_text("decisions that compared every task");
};

struct pbs_stats stats;

struct cpu_state {
	u32 running; /* 0: none of ours */
	u32 favours; /* ran here last, wants to go on, and got no other CPU since; 0: none */
	bool gives_way;
};

struct cpu_state cpus[MAX_CPUS];
u32 nr_waiting;

#include "preemption.bpf.h"

static bool may_be_picked(u32 slot, u32 prev)
{
	return client_at(slot)->waits || slot == prev;
}

static void unfavour(u32 slot)
{
	struct cpu_state *state = &cpus[client_at(slot)->got_cpu % MAX_CPUS];

	if (state->favours == slot)
		state->favours = 0;
}

/* @slot has the bonus of @cpu now, and of no other. */
static void favour(u32 slot, u32 cpu)
{
	unfavour(slot);
	client_at(slot)->got_cpu = cpu;
	cpus[cpu % MAX_CPUS].favours = slot;
}

/*
 * Gets the bonus of @cpu: @prev, or one that waits since a thread of another class came between. A
 * kernel's own do so after a tick, and there is no switch among clients to save otherwise.
 */
static u32 favoured(u32 cpu, u32 prev)
{
	u32 slot = cpus[cpu % MAX_CPUS].favours;
	u32 is_prev = ((u64)(slot ^ prev) - 1) >> 63;

	return slot & -(client_at(slot)->waits | is_prev); /* for verifiers without a branch */
}

/* The client to run on @cpu next, one that waits or @prev (0: none); 0: none. */
static u32 pick_exact(u32 cpu, u32 prev, u64 now)
{
	u32 slot, best = prev;
	s64 best_p = prev ? priority(client_at(prev), now, 0) + knobs.gamma : 0;

	if (!nr_waiting)
		return prev;
	stats.scans++;
	for (slot = next_in_crowd(0); slot && can_loop(); slot = next_in_crowd(slot)) {
		s64 p;

		if (!client_at(slot)->waits || !slot_may_use(slot, cpu))
			continue;
		p = priority(client_at(slot), now, 0);
		if (!best || beats(p, slot, best_p, best)) {
			best = slot;
			best_p = p;
		}
	}
	return best;
}

#include "pbs_constant.bpf.h"

static u32 pick(u32 cpu, u32 prev, u64 now)
{
	u32 slot = mode == MODE_CONSTANT && nr_waiting ? pick_constant(cpu, prev, now) : 0;

	return slot ? slot : pick_exact(cpu, prev, now);
}

static u32 weight_for(struct task_struct *p)
{
	return no_offset ? NICE_0_WEIGHT : weight_of(p);
}

/* What was rounded off was in terms of the old weight. */
static void set_weight(struct client *c, u32 weight)
{
	if (weight == c->weight)
		return;
	c->weight = weight;
	if (c->session.rem)
		c->session.served_ns++;
	if (c->interactive.rem)
		c->interactive.served_ns++;
	c->session.rem = c->interactive.rem = 0;
}

static void charge(struct client *c, u64 cpu_time, u64 now)
{
	u64 ran_ns = cpu_time - c->charged_at;

	c->charged_at = cpu_time;
	c->charged_ns = now;
	if (!ran_ns)
		return;
	session_serve(&c->session, ran_ns, c->weight);
	if (epsilon)
		session_serve(&c->interactive, ran_ns, c->weight);
}

static void set_waits(struct client *c, bool waits)
{
	nr_waiting += waits - c->waits;
	c->waits = waits;
}

/* It is active, perhaps after it slept. */
static void activate(struct client *c, u64 now)
{
	u64 inactive_ns = now > c->inactive_since ? now - c->inactive_since : 0;

	if (!c->known) {
		session_begin(&c->session, now);
		session_begin(&c->interactive, now);
		stats.sessions++;
	} else if (c->inactive) {
		if (session_go_on(&c->session, &c->inactivity, knobs.beta, inactive_ns, now))
			stats.sessions++;
		if (epsilon)
			session_go_on(
				&c->interactive, &c->inactivity, epsilon_beta, inactive_ns, now);
		c->inactivity.total_ns += inactive_ns;
		c->inactivity.periods++;
	}
	c->known = true;
	c->inactive = false;
	c->comes = true;
}

static void begin_waiting(u32 slot, u64 now)
{
	set_waits(client_at(slot), true);
}

static bool may_preempt(void)
{
	return !no_preemption;
}

/* The CPU that has to give way to @slot: 1 + its number, 0: none. */
static u32 cpu_to_preempt(u32 slot, u64 now)
{
	u32 cpu, found = 0;
	s64 least = 0, p;

	read_knobs();
	if (!client_at(slot)->waits)
		return 0;
	p = priority(client_at(slot), now, 0);
	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++) {
		const struct cpu_state *state = &cpus[cpu % MAX_CPUS];
		const struct client *c = client_at(state->running);
		u64 ran_ns = now > c->charged_ns ? now - c->charged_ns : 0;
		s64 q;

		if (!state->running || state->gives_way || !slot_may_use(slot, cpu))
			continue;
		q = priority(c, now, ran_ns) + knobs.gamma;
		if (beats(p, slot, q, state->running) && (!found || q < least)) {
			found = cpu + 1;
			least = q;
		}
	}
	return taken(found);
}

/* No direct dispatch: of several that wake up at once the first must win. */
s32 BPF_STRUCT_OPS(pbs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(pbs_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 slot = slot_of(p), weight = weight_for(p);
	u64 now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	read_knobs();
	set_weight(client_at(slot), weight);
	activate(client_at(slot), now);
	crowd_add(slot);
	if (mode == MODE_CONSTANT)
		note_comer(slot);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(pbs_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_and_preempt(p);
}

void BPF_STRUCT_OPS(pbs_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 prev_slot = prev && is_runnable(prev) ? slot_of(prev) : 0, in_vain, slot;
	u64 cpu_time = prev_slot ? prev->se.sum_exec_runtime : 0, now = bpf_ktime_get_ns();
	u32 weight = prev_slot ? weight_for(prev) : 0;
	struct decision d;

	bpf_spin_lock(&lock);
	read_knobs();
	if (prev_slot) {
		charge(client_at(prev_slot), cpu_time, now);
		set_weight(client_at(prev_slot), weight);
	}
	slot = pick(cpu, favoured(cpu, prev_slot), now);
	if (slot && slot == prev_slot) {
		stats.picks++;
		stats.kept++;
		cpus[(u32)cpu % MAX_CPUS].gives_way = false;
	}
	if (slot)
		set_waits(client_at(slot), false);
	in_vain = who_waits_in_vain(cpu, slot);
	decide(&d, slot, knobs.quantum_ns, in_vain, client_at(in_vain)->waits);
	bpf_spin_unlock(&lock);
	carry_out(&d, cpu, prev, prev_slot);
}

void BPF_STRUCT_OPS(pbs_running, struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 cpu_time = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();
	struct client *c = client_at(slot);

	bpf_spin_lock(&lock);
	stats.picks++;
	set_waits(c, false); /* true still if a change of the task raced with its dispatch */
	c->charged_at = cpu_time;
	c->charged_ns = now;
	favour(slot, cpu);
	cpus[cpu % MAX_CPUS].running = slot;
	cpus[cpu % MAX_CPUS].gives_way = false;
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(pbs_stopping, struct task_struct *p, bool runnable)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 cpu_time = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	charge(client_at(slot), cpu_time, now);
	cpus[cpu % MAX_CPUS].running = 0;
	if (!slot_may_use(slot, cpu)) /* any more */
		unfavour(slot);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(pbs_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 slot = slot_of(p);
	struct client *c = client_at(slot);
	u64 now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	crowd_remove(slot);
	set_waits(c, false);
	unfavour(slot);
	if (deq_flags & DEQ_SLEEP) {
		c->inactive = true;
		c->inactive_since = now;
	}
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(pbs_update_idle, s32 cpu, bool idle)
{
	if (idle)
		look_again(cpu, nr_waiting);
}

void BPF_STRUCT_OPS(pbs_set_weight, struct task_struct *p, u32 weight)
{
	u32 slot = slot_of(p), counts = weight_for(p);

	bpf_spin_lock(&lock);
	set_weight(client_at(slot), counts);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(pbs_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

s32 BPF_STRUCT_OPS(pbs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 slot = slot_take(p);

	if (!slot)
		return -ENOMEM;
	clients[slot] = (struct client){.weight = weight_for(p)};
	return 0;
}

void BPF_STRUCT_OPS(pbs_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	forget_share_of(p);
	slot_give_back(slot_of(p));
}

s32 BPF_STRUCT_OPS(pbs_init)
{
	return slots_init();
}

SCX_OPS_HEED(pbs_ops, "nice, share, SCHED_IDLE, SMT, LLC, NUMA");
SCX_OPS_DEFINE(pbs_ops)
help_text("Configurable: by time since arrival and CPU time; alpha sets which counts more")
paper("PBS") = {
	.select_cpu = (void *)pbs_select_cpu,
	.runnable = (void *)pbs_runnable,
	.enqueue = (void *)pbs_enqueue,
	.dispatch = (void *)pbs_dispatch,
	.running = (void *)pbs_running,
	.stopping = (void *)pbs_stopping,
	.quiescent = (void *)pbs_quiescent,
	.set_weight = (void *)pbs_set_weight,
	.set_cpumask = (void *)pbs_set_cpumask,
	.update_idle = (void *)pbs_update_idle,
	.init_task = (void *)pbs_init_task,
	.exit_task = (void *)pbs_exit_task,
	.init = (void *)pbs_init,
	.exit = (void *)record_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	.name = "pbs",
};
