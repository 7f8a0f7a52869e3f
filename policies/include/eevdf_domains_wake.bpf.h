/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPU's queue a task that wakes up or is new comes into, where there are several domains:
 * kernel/sched/fair.c of Linux 7.2, with the functions named. For ops.select_cpu, without the
 * lock. At exec, sched_ext leaves a task where it is.
 */
#ifndef ROTA_EEVDF_DOMAINS_WAKE_BPF_H
#define ROTA_EEVDF_DOMAINS_WAKE_BPF_H

#define PF_KTHREAD   0x00200000 /* of task_struct's flags */
#define CORE_IS_IDLE (1u << 16)
#define A_SECOND     1000000000ull

static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;

/* Of a task, and of an idle CPU, whose interrupts wake tasks: place as in the lists. */
struct waker {
	u64 halved_at;
	u32 last, flips; /* how often it woke another than the last time (wakee_flips) */
};

/* For an idle CPU among those of a cache. */
struct scan {
	u32 left;    /* CPUs that are worth a look */
	u32 nr_near; /* those of the own cluster, which come first */
	u32 idle;    /* CPU + 1 that is, in a core that is not */
	bool cores;  /* it is for an idle core */
};

/* Of a CPU that places a task. */
struct placing {
	struct group_stats one, local, idlest;
	struct scan scan;
};

struct waker wakers[LIST_PLACE];
struct placing placings[MAX_CPUS];

static struct placing *placing_of(u32 cpu)
{
	return &placings[INDEX(cpu, MAX_CPUS)];
}

static struct waker *waker_at(u32 slot)
{
	return &wakers[INDEX(slot, LIST_PLACE)];
}

/* (record_wakee) */
static void note_wakeup(struct waker *w, u32 slot, u64 now)
{
	if (now - w->halved_at > A_SECOND) {
		w->flips >>= 1;
		w->halved_at = now;
	}
	w->flips += w->last != slot;
	w->last = slot;
}

/* Do both have more partners than a cache has CPUs? (wake_wide) */
static bool wakes_wide(u32 master, u32 slave, u32 llc_weight)
{
	u32 more = max_s64(master, slave), fewer = min_s64(master, slave);

	return fewer >= llc_weight && more >= fewer * llc_weight;
}

/*
 * The first idle CPU of @cpu's core that the task may use, + 1, 0: none; and whether all of the
 * core is idle. (select_idle_core, select_idle_smt)
 */
FOLLOWED_ONCE u32 idle_in_core(u32 slot, u32 cpu)
{
	const struct span *s = span_of(LEVEL_CORE, cpu);
	u32 n, other, found = fresh_start(), busy = fresh_start();

	for (n = fresh_start(); n < s->weight && can_loop(); n++) {
		other = cpu_at(s->first + n);
		if (!idles(other)) {
			busy = 1;
			continue;
		}
		if (!found && slot_may_use(slot, other))
			found = other + 1;
	}
	return busy ? found : found | CORE_IS_IDLE;
}

/* (__update_idle_core) */
static void note_idle_core(u32 cpu)
{
	if (has_smt && !llc_of(cpu)->has_idle_cores && idle_in_core(0, cpu) & CORE_IS_IDLE)
		llc_of(cpu)->has_idle_cores = true;
}

/* The CPU of the cache that is looked at as number @n: those of the own cluster come first. */
static u32 to_scan(u32 n, u32 target, u32 nr_near)
{
	const struct span *near = span_of(LEVEL_CLUSTER, target), *all = span_of(LEVEL_LLC, target);

	if (n < nr_near)
		return cpu_at(near->first +
			      (place_of(target) - near->first + 1 + n) % near->weight);
	n += scan_place[INDEX(target, MAX_CPUS)] - all->first + 1 - nr_near;
	return scan_order[INDEX(all->first + n % all->weight, MAX_CPUS)];
}

