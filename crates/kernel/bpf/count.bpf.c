/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts what the scheduler does, for a reader that needs no event: an event costs as much as a few
 * additions here, and nothing there.
 *
 *   record_begin.bpf.h whom to count
 *   count.bpf.h        what the reader sees
 *   count_cpus.bpf.h   what CPUs do
 *   count_tasks.bpf.h  what tasks do
 *
 * Times and states are those of record.bpf.c. Of one task all is written by who has the lock of its
 * run queue; what it does is exchanged as a whole, so that a task which waits is counted once.
 */
#include "count_tasks.bpf.h"

/* Of sched_switch's prev_state. */
#define TASK_DEAD 0x80

__kinline u64 doing(u64 now, u64 what)
{
	return now << DOES_BITS | what;
}

/* Since `does` until now. */
__kinline u64 lasted(u64 does, u64 now)
{
	return grown(does >> DOES_BITS, now);
}

__kinline bool waits_in(u64 does)
{
	u64 what = does & DOES_MASK;

	return what == WAITS || what == WOKEN;
}

/*
 * Some kernels hide switches of some tasks: whoever ran here, besides @prev, does so no more. What
 * it does instead nobody knows.
 */
__kinline void end_missed(const struct place *prev, u64 now)
{
	u32 id = bpf_get_smp_processor_id();
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &id);
	struct place *missed;
	u64 was;

	if (!cpu || !cpu->place || (prev && prev->number == cpu->place))
		return;
	missed = place_of(cpu->place);
	if (!missed || missed->runs_on != id)
		return;
	was = *(volatile u64 *)&missed->does;
	if ((was & DOES_MASK) == RUNS &&
	    __sync_val_compare_and_swap(&missed->does, was, doing(now, SLEEPS)) == was)
		missed->run_ns += lasted(was, now);
}

SEC("tp_btf/sched_switch")
int on_switch(u64 *ctx)
{
	bool preempt = ctx[0], left_wait = false, began_wait = false, dead = false, sleeps = false;
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct place *old = find(prev), *new = find(next);
	u64 now = bpf_ktime_get_ns(), was, left_tie = 0, began_tie = 0, missed_tie;
	u32 prev_state = ctx[3];

	end_missed(old, now);
	if (old) {
		/* Some kernels report the state of a task that a signal kept from sleeping. */
		dead = !preempt && prev_state & TASK_DEAD;
		sleeps = dead || (!preempt && prev_state && prev->__state);
		began_wait = !sleeps;
		missed_tie = old->tie;
		if (began_wait)
			old->tie = began_tie = tie_of(prev);
		was = __sync_lock_test_and_set(&old->does, doing(now, sleeps ? SLEEPS : WAITS));
		if ((was & DOES_MASK) == RUNS)
			old->run_ns += lasted(was, now);
		/* Its switch to this CPU was not to be seen. */
		else if (waits_in(was))
			change_waits_for(missed_tie, -1, now);
	}
	if (new) {
		if (new->task_group != task_group_of(next))
			describe(new, next, next->comm);
		left_tie = new->tie;
		was = __sync_lock_test_and_set(&new->does, doing(now, RUNS));
		left_wait = waits_in(was);
		if (left_wait)
			new->delay_ns += lasted(was, now);
		new->switches++;
		new->runs_on = bpf_get_smp_processor_id();
		if ((was & DOES_MASK) == WOKEN)
			count_latency(new, lasted(was, now));
	}
	/* Mostly one begins to wait as another ends. */
	if (!(began_wait && left_wait && began_tie == left_tie)) {
		if (began_wait)
			change_waits_for(began_tie, 1, now);
		if (left_wait)
			change_waits_for(left_tie, -1, now);
	}
	switch_cpu(old, !prev->pid, new, !next->pid, now);
	if (old && dead)
		old->flags |= HAS_ENDED;
	return 0;
}

SEC("tp_btf/sched_waking")
int before_wakeup(u64 *ctx)
{
	struct place *place = find((void *)ctx[0]);

	if (place)
		place->waking_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * The task is on a run queue now. The wakeup began before, maybe on another CPU, but not before the
 * task had left its own. One that was woken before it did so simply goes on.
 */
__kinline void woken(struct task_struct *p, bool is_new)
{
	struct place *place = find(p);
	u64 was, since;

	if (!place || (!is_new && read_int(p->on_cpu)))
		return;
	was = *(volatile u64 *)&place->does;
	if ((was & DOES_MASK) != SLEEPS)
		return;
	since = is_new || !place->waking_ns ? bpf_ktime_get_ns() : place->waking_ns;
	place->waking_ns = 0;
	if (since < was >> DOES_BITS)
		since = was >> DOES_BITS;
	place->tie = tie_of(p);
	if (__sync_val_compare_and_swap(&place->does, was, doing(since, WOKEN)) == was)
		change_waits_for(place->tie, 1, since);
}

SEC("tp_btf/sched_wakeup")
int on_wakeup(u64 *ctx)
{
	woken((void *)ctx[0], false);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int on_wakeup_new(u64 *ctx)
{
	woken((void *)ctx[0], true);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int on_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];

	if (config.only_tree && (bpf_task_storage_get(&tasks, parent, NULL, 0) ||
				 (config.spawn && (u32)parent->pid == reader_thread)))
		add(child);
	return 0;
}

SEC("tp_btf/task_rename")
int on_rename(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct place *place = find(p);

	/* The task still has its old name. */
	if (place)
		describe(place, p, (const char *)ctx[1]);
	return 0;
}

/* What all tasks do at the beginning, unless something was seen of them before. */
SEC("iter/task")
int snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct place *place;
	u64 what = SLEEPS, now;

	if (!p || !wanted(p))
		return 0;
	if (config.only_tree && (!config.root_pid || !descends(p)))
		return 0;
	if (read_int(p->on_cpu))
		what = RUNS;
	else if (read_int(p->on_rq) && !read_int(p->se.sched_delayed))
		what = WAITS;
	/* Those that sleep have a place when they wake up; of a tree, from now on. */
	if (what == SLEEPS && !config.only_tree)
		return 0;
	place = add(p);
	if (!place || what == SLEEPS)
		return 0;
	now = bpf_ktime_get_ns();
	if (what == RUNS)
		place->cpu = p->thread_info.cpu;
	else
		place->tie = tie_of(p);
	if (!__sync_val_compare_and_swap(&place->does, 0, doing(now, what)) && what == WAITS)
		change_waits_for(place->tie, 1, now);
	return 0;
}
