/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of a group of CPUs, and how full it is: kernel/sched/fair.c of Linux 7.2, with
 * the functions named.
 */
#ifndef ROTA_EEVDF_DOMAINS_STATS_BPF_H
#define ROTA_EEVDF_DOMAINS_STATS_BPF_H

#define NUMA_IMBALANCE_MIN 2

/* The fuller the higher. (enum group_type) */
enum group_type {
	HAS_SPARE,
	FULLY_BUSY,
	MISFIT,		 /* a CPU with a task that is too large for it */
	SMT_BALANCE = 3, /* a core with several tasks */
	PACKING,	 /* the CPU that looks is preferred to all of it */
	IMBALANCED = 5,	 /* tasks that are tied to CPUs kept the level below from its balance */
	OVERLOADED = 7,
};

/* (sg_lb_stats) */
struct group_stats {
	u64 load, used, runnable; /* sums over its CPUs */
	u64 can;		  /* what is left of them for these tasks */
	u64 average;		  /* load by capacity */
	u64 misfit;		  /* load of the largest task that is too large for its CPU */
	u64 least, most;	  /* capacity of a CPU */
	u32 first, weight;	  /* places; weight 0: there is no such group */
	u32 idle;		  /* CPUs */
	u32 nr;			  /* tasks that take part */
	u32 awake;		  /* and do not sleep */
	u32 allowed;		  /* CPUs that the task to be placed may use */
	u32 type;
	u32 is_core; /* SMT siblings */
	u32 rank;    /* of the most preferred CPU (asym_prefer_cpu) */
	u64 over;    /* 1: a CPU has more to do than it can (group_overutilized) */
};

/* (update_sg_lb_stats, update_sg_wakeup_stats) */
static __attribute__((noinline)) void add_cpu(struct group_stats *g, u32 cpu)
{
	const struct cpu_averages *a = averages_of(cpu);
	const struct cpu_queue *q = queue_of(cpu);

	g->load += a->load;
	g->used += use_of(cpu);
	g->runnable += a->runnable;
	g->nr += q->nr + is_away(cpu);
	g->awake += q->nr_waiting + is_less(0, q->running);
	g->idle += idles(cpu) & !q->nr;
	if (are_unequal())
		g->misfit = max_s64(g->misfit, ability_of(cpu)->misfit);
	if (has_energy())
		g->over |= is_overutilized(cpu);
	if (has_packing())
		g->rank = max_s64(g->rank, rank_of(cpu));
}

/* (update_group_capacity) */
static void add_capacity(struct group_stats *g, u32 cpu)
{
	u64 can = capacity_of(cpu);

	g->can += can;
	if (!are_unequal())
		return;
	g->least = g->least ? min_s64(g->least, can) : can;
	g->most = max_s64(g->most, can);
}

/* (group_classify) */
static __attribute__((noinline)) void classify(struct group_stats *g, u32 pct, bool smt_balance,
					       bool packing, bool imbalanced)
{
	u64 can = g->can, crowded = is_less(can * pct, g->runnable * 100), type;

	/* (group_is_overloaded, group_has_capacity) */
	type = is_less(g->weight - 1, g->nr) & (crowded | is_less(can * 100 - 1, g->used * pct));
	if (are_unequal())
		type = max_s64(type, MISFIT * is_less(0, g->misfit));
	type = max_s64(type, SMT_BALANCE * smt_balance);
	type = max_s64(type, PACKING * packing);
	type = max_s64(type, IMBALANCED * imbalanced);
	if (!has_energy() || g->over)
		type = max_s64(type,
			       OVERLOADED * (is_less(g->weight, g->nr) &
					     (crowded | is_less(can * 100, g->used * pct))));
	g->type = type;
	g->average = g->load * FULL / (can + !can);
}

/* Some imbalance between nodes is left while few tasks run. (adjust_numa_imbalance) */
static u64 adjusted_for_numa(u64 imbalance, u32 running, u32 allowed)
{
	return running <= allowed && imbalance <= NUMA_IMBALANCE_MIN ? 0 : imbalance;
}

/* A group begins: nothing is known of it. */
static void begin_group(struct group_stats *g)
{
	*g = (struct group_stats){};
}

/* Its CPUs are counted, of which @cpu is one. */
static void end_group(struct group_stats *g, u32 level, u32 cpu)
{
	g->first = group_first(level, cpu);
	g->weight = group_weight(level, cpu);
	g->is_core = is_less(1, g->weight) & !is_less(span_of(LEVEL_CORE, cpu)->weight, g->weight);
}

#endif
