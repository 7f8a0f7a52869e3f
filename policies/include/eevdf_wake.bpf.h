/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPU's queue a task that wakes up or is new comes into, as in Linux 7.2:
 * kernel/sched/fair.c, with the functions named. For ops.select_cpu, without the lock: what is
 * read here may be old, and any CPU is right.
 */
#ifndef ROTA_EEVDF_WAKE_BPF_H
#define ROTA_EEVDF_WAKE_BPF_H

#include "eevdf_domains.bpf.h"

const volatile bool no_sis_util
	help_text("a task that wakes up looks at every CPU for an idle one");
const volatile bool no_wa_idle help_text("an idle CPU of the waker's does not attract");
const volatile bool no_wa_weight help_text("less load at the waker's CPU does not attract");

u32 nr_idle_scan;	   /* CPUs that are worth a look */
u32 used_before[NR_SLOTS]; /* CPU + 1 where it was before prev (recent_used_cpu) */

/* What a group that is one CPU is judged by. */
struct room {
	u64 nr, left, used, runnable, pct;
};

static struct room room_of(u32 cpu)
{
	return (struct room){.nr = nr_there(cpu),
			     .left = left_of(cpu),
			     .used = use_of_up_to(cpu, FULL),
			     .runnable = averages_of(cpu)->runnable,
			     .pct = imbalance_pct};
}

/* 1 or 0. (group_is_overloaded, of a group that is one CPU) */
static u64 group_is_overloaded(const struct room *r)
{
	return is_less(1, r->nr) & (is_less(r->left * 100, r->used * r->pct) |
				    is_less(r->left * r->pct, r->runnable * 100));
}

/* 1 or 0. (group_has_capacity) */
static u64 group_lacks_room(const struct room *r)
{
	return is_less(0, r->nr) & (is_less(r->left * r->pct, r->runnable * 100) |
				    is_less(r->left * 100 - 1, r->used * r->pct));
}

static u64 is_overloaded(u32 cpu)
{
	struct room room = room_of(cpu);

	return group_is_overloaded(&room);
}

static u64 lacks_room(u32 cpu)
{
	struct room room = room_of(cpu);

	return group_lacks_room(&room);
}

static bool idles(u32 cpu)
{
	const struct cpu_queue *q = queue_of(cpu);

	return !q->running && !q->nr_waiting && !q->away_since;
}

/* Is @cpu as good as idle for a task? (choose_idle_cpu) */
static bool is_free_for(u32 slot, u32 cpu)
{
	return idles(cpu) || (has_idle_tasks_only(cpu) && !is_idle_task(client_at(slot)));
}

/* Does the waker's CPU take it? (wake_affine) */
static bool attracts(u32 slot, u32 here, u32 prev, bool sync, u32 pct)
{
	s64 mine = averages_of(here)->load, theirs = averages_of(prev)->load, now_load;
	s64 load = load_there(flat_load(slot, average_of(slot)->load), prev, bpf_ktime_get_ns());

	if (!no_wa_idle) { /* (wake_affine_idle) */
		if (idles(here) && (!has_domains() || share_cache(here, prev)))
			return !idles(prev);
		if (sync && queue_of(here)->nr + is_away(here) == 1)
			return true;
		if (idles(prev))
			return false;
	}
	if (no_wa_weight)
		return false;
	if (sync) { /* (wake_affine_weight) */
		u32 running = queue_of(here)->running;

		now_load = load_there(
			flat_load(running, average_of(running)->load), here, bpf_ktime_get_ns());
		if (now_load > mine)
			return true;
		mine -= now_load;
	}
	return (mine + load) * 100 * (s64)capacity_of(prev) <
	       (theirs - load) * (100 + (pct - 100) / 2) * (s64)capacity_of(here) + sync;
}

/*
 * The least is the best: idle ones and others with room by how much they are used, then those
 * without by load. (group_classify, update_pick_idlest)
 */
static u64 rank_for_new(u32 cpu)
{
	if (is_overloaded(cpu))
		return (2ull << 60) | relative_load(cpu);
	if (lacks_room(cpu))
		return (1ull << 60) | relative_load(cpu);
	return ((u64)!idles(cpu) << 40) | use_of(cpu);
}

/* (sched_balance_find_dst_group) */
static u32 choose_for_new(u32 slot, u32 here)
{
	u64 mine = rank_for_new(here), least = ~0ull, rank;
	u32 best = here, n, cpu;

	for (n = loop_start; n + 1 < nr_cpus && can_loop(); n++) {
		cpu = (here + 1 + n) % nr_cpus;
		rank = slot_may_use(slot, cpu) ? rank_for_new(cpu) : ~0ull;
		if (rank < least) {
			least = rank;
			best = cpu;
		}
	}
	if (!slot_may_use(slot, here))
		return best;
	if (mine >> 60 != least >> 60)
		return mine < least ? here : best;
	if (mine >> 60)
		return relative_load(here) * 100 > relative_load(best) * imbalance_pct ? best
										       : here;
	return idles(best) && !idles(here) ? best : here;
}

/* For ops.select_cpu, without the lock. (select_task_rq_fair, select_idle_sibling) */
static s32 choose_as_linux(struct task_struct *p, s32 prev, u64 wake_flags)
{
	u32 slot = slot_of(p), here = bpf_get_smp_processor_id(), cpu, other, left;
	u32 home = home_asleep(slot);
	s32 target = prev;

	slot_cpu_comes[slot & SLOT_MASK] = 0;
	if (wake_flags & WAKE_FORK && !no_balance_fork)
		return choose_for_new(slot, here);
	if (home)
		return home - 1;
	if (here != (u32)prev && slot_may_use(slot, here) &&
	    attracts(slot, here, prev, wake_flags & WAKE_SYNC, imbalance_pct))
		target = here;
	if (is_free_for(slot, target))
		return target;
	if (is_free_for(slot, prev) && slot_may_use(slot, prev))
		return prev;
	other = used_before[slot & SLOT_MASK] - 1;
	used_before[slot & SLOT_MASK] = prev + 1;
	if (other != (u32)prev && other != (u32)target && other < nr_cpus &&
	    is_free_for(slot, other) && slot_may_use(slot, other))
		return other;
	left = no_sis_util ? nr_cpus : nr_idle_scan;
	for (cpu = loop_start; cpu < nr_cpus && cpu < left && can_loop(); cpu++) {
		other = (target + 1 + cpu) % nr_cpus;
		if (is_free_for(slot, other) && slot_may_use(slot, other))
			return other;
	}
	return target;
}

#endif
