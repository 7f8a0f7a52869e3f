/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From which group of a domain a CPU pulls, and how much: kernel/sched/fair.c of Linux 7.2, with
 * the functions named. Needs the lock.
 */
#ifndef ROTA_EEVDF_DOMAINS_LOOK_BPF_H
#define ROTA_EEVDF_DOMAINS_LOOK_BPF_H

/* How much (migration_type) */
enum moves {
	MOVES_LOAD,
	MOVES_USE,
	MOVES_TASKS,
	MOVES_MISFIT,
};

#define CPU_WORDS (MAX_CPUS / 64)

/* What one look at a domain found, in memory as struct survey. (lb_env, sd_lb_stats) */
struct look {
	struct group_stats one, local, busiest;
	u64 load, used, can; /* of all CPUs */
	u32 pass;	     /* this look's number */
	u32 passes;	     /* busiest CPUs that it found */
	u32 moves;
	u32 failed;	       /* times that the domain was balanced in vain */
	u32 hot_from;	       /* in vain, and then hot tasks are moved, too */
	bool idle, newly_idle; /* the CPU */
	bool sees_all;	       /* no domain is above */
	bool follows_rank;     /* the CPU (sched_use_asym_prio) */
	bool some_fit;	       /* tasks that the CPU may run (not LBF_ALL_PINNED) */
	bool some_tied;	       /* tasks that it may not (LBF_SOME_PINNED) */
	u32 to;		       /* CPU that tasks go to: it, or one of its group (dst_cpu) */
	u32 next_to;	/* CPU + 1 that a tied task could go to (new_dst_cpu, LBF_DST_PINNED) */
	u32 came;	/* the last task that it pulled itself; 0: none */
	bool elsewhere; /* others of its group got some */
	u64 others[CPU_WORDS]; /* of its group that can (dst_grpmask, less those that had a turn) */
};

struct look look;
u32 left_out[MAX_CPUS];			   /* of that look: it has none that may be moved */
u8 kept_from_balance[NR_LEVELS][MAX_CPUS]; /* by place of a group (sgc->imbalance) */

static u8 *kept_of(u32 level, u32 cpu)
{
	return &kept_from_balance[INDEX(level, NR_LEVELS)]
				 [INDEX(group_first(level, cpu), MAX_CPUS)];
}

/* Is @one none to pull from for a CPU of that capacity? (update_sd_pick_busiest) */
static bool is_better_off(const struct group_stats *one, u64 capacity)
{
	if (one->type == MISFIT)
		return !is_more_capable(capacity, one->most) || look.local.type != HAS_SPARE;
	return one->type <= FULLY_BUSY && is_more_capable(one->least, capacity);
}

/* Is @one busier than @most? (update_sd_pick_busiest) */
static __attribute__((noinline)) bool is_busier(const struct group_stats *one,
						const struct group_stats *most)
{
	if (!one->awake || !most->weight || one->type != most->type)
		return one->awake && (!most->weight || one->type > most->type);
	if (one->type == OVERLOADED)
		return one->average > most->average;
	if (one->type == IMBALANCED)
		return false;
	if (one->type == PACKING)
		return one->rank < most->rank;
	if (one->type == MISFIT)
		return one->misfit > most->misfit;
	/* All that are fully busy are alike, and the last one is it; a core, the first. */
	if (one->type == FULLY_BUSY || (one->type == SMT_BALANCE && !one->idle && !most->idle))
		return !most->is_core;
	/* A core with one task would be idle without it. (smt_vs_nonsmt_groups) */
	if (one->type == HAS_SPARE && one->is_core != most->is_core)
		return !one->is_core || one->awake > 1;
	return one->idle < most->idle || (one->idle == most->idle && one->nr > most->nr);
}

/* Is the CPU preferred to all of another group? (sched_group_asym) */
static bool packs_from(const struct group_stats *one, u32 cpu)
{
	return look.idle && look.follows_rank && one->awake && rank_of(cpu) > one->rank &&
	       (!one->is_core || one->weight - one->idle == 1);
}

