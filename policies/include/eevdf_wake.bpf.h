/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPU's queue a client comes into that wakes up or is new, as in Linux 7.2:
 * kernel/sched/fair.c, whose functions are named. For ops.select_cpu, without the lock: what is
 * read here may be old, and any CPU is right.
 */
#ifndef ROTA_EEVDF_WAKE_BPF_H
#define ROTA_EEVDF_WAKE_BPF_H

#define WAKE_SYNC kernel_value(scx_wake_flags, SCX_WAKE_SYNC)

const volatile bool no_sis_util help_text("who wakes up looks at every CPU for an idle one");
const volatile bool no_wa_idle help_text("an idle CPU of the waker's does not attract");
const volatile bool no_wa_weight help_text("less load at the waker's CPU does not attract");

u32 nr_idle_scan; /* CPUs that are worth a look */

static bool idles(u32 cpu)
{
	const struct cpu_queue *q = queue_of(cpu);

	return !q->running && !q->nr_waiting;
}

/* Does the waker's CPU take it? (wake_affine) */
static bool attracts(u32 slot, u32 here, u32 prev, bool sync)
{
	s64 mine = averages_of(here)->load, theirs = averages_of(prev)->load, now_load;
	s64 load = average_of(slot)->load;

	if (!no_wa_idle) { /* (wake_affine_idle) */
		if (idles(here))
			return !idles(prev);
		if (sync && queue_of(here)->nr == 1)
			return true;
		if (idles(prev))
			return false;
	}
	if (no_wa_weight)
		return false;
	if (sync) { /* (wake_affine_weight) */
		now_load = average_of(queue_of(here)->running)->load;
		if (now_load > mine)
			return true;
		mine -= now_load;
	}
	return (mine + load) * 100 < (theirs - load) * (100 + (imbalance_pct - 100) / 2) + sync;
}

/* For ops.select_cpu, without the lock. (select_task_rq_fair, select_idle_sibling) */
static s32 choose_as_linux(struct task_struct *p, s32 prev, u64 wake_flags)
{
	u32 slot = slot_of(p), here = bpf_get_smp_processor_id(), cpu, other, left;
	const struct client *c = client_at(slot);
	s32 target = prev;

	slot_cpu_comes[slot & SLOT_MASK] = 0;
	if (c->delayed && slot_may_use(slot, c->home - 1))
		return c->home - 1;
	if (here != (u32)prev && slot_may_use(slot, here) &&
	    attracts(slot, here, prev, wake_flags & WAKE_SYNC))
		target = here;
	if (idles(target))
		return target;
	if (idles(prev) && slot_may_use(slot, prev))
		return prev;
	left = no_sis_util ? nr_cpus : nr_idle_scan;
	if (wake_flags & WAKE_FORK && !no_balance_fork)
		left = nr_cpus;
	for (cpu = loop_start; cpu < nr_cpus && cpu < left && can_loop(); cpu++) {
		other = (target + 1 + cpu) % nr_cpus;
		if (idles(other) && slot_may_use(slot, other))
			return other;
	}
	if (wake_flags & WAKE_FORK && !no_balance_fork) {
		/* (sched_balance_find_dst_group) */
		other = least_loaded_cpu(slot, here);
		if (averages_of(here)->load * 100 > averages_of(other)->load * imbalance_pct)
			return other;
		return here;
	}
	return target;
}

#endif
