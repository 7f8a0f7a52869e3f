/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callbacks of fair schedulers of Linux, but for their rules, which the policy that
 * includes this defines after it:
 *  - comes_awake(slot, p): the task comes, and may sleep and take part still;
 *  - ask(slot, p): reads what it asks for;
 *  - revive(slot): one that slept and took part still is awake; revives_first(): before what
 *    the running one used meanwhile is charged;
 *  - lies_down(slot): one that took part sleeps;
 *  - pick(cpu, prev): the task to run next, in the tree or @prev (0: none); 0: no task;
 *  - begin(slot, again): it was picked, again or anew;
 *  - gets_cpu(slot, cpu), gives_cpu(slot): it is about to run, and takes part there; it has run;
 *  - tick_above(slot): it runs at a tick; true: it must not go on;
 *  - is_aside(slot): it is runnable, but must not run now; not_aside(slot): that is over;
 *  - time_left(slot): CPU time until the next decision;
 *  - is_over(slot): that is at this tick;
 *  - notices(cpu, slot): what runs there was just charged, as @slot comes: it has to yield;
 *  - preempts(cpu, slot, comes_first_time): whether it preempts the task that runs there;
 *  - goes_on(): a task that is taken out where it runs and put back, as the kernel changes its
 *    nice value, CPUs or group, goes on with its turn. If that ends, has less weight than before,
 *    or is_over() before that, it yields if is_over() after it. Where a higher class takes the CPU,
 *    the rules decide anew after that;
 *  - is_lazy(): a task that runs on another CPU yields at its next tick, not at once.
 */
#ifndef ROTA_FAIR_OPS_BPF_H
#define ROTA_FAIR_OPS_BPF_H

#define DEQ_SLEEP  kernel_value(scx_deq_flags, SCX_DEQ_SLEEP)
#define PF_EXITING 4 /* of task_struct's flags */

static void comes_awake(u32 slot, struct task_struct *p);
static void ask(u32 slot, struct task_struct *p);
static void revive(u32 slot);
static bool revives_first(void);
static void lies_down(u32 slot);
static u32 pick(u32 cpu, u32 prev);
static void begin(u32 slot, bool again);
static u64 time_left(u32 slot);
static bool is_over(u32 slot);
static bool notices(u32 cpu, u32 slot);
static void gets_cpu(u32 slot, u32 cpu);
static void gives_cpu(u32 slot);
static bool tick_above(u32 slot);
static bool is_aside(u32 slot);
static void not_aside(u32 slot);
static bool preempts(u32 cpu, u32 slot, bool comes_first_time);
static bool goes_on(void);
static bool is_lazy(void);

/* The CPU is ours again. */
static void comes_back(u32 cpu, u64 now)
{
	struct cpu_queue *q = queue_of(cpu);

	if (q->away_since && now - q->away_since >= SHORT_NS)
		note_away(cpu, q->away_since, now);
	q->away_since = 0;
}

/* The client takes part in @cpu's queue from here on, and does not wait yet. */
static void enter(struct task_struct *p, u32 slot, u32 cpu)
{
	struct client *c = client_at(slot);

	comes_awake(slot, p);
	ask(slot, p);
	if (c->delayed && c->home == cpu + 1)
		revive(slot);
	else if (c->home)
		leave(slot, c->delayed);
	c->delayed = false;
	if (!c->home)
		join(slot, cpu);
}

/* No direct dispatch: of several that wake up at once the first must win. */
static void fair_enqueue(struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p), weight = weight_of(p);
	u64 now = bpf_ktime_get_ns();
	struct client *c = client_at(slot);
	struct cpu_queue *q = queue_of(cpu);
	struct arrival *a = &q->arrival;
	u32 here = bpf_get_smp_processor_id();
	bool preempt;

	bpf_spin_lock(&lock);
	time_is(now);
	if (is_aside(slot)) {
		bpf_spin_unlock(&lock);
		return;
	}
	a->comes = c->home != cpu + 1 || c->delayed; /* else it is back from the CPU */
	a->is_new = !c->known;
	a->preempts = false;
	before_change(a->comes ? slot : 0, cpu, now);
	stop_waiting(slot);
	weight = divided(slot, weight);
	if (weight != c->weight)
		reweigh(slot, weight);
	if (a->comes) {
		if (!revives_first() || !c->delayed)
			charge_clock(q->running, now);
		a->preempts = q->running && notices(cpu, slot);
		enter(p, slot, cpu);
		if (revives_first())
			charge_clock(q->running, now);
	}
	start_waiting(slot);
	if (a->comes && q->running && q->running != slot)
		a->preempts |= preempts(cpu, slot, a->is_new);
	preempt = a->preempts;
	stats.preemptions += preempt;
	if (is_lazy() && cpu != here) {
		q->gives_way |= preempt;
		preempt = false;
	}
	after_enqueue(slot, cpu, now);
	bpf_spin_unlock(&lock);
	if (!call_for(p, slot) && preempt)
		scx_bpf_kick_cpu(cpu, KICK_PREEMPT);
	after_decision(cpu);
}