/* (update_sd_lb_stats) */
static __attribute__((noinline)) void look_at_groups(u32 cpu, u32 level, u64 now)
{
	const struct span *s = span_of(level, cpu);
	u32 n, place, other, at = group_first(level, cpu) - s->first;
	struct group_stats *one = &look.one;
	bool is_local;

	begin_group(one);
	begin_group(&look.local);
	begin_group(&look.busiest);
	look.load = look.used = look.can = 0;
	overloaded *= !look.sees_all;
	look.follows_rank = follows_rank(level, cpu);
	overutilized *= !look.sees_all;
	for (n = fresh_start(); n < s->weight && can_loop(); n++) {
		place = s->first + (at + n) % s->weight;
		other = cpu_at(place);
		add_capacity(one, other);
		if (left_out[INDEX(other, MAX_CPUS)] != look.pass) {
			age(other, now);
			add_cpu(one, other);
			note_two_at(other);
		}
		if (place + 1 != group_first(level, other) + group_weight(level, other))
			continue;
		end_group(one, level, other);
		is_local = one->first == group_first(level, cpu);
		if (is_local || !is_unequal(level, cpu))
			one->misfit = 0;
		classify(one,
			 pct_of(level),
			 look.idle && !is_local && one->is_core && one->awake > 1,
			 !is_local && packs_from(one, cpu),
			 *kept_of(level, other));
		if (has_energy())
			overutilized |= one->over;
		look.load += one->load;
		look.used += one->used;
		look.can += one->can;
		if (is_local)
			look.local = *one;
		else if (!(is_unequal(level, cpu) && is_better_off(one, capacity_of(cpu))) &&
			 is_busier(one, &look.busiest))
			look.busiest = *one;
		begin_group(one);
	}
}

/* How many tasks the busiest group has more, by cores. (sibling_imbalance) */
static u64 more_tasks(u32 cpu)
{
	const struct group_stats *here = &look.local, *there = &look.busiest;
	u64 core = max_s64(1, span_of(LEVEL_CORE, cpu)->weight);
	u64 mine = max_s64(1, here->weight / core), theirs = max_s64(1, there->weight / core), more;

	if (!look.idle || !there->nr)
		return 0;
	if (mine == theirs)
		return max_s64(0, (s64)there->nr - here->nr);
	more = max_s64(0, mine * there->nr - theirs * here->nr);
	more = (2 * more + mine + theirs) / (mine + theirs);
	return more <= 1 && !here->nr && there->nr > 1 ? 2 : more;
}

/* Do the groups prefer one task each to several in one? (SD_PREFER_SIBLING) */
static bool spreads_tasks(u32 level)
{
	const struct group_stats *there = &look.busiest;
	u32 node = span_of(LEVEL_NODE, cpu_at(there->first))->weight;

	if (is_unequal(level, cpu_at(there->first)))
		return false;
	return there->weight > 1 && (level <= LEVEL_NUMA || there->weight <= node);
}

/* What is to be moved to a group that has room. (calculate_imbalance) */
static __attribute__((noinline)) void fill_room(u32 cpu, u32 level)
{
	const struct group_stats *here = &look.local, *there = &look.busiest;
	u64 can = here->can, more;

	if (there->type > FULLY_BUSY && level > LEVEL_LLC) {
		look.moves = MOVES_USE;
		survey.imbalance = max_s64(0, can - here->used);
		if (survey.imbalance || !look.idle)
			return;
		look.moves = MOVES_TASKS;
		survey.left = 1;
		return;
	}
	more = max_s64(0, (s64)here->idle - there->idle);
	if (there->weight == 1 || spreads_tasks(level))
		more = more_tasks(cpu);
	if (level >= LEVEL_NUMA)
		more = adjusted_for_numa(more, here->nr + 1, numa_imbalance(level, cpu));
	look.moves = MOVES_TASKS;
	survey.left = more / 2;
}

/* Load, so that both have the average. It is without sign, as in the kernel. */
static void even_out_load(void)
{
	const struct group_stats *here = &look.local, *there = &look.busiest;
	u64 average = look.load * FULL / (look.can + !look.can), out, in;
	u64 theirs = there->type == OVERLOADED ? there->average : 0;

	if (here->average >= theirs || here->average >= average)
		return;
	out = (theirs - average) * there->can / FULL;
	in = (average - here->average) * here->can / FULL;
	look.moves = MOVES_LOAD;
	survey.imbalance = out < in ? out : in;
}

