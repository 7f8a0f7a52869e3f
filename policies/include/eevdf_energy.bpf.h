/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy aware scheduling: a task that wakes up goes where it takes least energy, by the power of
 * CPUs at their frequencies, as long as no CPU has more to do than it can (Documentation/scheduler/
 * sched-energy.rst). kernel/sched/fair.c, cpufreq_schedutil.c and include/linux/energy_model.h of
 * Linux 7.2, with the functions named.
 */
#ifndef ROTA_EEVDF_ENERGY_BPF_H
#define ROTA_EEVDF_ENERGY_BPF_H

#define MOST_STATES	32
#define MAX_PERF_STATES (16 * MOST_STATES)

/* What a CPU can do at a frequency, of FULL, and what it takes for that. (em_perf_state) */
struct perf_state {
	u64 cost; /* 0.1 uW for each of FULL that is in use */
	u32 performance;
};

/* By the loader: CPUs of one frequency are a domain (em_perf_domain), 0: energy is not known. */
const volatile u32 rota_nr_perf_domains;
const volatile u16 rota_perf_domains[MAX_CPUS];
/* MOST_STATES for each domain, in order; those that are left have performance 0. */
const volatile struct perf_state rota_perf_states[MAX_PERF_STATES];

const volatile bool no_energy_aware
	help_text("wakeups do not weigh energy (sched_energy_aware = 0)");

/* Some CPU has more to do than it can: then energy does not count. (rd->overutilized) */
u32 overutilized;

/* A search for a CPU, by the one that wakes the task up. (energy_env) */
struct effort {
	u64 used, expected; /* by the task */
	u64 busy, all;	    /* of a domain: in use without the task, and all that there is */
	u64 highest;	    /* what its busiest CPU needs then */
	u64 most_spare, prev_spare;
	u64 best_more, prev_more; /* energy with the task, less that without */
	u32 level;
	u64 least, most; /* that the task asks for */
	u64 best_can;	 /* of the best CPU, whatever other classes take */
	u64 prev_can;
	u32 spare; /* CPU + 1 of the domain with most to spare, but prev */
	u32 spare_fit;
	u32 best; /* CPU + 1 */
	u32 best_fit, prev_fit;
};

struct effort efforts[MAX_CPUS];

/* Decided when the policy is loaded. (sched_energy_enabled) */
__kinline bool has_energy(void)
{
	return rota_nr_perf_domains && are_unequal() && !no_energy_aware;
}

static struct effort *effort_of(u32 cpu)
{
	return &efforts[INDEX(cpu, MAX_CPUS)];
}

/* (cpu_overutilized) */
static u64 is_overutilized(u32 cpu)
{
	const struct cpu_ability *a = ability_of(cpu);

	return fit_of(use_of(cpu), a->least, a->most, cpu) == NO_FIT;
}

/* (check_update_overutilized_status) */
static void note_overutilized(u32 cpu)
{
	overutilized |= is_overutilized(cpu);
}

/* In use of @cpu if the task is not there, or to be there. @boost: or waiting. (cpu_util) */
static u64 use_if(const struct effort *e, u32 cpu, u32 prev, bool there, bool boost)
{
	const struct cpu_averages *a = averages_of(cpu);
	u64 used = boost ? max_s64(a->used, a->runnable) : a->used;

	if (cpu == prev && !there)
		used = max_s64(0, used - e->used);
	if (cpu != prev && there)
		used += e->used;
	if (!no_util_est)
		used = max_s64(used, a->expected + (there ? e->expected : 0));
	return min_s64(used, original_capacity(cpu));
}

/* With what other classes use. (effective_cpu_util) */
static u64 use_of_all(u32 cpu, u64 used)
{
	return min_s64(used + original_capacity(cpu) - capacity_of(cpu), original_capacity(cpu));
}

/* What frequency that asks for, if the task is @there. (eenv_pd_max_util) */
static u64 performance_for(const struct effort *e, u32 cpu, u64 used, bool there)
{
	const struct cpu_ability *a = ability_of(cpu);
	u64 least = a->least, most = a->most;

	used = use_of_all(cpu, used);
	if (there) {
		least = max_s64(least, e->least);
		most = a->nobody_clamps ? e->most : max_s64(most, e->most);
	}
	/* (sugov_effective_cpu_perf) */
	used = max_s64(least, min_s64(used + used / 4, most));
	return min_s64(used, original_capacity(cpu));
}

/* Of the domain at this performance. (em_cpu_energy) */
static u64 energy_of(u32 domain, u64 performance, u64 busy)
{
	const volatile struct perf_state *s;
	u32 n, at = domain * MOST_STATES;
	u64 cost = fresh_long();

	for (n = fresh_start(); n < MOST_STATES && can_loop(); n++) {
		s = &rota_perf_states[INDEX(at + n, MAX_PERF_STATES)];
		if (!s->performance)
			break;
		cost = s->cost;
		if (s->performance >= performance)
			break;
	}
	return cost * busy;
}

/* (compute_energy of a CPU less that of none) */
static u64 more_energy(const struct effort *e, u32 domain, u32 cpu, u32 prev)
{
	u64 use = use_if(e, cpu, prev, true, true);
	u64 with = max_s64(e->highest, performance_for(e, cpu, use, true));
	u64 task = max_s64(e->used, no_util_est ? 0 : e->expected);

	return energy_of(domain, with, min_s64(e->all, e->busy + task)) -
	       energy_of(domain, e->highest, min_s64(e->all, e->busy));
}