void BPF_STRUCT_OPS(fair_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 prev_slot = prev && is_runnable(prev) ? slot_of(prev) : 0, slot, in_vain;
	u64 used_ns = prev_slot ? prev->se.sum_exec_runtime : 0, now = bpf_ktime_get_ns();
	u32 weight = prev_slot ? weight_of(prev) : 0;
	const struct client *vain;
	struct decision d;
	bool stays;

	bpf_spin_lock(&lock);
	time_is(now);
	if (prev_slot) {
		charge_used(prev_slot, used_ns);
		begin_charging(client_at(prev_slot), now, used_ns);
		set_weight(prev_slot, weight);
		move_in(prev_slot, cpu);
	}
	comes_back(cpu, now);
	if (!prev_slot && !queue_of(cpu)->nr_waiting)
		pull_before(cpu, now);
	stays = may_stay(prev_slot, cpu);
	if (!stays)
		gives_cpu(prev_slot);
	slot = pick(cpu, stays ? prev_slot : 0);
	if (!slot)
		slot = pull_after(cpu, now);
	stats.picks += slot != 0;
	stats.kept += slot && slot == prev_slot;
	if (slot) {
		stop_waiting(slot);
		begin(slot, slot == prev_slot);
		queue_of(cpu)->switches = slot != prev_slot;
		/* A higher class can still be faster than the one picked. */
		if (prev && slot != prev_slot)
			queue_of(cpu)->away_since = now;
	}
	in_vain = who_waits_in_vain(cpu, slot);
	vain = client_at(in_vain);
	decide(&d, slot, slot ? time_left(slot) : 0, in_vain, vain->waits && !vain->delayed);
	bpf_spin_unlock(&lock);
	carry_out(&d, cpu, prev, prev_slot);
	after_decision(cpu);
}

void BPF_STRUCT_OPS(fair_running, struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 used_ns = p->se.sum_exec_runtime, now = bpf_ktime_get_ns(), slice_ns;
	struct client *c = client_at(slot);
	bool over = false;

	bpf_spin_lock(&lock);
	time_is(now);
	before_change(slot, cpu, now);
	note_start(slot, cpu, now);
	/* It waits, or takes part elsewhere, if the kernel did not ask or a change raced. */
	not_aside(slot);
	stop_waiting(slot);
	if (c->delayed)
		take_out(slot, true);
	move_in(slot, cpu);
	ask(slot, p);
	gets_cpu(slot, cpu);
	begin_charging(c, now, used_ns);
	comes_back(cpu, now);
	queue_of(cpu)->running = slot;
	queue_of(cpu)->switches = queue_of(cpu)->gives_way = false;
	if (c->changes && goes_on()) {
		over = c->looks && queue_of(cpu)->nr > 1 && is_over(slot);
	} else {
		begin(slot, false); /* anew: others may have come, and the one before waits now */
	}
	c->changes = c->looks = c->off = false;
	slice_ns = over ? 0 : time_left(slot);
	bpf_spin_unlock(&lock);
	task_set_slice(p, slice_ns);
	if (over)
		scx_bpf_kick_cpu(cpu, KICK_PREEMPT);
}

void BPF_STRUCT_OPS(fair_stopping, struct task_struct *p, bool runnable)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 used_ns = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();
	struct cpu_queue *q = queue_of(cpu);

	bpf_spin_lock(&lock);
	time_is(now);
	before_change(slot, cpu, now);
	charge_used(slot, used_ns);
	client_at(slot)->stopped_at = now;
	client_at(slot)->off = !runnable;
	q->running = 0;
	q->away_since = now;
	gives_cpu(slot);
	bpf_spin_unlock(&lock);
	put_aside(p, runnable);
}