/* Is the busiest group busy enough? (sched_balance_find_src_group) */
static __attribute__((noinline)) bool is_out_of_balance(u32 cpu, u32 level)
{
	const struct group_stats *here = &look.local, *there = &look.busiest;

	if (!there->weight)
		return false;
	if (there->type == MISFIT)
		return true;
	if (has_energy() && !overutilized)
		return false;
	if (there->type == IMBALANCED || there->type == PACKING)
		return true;
	if (here->type > there->type)
		return false;
	if (here->type == OVERLOADED && 100 * there->average <= pct_of(level) * here->average)
		return false; /* the rest of it is in even_out_load() */
	if (here->type == HAS_SPARE && spreads_tasks(level) && more_tasks(cpu) > 1)
		return true;
	if (there->type == OVERLOADED)
		return true;
	/* (smt_vs_nonsmt_groups) */
	if (look.idle && there->type == SMT_BALANCE && here->is_core != there->is_core)
		return true;
	return look.idle && !(there->weight > 1 && here->idle <= there->idle + 1) &&
	       there->awake != 1;
}

/* (calculate_imbalance) */
static __attribute__((noinline)) void measure_imbalance(u32 cpu, u32 level)
{
	survey.left = 0;
	survey.imbalance = 0;
	if (!is_out_of_balance(cpu, level))
		return;
	if (look.busiest.type == MISFIT) {
		look.moves = MOVES_MISFIT;
		survey.left = 1;
	} else if (look.busiest.type == PACKING) {
		look.moves = MOVES_TASKS;
		survey.left = look.busiest.awake;
	} else if (look.busiest.type == SMT_BALANCE || look.busiest.type == IMBALANCED) {
		look.moves = MOVES_TASKS;
		survey.left = 1;
	} else if (look.local.type == HAS_SPARE) {
		fill_room(cpu, level);
	} else {
		even_out_load();
	}
}

/* The CPU of the busiest group to pull from, + 1. (sched_balance_find_src_rq) */
static __attribute__((noinline)) void find_busiest_cpu(u32 here, u32 level)
{
	u64 rank, most = fresh_long(), mask;
	u32 n, cpu, awake;

	survey.busiest = 0;
	for (n = fresh_start(); n < look.busiest.weight && can_loop(); n++) {
		const struct cpu_averages *a;
		const struct cpu_queue *q;

		cpu = cpu_at(look.busiest.first + n);
		a = averages_of(cpu);
		q = queue_of(cpu);
		awake = q->nr_waiting + is_less(0, q->running);
		rank = awake;
		if (look.moves == MOVES_LOAD)
			rank = (are_unequal() ? relative_load(cpu) : a->load) *
			       !(awake == 1 && a->load > survey.imbalance);
		else if (look.moves == MOVES_USE)
			rank = max_s64(use_of(cpu), a->runnable) * (awake > 1);
		if (is_unequal(level, here)) {
			if (look.moves == MOVES_MISFIT)
				rank = ability_of(cpu)->misfit;
			/* That would be a task for a slower CPU. */
			rank *= awake != 1 || is_more_capable(capacity_of(here), capacity_of(cpu));
		}
		/* It keeps what it runs alone. */
		if (packs_at(level))
			rank *= awake != 1 || !is_preferred(level, cpu, here);
		rank *= is_less(0, awake) & (left_out[INDEX(cpu, MAX_CPUS)] != look.pass);
		mask = -is_less(most, rank);
		most += (rank - most) & mask;
		survey.busiest += (cpu + 1 - survey.busiest) & mask;
	}
}

/* A wakeup scans many while there is much to be had. (update_idle_cpu_scan) */
static void count_to_scan_in(u32 cpu, u32 level)
{
	u64 all = span_of(level, cpu)->weight, pct = pct_of(level);
	u64 each = look.used / (all + !all), busy;

	busy = each * each * pct * pct / (10000 * FULL);
	busy = min_s64(busy, FULL);
	llc_of(cpu)->nr_idle_scan = (FULL - busy) * all / FULL;
}

#endif