/* The next CPU of scan_cache(): + 1 if that is it. */
FOLLOWED_ONCE u32 scan_next(u32 here, u32 slot, u32 target, u32 n)
{
	struct scan *scan = &placing_of(here)->scan;
	u32 cpu = to_scan(n, target, scan->nr_near), found = 0;

	if (!slot_may_use(slot, cpu) ||
	    (n >= scan->nr_near && scan->nr_near && share_cluster(cpu, target)))
		return 0;
	if (!scan->cores) {
		scan->left--;
		return is_free_for(slot, cpu) ? cpu + 1 : 0;
	}
	found = idle_in_core(slot, cpu);
	if (found & CORE_IS_IDLE)
		return cpu + 1;
	scan->idle = scan->idle ? scan->idle : found;
	return 0;
}

/* An idle CPU of the cache's, + 1; of an idle core if there may be one. (select_idle_cpu) */
FOLLOWED_ONCE u32 scan_cache(u32 here, u32 slot, u32 target)
{
	struct scan *scan = &placing_of(here)->scan;
	struct llc *llc = llc_of(target);
	u32 n, found = fresh_start(), nr;

	scan->cores = has_smt && llc->has_idle_cores;
	scan->left = no_sis_util ? MAX_CPUS : llc->nr_idle_scan;
	scan->nr_near = has_clusters ? span_of(LEVEL_CLUSTER, target)->weight : 0;
	scan->idle = 0;
	nr = scan->nr_near + span_of(LEVEL_LLC, target)->weight;
	for (n = fresh_start(); n < nr && scan->left && !found && can_loop(); n++)
		found = scan_next(here, slot, target, n);
	if (found)
		return found;
	if (scan->cores && scan->left)
		llc->has_idle_cores = false;
	return scan->idle;
}

/* Does the task fit on @cpu, with no one on its siblings? (asym_fits_cpu) */
static bool is_able(u32 slot, u32 cpu)
{
	if (!are_unequal())
		return true;
	return fit_of_task(slot, cpu) == FITS &&
	       (!has_smt || idle_in_core(slot, cpu) & CORE_IS_IDLE);
}

/* Worst that a CPU of an idle core can be. */
#define UNSUITABLE_CORE FITS

/*
 * The lower the better, of an idle CPU: the most capable of those that are too small, 0, but those
 * that the task fits before that, and those of idle cores before both. (asym_fits_state)
 */
static u64 unsuitable(u32 slot, u32 cpu)
{
	u64 lacks = FITS - fit_of_task(slot, cpu);
	u64 core = !has_smt || idle_in_core(slot, cpu) & CORE_IS_IDLE;

	return core ? lacks : UNSUITABLE_CORE + 1 + lacks;
}

/* An idle CPU on which the task fits, + 1, else the most capable one. (select_idle_capacity) */
FOLLOWED_ONCE u32 scan_capacity(u32 slot, u32 target)
{
	bool cores = has_smt && llc_of(target)->has_idle_cores;
	u32 level = capacity_level[INDEX(target, MAX_CPUS)], n, cpu, best = fresh_start();
	u64 rank, least = ~fresh_long(), left = llc_of(target)->nr_idle_scan;

	if (!no_sis_util && !left)
		return 0;
	left = no_sis_util ? MAX_CPUS : left;
	for (n = fresh_start(); n < nr_cpus && can_loop(); n++) {
		cpu = (target + n) % nr_cpus;
		if (!spans_cpu(level, target, cpu) || !slot_may_use(slot, cpu))
			continue;
		if (!cores && !left--)
			break;
		if (!is_free_for(slot, cpu))
			continue;
		rank = unsuitable(slot, cpu);
		if (!rank || (!cores && rank == UNSUITABLE_CORE + 1))
			return cpu + 1;
		rank = rank * 2 * FULL - capacity_of(cpu);
		best = rank < least ? cpu + 1 : best;
		least = rank < least ? rank : least;
	}
	if (cores && least > UNSUITABLE_CORE * 2 * FULL)
		llc_of(target)->has_idle_cores = false;
	return best;
}