/* For ops.update_idle. */
static void fair_update_idle(u32 cpu, bool idle)
{
	queue_of(cpu)->away_since = idle ? 0 : bpf_ktime_get_ns();
}

static void fair_tick(struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p), pulled;
	u64 used_ns = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();
	bool over, stops;

	bpf_spin_lock(&lock);
	time_is(now);
	charge_used(slot, used_ns);
	stops = tick_above(slot);
	over = stops || queue_of(cpu)->gives_way || (queue_of(cpu)->nr > 1 && is_over(slot));
	pulled = pull_at_tick(cpu, now);
	over = over || (pulled && preempts(cpu, pulled, false));
	bpf_spin_unlock(&lock);
	after_tick(p, cpu, now);
	if (over)
		task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(fair_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 slot = slot_of(p);
	bool sleeps = deq_flags & DEQ_SLEEP;
	struct client *c = client_at(slot);
	u64 now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	time_is(now);
	before_change(slot, c->last_cpu, now);
	not_aside(slot);
	stop_waiting(slot);
	c->changes = !sleeps && c->off;
	c->looks = p->flags & PF_EXITING || (home_of(c)->nr > 1 && is_over(slot));
	if (sleeps && c->home)
		lies_down(slot);
	else
		take_out(slot, false);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(fair_set_weight, struct task_struct *p, u32 scx_weight)
{
	u32 slot = slot_of(p), weight = weight_of(p);

	bpf_spin_lock(&lock);
	set_weight(slot, weight);
	bpf_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(fair_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	slot_set_cpus(slot_of(p), p, cpumask);
}

/* It is not ours any more. */
static void fair_disable(struct task_struct *p)
{
	u32 slot = slot_of(p);
	u64 now = bpf_ktime_get_ns();

	bpf_spin_lock(&lock);
	not_aside(slot);
	take_out(slot, true);
	client_at(slot)->changes = false;
	forget(slot, now);
	bpf_spin_unlock(&lock);
}

static s32 fair_init_task(struct task_struct *p)
{
	u32 slot = slot_take(p), weight = weight_of(p);

	if (!slot)
		return -ENOMEM;
	clients[slot] = (struct client){.weight = weight};
	return 0;
}

/* A new task, in its cgroup. */
static s32 fair_new_task(struct task_struct *p, struct scx_init_task_args *args)
{
	u32 group = group_of_new(args);
	s32 err = fair_init_task(p);

	if (!err && group)
		group_move(slot_of(p), group);
	return err;
}

static void fair_exit_task(struct task_struct *p)
{
	fair_disable(p);
	forget_share_of(p);
	slot_give_back(slot_of(p));
}

/* It is gone. */
static void fair_task_gone(struct task_struct *p)
{
	u32 slot = slot_of(p);

	fair_disable(p);
	if (client_at(slot)->own.group)
		group_leave(slot);
	fair_exit_task(p);
}

void BPF_STRUCT_OPS(fair_cgroup_exit, struct cgroup *cgrp)
{
	group_exit(cgrp);
}

void BPF_STRUCT_OPS(fair_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	u32 slot = slot_of(p), group = group_of(to);

	group_move(slot, group);
}

void BPF_STRUCT_OPS(fair_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	group_set_weight(cgrp, weight);
}

#ifndef FAIR_FLAGS
#define FAIR_FLAGS SCX_OPS_KEEP_BUILTIN_IDLE
#endif

/* The callbacks that are here. */
#define FAIR_OPS                                                                          \
	.dispatch = (void *)fair_dispatch, .running = (void *)fair_running,               \
	.stopping = (void *)fair_stopping, .quiescent = (void *)fair_quiescent,           \
	.set_weight = (void *)fair_set_weight, .set_cpumask = (void *)fair_set_cpumask,   \
	.cgroup_exit = (void *)fair_cgroup_exit, .cgroup_move = (void *)fair_cgroup_move, \
	.cgroup_set_weight = (void *)fair_cgroup_set_weight, .exit = (void *)record_exit, \
	.flags = FAIR_FLAGS

#endif