/* How well the task fits there, with the clamps of both. (find_energy_efficient_cpu) */
static u32 fit_if(const struct effort *e, u32 cpu, u64 used)
{
	const struct cpu_ability *a = ability_of(cpu);

	if (a->nobody_clamps)
		return fit_of(used, e->least, e->most, cpu);
	return fit_of(used, max_s64(a->least, e->least), max_s64(a->most, e->most), cpu);
}

/* A CPU of the domain: what it has to do, and whether the task fits. */
FOLLOWED_ONCE u32 weigh_cpu(u32 here, u32 slot, u32 cpu, u32 prev)
{
	struct effort *e = effort_of(here);
	u64 used = use_if(e, cpu, prev, true, false), idly, spare;
	u32 fit;

	read_clamps(cpu);
	idly = use_if(e, cpu, prev, false, true);
	e->all += original_capacity(cpu);
	e->busy += use_of_all(cpu, use_if(e, cpu, prev, false, false));
	e->highest = max_s64(e->highest, performance_for(e, cpu, idly, false));
	if (!spans_cpu(e->level, here, cpu) || !slot_may_use(slot, cpu))
		return 0;
	fit = fit_if(e, cpu, used);
	if (fit == NO_FIT)
		return 0;
	spare = max_s64(0, capacity_of(cpu) - used);
	if (cpu == prev) {
		e->prev_spare = spare + 1;
		e->prev_fit = fit;
		e->prev_can = original_capacity(cpu);
	} else if (!e->spare || fit > e->spare_fit ||
		   (fit == e->spare_fit && spare + 1 > e->most_spare)) {
		e->most_spare = spare + 1;
		e->spare = cpu + 1;
		e->spare_fit = fit;
	}
	return 0;
}

/* What it would take of the domain. (find_energy_efficient_cpu) */
FOLLOWED_ONCE u32 weigh_domain(u32 here, u32 slot, u32 domain, u32 prev)
{
	struct effort *e = effort_of(here);
	u64 more, can;
	u32 cpu;

	e->busy = e->all = e->highest = e->most_spare = e->prev_spare = 0;
	e->spare = e->spare_fit = 0;
	for (cpu = fresh_start(); cpu < nr_cpus && can_loop(); cpu++)
		if (rota_perf_domains[INDEX(cpu, MAX_CPUS)] == domain)
			weigh_cpu(here, slot, cpu, prev);
	if (e->prev_spare) {
		e->prev_more = more_energy(e, domain, prev, prev);
		e->best_more = e->best_more < e->prev_more ? e->best_more : e->prev_more;
	}
	if (!e->spare || e->most_spare <= e->prev_spare)
		return 0;
	can = original_capacity(e->spare - 1);
	if (e->spare_fit < e->best_fit || (e->spare_fit == FITS_PARTLY && can <= e->best_can))
		return 0;
	more = more_energy(e, domain, e->spare - 1, prev);
	if (e->spare_fit == FITS && e->best_fit == FITS && more >= e->best_more)
		return 0;
	e->best_more = more;
	e->best = e->spare;
	e->best_fit = e->spare_fit;
	e->best_can = can;
	return 0;
}

/* Is the best CPU better than the last one? (find_energy_efficient_cpu) */
static bool is_worth_moving(const struct effort *e)
{
	if (!e->best || e->best_fit > e->prev_fit)
		return e->best;
	if (e->best_fit == FITS)
		return e->best_more < e->prev_more;
	return e->best_can > e->prev_can;
}

/* The CPU for a task that wakes up, + 1; 0: energy does not say. (find_energy_efficient_cpu) */
FOLLOWED_ONCE u32 efficient_cpu(u32 here, u32 slot, u32 prev)
{
	const struct client_average *a = average_of(slot);
	struct effort *e = effort_of(here);
	u32 n, level = capacity_level[INDEX(here, MAX_CPUS)];

	for (n = fresh_start(); n < NR_LEVELS && can_loop(); n++)
		if (level < NR_LEVELS && !spans_cpu(level, here, prev))
			level++;
	if (overutilized || level >= NR_LEVELS)
		return 0;
	*e = (struct effort){
		.level = level,
		.best_more = ~0ull,
		.prev_more = ~0ull,
		.least = clamps_of(slot)->least,
		.most = most_for(slot),
		.best_fit = FITS_PARTLY,
		.prev_fit = FITS_PARTLY,
	};
	/* Until now, by the clock of the CPU where it was. (sync_entity_load_avg) */
	e->used = decayed(a->used, age_at(averages_of(prev)->aged_at, a->aged_at));
	e->expected = a->expected;
	if (!e->used && (no_util_est || !e->expected) && !e->least)
		return prev + 1;
	/* The kernel's list has the last one first. (build_perf_domains) */
	for (n = fresh_start(); n < rota_nr_perf_domains && can_loop(); n++)
		weigh_domain(here, slot, rota_nr_perf_domains - 1 - n, prev);
	return is_worth_moving(e) ? e->best : prev + 1;
}

#endif