/* Is it a thread of the kernel that is bound to this CPU, and alone here? */
static bool bound_kthread_wakes(u32 here)
{
	struct task_struct *current = bpf_get_current_task_btf();

	return current->flags & PF_KTHREAD && current->nr_cpus_allowed == 1 &&
	       queue_of(here)->nr <= 1;
}

/* (select_idle_sibling) */
FOLLOWED_ONCE u32 idle_sibling(u32 slot, u32 here, u32 prev, u32 target)
{
	u32 other = used_before[slot & SLOT_MASK] - 1, found, near = target;

	if (is_free_for(slot, target) && is_able(slot, target))
		return target;
	if (prev != target && share_cache(prev, target) && is_free_for(slot, prev) &&
	    is_able(slot, prev)) {
		if (!has_clusters || share_cluster(prev, target))
			return prev;
		near = prev;
	}
	if (prev == here && bound_kthread_wakes(here) && is_able(slot, prev))
		return prev;
	used_before[slot & SLOT_MASK] = prev + 1;
	if (other != prev && other != target && other < nr_cpus && share_cache(other, target) &&
	    is_free_for(slot, other) && slot_may_use(slot, other) && is_able(slot, other)) {
		if (!has_clusters || share_cluster(other, target))
			return other;
		near = near == target ? other : near;
	}
	if (are_unequal() && capacity_level[INDEX(target, MAX_CPUS)] < NR_LEVELS) {
		found = scan_capacity(slot, target);
		return found ? found - 1 : target;
	}
	if (has_smt && !llc_of(target)->has_idle_cores && share_cache(prev, target)) {
		found = idle_in_core(slot, prev) % CORE_IS_IDLE;
		if (found)
			return found - 1;
	}
	found = scan_cache(here, slot, target);
	return found ? found - 1 : near;
}

/* Is @one less in use than @other? (update_pick_idlest) */
static bool is_idler(const struct group_stats *one, const struct group_stats *other)
{
	if (!other->weight || one->type != other->type)
		return !other->weight || one->type < other->type;
	if (one->type)
		return one->average < other->average;
	if (one->idle != other->idle)
		return one->idle > other->idle;
	return one->used < other->used;
}

/* All groups of the domain that the task may use. */
FOLLOWED_ONCE u32 look_for_idlest(u32 here, u32 level, u32 cpu, u32 slot)
{
	struct placing *l = placing_of(here);
	const struct span *s = span_of(level, cpu);
	u32 n, place, other, at = group_first(level, cpu) - s->first;
	bool fits = fresh_start();

	begin_group(&l->local);
	begin_group(&l->idlest);
	begin_group(&l->one);
	for (n = fresh_start(); n < s->weight && can_loop(); n++) {
		place = s->first + (at + n) % s->weight;
		other = cpu_at(place);
		add_capacity(&l->one, other);
		fits |= fit_of(0, clamps_of(slot)->least, most_for(slot), other) == FITS;
		if (slot_may_use(slot, other)) {
			add_cpu(&l->one, other);
			l->one.allowed++;
		}
		if (place + 1 != group_first(level, other) + group_weight(level, other))
			continue;
		end_group(&l->one, level, other);
		/* A new task has used nothing, but may ask for more. (task_fits_cpu) */
		l->one.misfit = is_unequal(level, cpu) && !fits;
		fits = false;
		classify(&l->one, pct_of(level), false, false, false);
		if (!l->one.allowed)
			;
		else if (l->one.first == group_first(level, cpu))
			l->local = l->one;
		else if (is_idler(&l->one, &l->idlest))
			l->idlest = l->one;
		begin_group(&l->one);
	}
	return 0;
}

