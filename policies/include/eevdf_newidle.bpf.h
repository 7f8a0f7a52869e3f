/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often a CPU that becomes idle looks for work: the less use it was before, the more seldom,
 * at random; and what that costs, which it must be idle for longer than. As in Linux 7.2,
 * kernel/sched/fair.c, with the functions named. Needs the lock.
 */
#ifndef ROTA_EEVDF_NEWIDLE_BPF_H
#define ROTA_EEVDF_NEWIDLE_BPF_H

#define DICE		  1024	 /* (NI_RANDOM) */
#define MIGRATION_COST_NS 500000 /* (sysctl_sched_migration_cost) */
#define COST_DECAYS_NS	  1000000000ull

const volatile bool no_ni_random
	help_text("each CPU that becomes idle pulls, whatever came of that "
		  "before");
const volatile u32 newidle_ratio
	help_text("how often of 1024 times a CPU that becomes idle looks for work, at first")
	range(0, 1024) = 1024;
const volatile u64 newidle_cost_ns
	help_text("what looking for work in a domain costs a CPU that becomes idle, beyond what "
		  "its clock shows: a kernel measures all of it, a simulated clock stands still")
	unit(ns) range(0, 10000000) in_kernel(0) = 100000;
const volatile u64 newidle_costs_ns[NR_LEVELS]
	help_text("the same of one kind of domain, 0: as newidle_cost_ns: cores, clusters, caches, "
		  "nodes, and groups of nodes by distance") unit(ns) range(0, 10000000);

/* Of the last times that it became idle. */
struct newidle {
	u32 calls, good, ratio;
	u64 counted_since;
	u64 cost;	/* the most that looking cost lately (max_newidle_lb_cost) */
	u64 decayed_at; /* when that was noted or became less (last_decay_max_lb_cost) */
};

struct newidle newidles[MAX_CPUS];
u32 dice;

static struct newidle *newidle_of(u32 cpu)
{
	return &newidles[cpu % MAX_CPUS];
}

/* What it costs in a domain of @level, without what the clock shows. */
static u64 cost_at(u32 level)
{
	u64 cost = newidle_costs_ns[INDEX(level, NR_LEVELS)];

	return cost ? cost : newidle_cost_ns;
}

/* As a new domain, but for what the CPUs did before. (sd_init) */
static void begin_newidle(struct newidle *n, u64 cost, u64 now)
{
	n->cost = cost;
	n->decayed_at = now;
	n->calls = DICE / 2;
	n->ratio = newidle_ratio;
	n->good = DICE / 4;
	n->counted_since = now;
}

static u32 draw(void)
{
	dice = dice * 1664525 + 1013904223;
	return dice >> 16;
}

static bool is_worth_it(const struct newidle *n)
{
	return no_ni_random || n->ratio >= DICE || draw() % DICE <= 1 + n->ratio;
}

/* What one time counts that was of use. */
static u32 weight_of_dice(const struct newidle *n)
{
	u32 sides = 1 + n->ratio;

	return n->ratio >= DICE ? 1 : (DICE + sides / 2) / sides;
}

/*
 * A CPU that is seldom idle anew tries more often: so many calls in 4 s and more.
 * (update_newidle_stats, NI_RATE)
 */
static void note_newly_idle(struct newidle *n, bool was_of_use, u64 now)
{
	u64 ratio;

	n->calls++;
	n->good += was_of_use ? weight_of_dice(n) : 0;
	if (n->calls < DICE)
		return;
	ratio = ((now - n->counted_since) >> 22) + n->good;
	n->ratio = ratio < DICE ? ratio : DICE;
	n->counted_since = now;
	n->calls /= 2;
	n->good /= 2;
}

/* Once a second it is less, if it was not as much meanwhile. True: now. (update_newidle_cost) */
static bool decay_cost(struct newidle *n, u64 now)
{
	if (now - n->decayed_at <= COST_DECAYS_NS)
		return false;
	n->cost = n->cost * 253 / 256;
	n->decayed_at = now;
	return true;
}

/* It looked, for that. (update_newidle_cost) */
static void note_cost(struct newidle *n, u64 cost, u64 now)
{
	if (cost <= n->cost) {
		decay_cost(n, now);
		return;
	}
	n->cost = cost;
	n->decayed_at = now;
}

#endif