/* Is the idlest other group a better place than the own one? (sched_balance_find_dst_group) */
FOLLOWED_ONCE bool is_better(u32 by, u32 level, u32 cpu)
{
	const struct placing *l = placing_of(by);
	const struct group_stats *here = &l->local, *there = &l->idlest;
	u64 imbalance = NICE_0_WEIGHT * (pct_of(level) - 100) / 100;
	bool numa = level >= LEVEL_NUMA;

	if (!there->weight || !here->weight)
		return there->weight;
	if (here->type != there->type)
		return here->type > there->type;
	if (here->type) {
		if (numa && there->average + imbalance >= here->average)
			return false;
		return there->average < here->average + imbalance &&
		       100 * here->average > pct_of(level) * there->average;
	}
	imbalance = here->idle > there->idle ? here->idle - there->idle : there->idle - here->idle;
	if (numa && !adjusted_for_numa(imbalance,
				       here->nr + 1,
				       min_s64(here->allowed, numa_imbalance(level, cpu))))
		return false;
	return here->idle < there->idle;
}

/* (sched_balance_find_dst_group_cpu) */
FOLLOWED_ONCE u32 idlest_of_group(u32 by, u32 slot, u32 here)
{
	const struct group_stats *g = &placing_of(by)->idlest;
	u32 n, cpu, idle = fresh_start(), least = here;
	u64 latest = fresh_long(), load, least_load = ~fresh_long();

	for (n = fresh_start(); n < g->weight && can_loop(); n++) {
		cpu = cpu_at(g->first + n);
		if (!slot_may_use(slot, cpu))
			continue;
		load = averages_of(cpu)->load;
		if (idles(cpu) && (!idle || balance_of(cpu)->idle_since > latest)) {
			latest = balance_of(cpu)->idle_since;
			idle = cpu + 1;
		} else if (load < least_load) {
			least_load = load;
			least = cpu;
		}
	}
	return idle ? idle - 1 : least;
}

/* (sched_balance_find_dst_cpu) */
FOLLOWED_ONCE u32 choose_for_new_in_domains(u32 slot, u32 here)
{
	u32 level, n, cpu = here + fresh_start();

	for (n = fresh_start(); n < NR_LEVELS && can_loop(); n++) {
		level = NR_LEVELS - 1 - n;
		if (!is_domain(level, cpu) || !places_tasks(level))
			continue;
		look_for_idlest(here, level, cpu, slot);
		if (is_better(here, level, cpu))
			cpu = idlest_of_group(here, slot, cpu);
	}
	return cpu;
}

/* Load of the first domain that has both may be so different. (select_task_rq_fair) */
FOLLOWED_ONCE u32 pct_of_both(u32 here, u32 prev)
{
	u32 level;

	for (level = fresh_start(); level < NR_LEVELS && can_loop(); level++)
		if (is_domain(level, here) && spans_cpu(level, here, prev))
			return places_tasks(level) ? pct_of(level) : 0;
	return 0;
}

/* For ops.select_cpu, without the lock. (select_task_rq_fair) */
static s32 choose_in_domains(struct task_struct *p, s32 prev, u64 wake_flags)
{
	u32 slot = slot_of(p), here = bpf_get_smp_processor_id(), home = home_asleep(slot), pct;
	u32 running = queue_of(here)->running;
	struct waker *waker = waker_at(running ? running : list_of(here));
	u32 target = prev, cpu;

	slot_cpu_comes[slot & SLOT_MASK] = 0;
	note_clamps(slot, p);
	if (wake_flags & WAKE_FORK && !no_balance_fork)
		return choose_for_new_in_domains(slot, here);
	if (home)
		return home - 1;
	note_wakeup(waker, slot, bpf_ktime_get_ns());
	if (has_energy()) {
		cpu = efficient_cpu(here, slot, prev);
		if (cpu)
			return cpu - 1;
	}
	if (here != (u32)prev && slot_may_use(slot, here) &&
	    !wakes_wide(waker->flips, waker_at(slot)->flips, span_of(LEVEL_LLC, here)->weight)) {
		pct = pct_of_both(here, prev);
		if (pct && attracts(slot, here, prev, wake_flags & WAKE_SYNC, pct))
			target = here;
	}
	return idle_sibling(slot, here, prev, target);
}

#endif
