/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scheduling domains, as kernel/sched/topology.c of Linux 7.2 builds them: at each level a CPU
 * balances with the others of a span, in groups that are the spans of the level below. The loader
 * describes the computer in rota_cpus; without that, or where all CPUs are alike, there is one
 * domain of single CPUs, for which eevdf_wake.bpf.h and eevdf_balance.bpf.h have shorter rules.
 *
 * CPUs have places, in which those that share more are neighbours, so that each span and each
 * group is a run of places.
 */
#ifndef ROTA_EEVDF_DOMAINS_BPF_H
#define ROTA_EEVDF_DOMAINS_BPF_H

/* What the CPUs of a span share (default_topology, sched_init_numa) */
enum level {
	LEVEL_CORE, /* SMT */
	LEVEL_CLUSTER,
	LEVEL_LLC,
	LEVEL_NODE,
	LEVEL_NUMA, /* and those above: nodes up to some distance */
};

#define NR_LEVELS 8
#define FAR_NODES 30 /* (RECLAIM_DISTANCE) */

/* A place: its CPU, and the first level at which that is with the one before. */
struct cpu_place {
	u16 cpu, apart;
};

/* By the loader: places, 0: all CPUs are alike; distances of the levels from LEVEL_NUMA on. */
const volatile u32 rota_nr_places;
const volatile struct cpu_place rota_cpus[MAX_CPUS];
const volatile u32 rota_distances[NR_LEVELS];

const volatile bool work_conserving
	help_text("no task waits while a CPU that it may use is idle; not as Linux");
const volatile bool tied_stay
	help_text("what the CPU that balances may not run goes to no other of its group")
	in_kernel(true); /* too much for its verifier */
const volatile bool no_domains
	help_text("all CPUs balance in one domain, whatever cores, caches and nodes they share");

/* Of places. */
struct span {
	u16 first, weight;
};

/* Of the CPUs that share a last-level cache, by their first place (sched_domain_shared) */
struct llc {
	u32 nr_idle_scan;
	bool has_idle_cores;
};

struct span spans[NR_LEVELS][MAX_CPUS]; /* by CPU */
u16 place_of_cpu[MAX_CPUS];
u16 scan_order[MAX_CPUS]; /* CPUs by cache, and there by number */
u16 scan_place[MAX_CPUS];
struct llc llcs[MAX_CPUS];
bool has_smt, has_clusters;
u32 nr_places;
u8 unequal_levels[MAX_CPUS]; /* bits: CPUs of that span differ in capacity (SD_ASYM_CPUCAPACITY) */
u8 capacity_level[MAX_CPUS]; /* whose span has all capacities there are (sd_asym_cpucapacity) */

/*
 * What loops find begins with this, always 0, as with loop_start: where a verifier knew the first
 * value, it would follow a loop again for what comes after it.
 */
u64 long_start;

/*
 * Each is read anew: of two variables that begin with the same read a verifier knows that they are
 * equal, and follows the loop until it knows the same of them again.
 */
__kinline u32 fresh_start(void)
{
	return *(const volatile u32 *)&loop_start;
}

__kinline u64 fresh_long(void)
{
	return *(const volatile u64 *)&long_start;
}

/*
 * A function that a verifier follows once, for any arguments, and not again for each call: not
 * static, and without pointers. It must not be called with the lock.
 */
#define FOLLOWED_ONCE __attribute__((noinline))

/*
 * An index within an array of a power of two. The compiler must not do it once before a loop, as a
 * verifier forgets there what it knew of a number.
 */
#define INDEX(number, size)                                                \
	({                                                                 \
		u32 index_ = (number);                                     \
		asm volatile("%0 &= %1" : "+r"(index_) : "i"((size) - 1)); \
		index_;                                                    \
	})

/* Decided when the policy is loaded: what is not needed is not even there. */
__kinline bool has_domains(void)
{
	return rota_nr_places && !no_domains && !work_conserving;
}

__kinline u32 cpu_at(u32 place)
{
	return rota_cpus[INDEX(place, MAX_CPUS)].cpu;
}

__kinline u32 place_of(u32 cpu)
{
	return place_of_cpu[INDEX(cpu, MAX_CPUS)];
}

static struct span *span_of(u32 level, u32 cpu)
{
	return &spans[INDEX(level, NR_LEVELS)][INDEX(cpu, MAX_CPUS)];
}

/* CPUs of the group of @cpu in its domain at @level: those of the level below. */
static u32 group_weight(u32 level, u32 cpu)
{
	return level ? span_of(level - 1, cpu)->weight : 1;
}

static u32 group_first(u32 level, u32 cpu)
{
	return level ? span_of(level - 1, cpu)->first : place_of(cpu);
}

/* A domain of one group is none. (sd_parent_degenerate) */
static bool is_domain(u32 level, u32 cpu)
{
	return span_of(level, cpu)->weight > group_weight(level, cpu);
}

/* 1 or 0: is @other in @cpu's span? */
static u64 spans_cpu(u32 level, u32 cpu, u32 other)
{
	return is_less(place_of(other) - span_of(level, cpu)->first, span_of(level, cpu)->weight) &
	       !is_less(place_of(other), span_of(level, cpu)->first);
}

static struct llc *llc_of(u32 cpu)
{
	return &llcs[INDEX(span_of(LEVEL_LLC, cpu)->first, MAX_CPUS)];
}

/* (cpus_share_cache) */
static bool share_cache(u32 a, u32 b)
{
	return span_of(LEVEL_LLC, a)->first == span_of(LEVEL_LLC, b)->first;
}

/* (cpus_share_resources, of a cluster) */
static bool share_cluster(u32 a, u32 b)
{
	return span_of(LEVEL_CLUSTER, a)->first == span_of(LEVEL_CLUSTER, b)->first;
}

/* (sd_init) */
static u32 pct_of(u32 level)
{
	return level == LEVEL_CORE ? 110 : imbalance_pct;
}

/* (cache_nice_tries) */
static u32 nice_tries_of(u32 level)
{
	return is_less(LEVEL_CORE, level) + is_less(LEVEL_NODE, level);
}

/* In vain, until hot tasks are moved: siblings share all caches. (task_hot, can_migrate_task) */
static u32 hot_from(u32 level)
{
	return level == LEVEL_CORE ? 0 : nice_tries_of(level) + 1;
}

/* Is it the domain of those that share a last-level cache? (sd_llc) */
static bool is_cache(u32 level, u32 cpu)
{
	return level <= LEVEL_LLC && span_of(level, cpu)->weight == span_of(LEVEL_LLC, cpu)->weight;
}

/* Does a task that wakes up or is new go to other groups? (SD_WAKE_AFFINE, SD_BALANCE_FORK) */
static bool places_tasks(u32 level)
{
	return level < LEVEL_NUMA || rota_distances[INDEX(level, NR_LEVELS)] <= FAR_NODES;
}

/*
 * Tasks that a node may have more than others: an eighth of its CPUs, or one for each of its
 * caches. (adjust_numa_imbalance of topology.c)
 */
static u32 numa_imbalance(u32 level, u32 cpu)
{
	u32 node = span_of(LEVEL_NODE, cpu)->weight, llc = span_of(LEVEL_LLC, cpu)->weight;
	u32 nearest = span_of(LEVEL_NUMA, cpu)->weight, more = span_of(level, cpu)->weight;
	u32 caches = node / (llc + !llc), allowed = caches == 1 ? node / 8 : caches;

	more = more / (nearest + !nearest);
	return max_s64(1, allowed) * max_s64(1, more);
}

/* (sd_numa_mask, cpu_smt_mask and the like) */
FOLLOWED_ONCE u32 build_level(u32 level)
{
	u32 place, first = fresh_start();
	struct span *s;

	for (place = fresh_start(); place < nr_places && can_loop(); place++) {
		if (rota_cpus[INDEX(place, MAX_CPUS)].apart > level)
			first = place;
		span_of(level, cpu_at(place))->first = first;
		/* Its first CPU counts them. */
		span_of(level, cpu_at(first))->weight++;
	}
	for (place = fresh_start(); place < nr_places && can_loop(); place++) {
		s = span_of(level, cpu_at(place));
		s->weight = span_of(level, cpu_at(s->first))->weight;
	}
	return 0;
}

/* Do CPUs of the domain differ in capacity? (SD_ASYM_CPUCAPACITY) */
static bool is_unequal(u32 level, u32 cpu)
{
	return are_unequal() && unequal_levels[INDEX(cpu, MAX_CPUS)] >> (level & 7) & 1;
}

/* Has the span a CPU of this capacity? */
FOLLOWED_ONCE u32 has_capacity(u32 level, u32 cpu, u64 capacity)
{
	const struct span *s = span_of(level, cpu);
	u32 n, found = fresh_start();

	for (n = fresh_start(); n < s->weight && can_loop(); n++)
		found |= ability_of(cpu_at(s->first + n))->capacity == capacity;
	return found;
}

/* (asym_cpu_capacity_classify) */
FOLLOWED_ONCE u32 find_unequal(u32 cpu, u32 level)
{
	u32 n, all = 1 + fresh_start(), differs = fresh_start();
	u64 capacity;

	for (n = fresh_start(); n < nr_places && can_loop(); n++) {
		capacity = ability_of(cpu_at(n))->capacity;
		if (!has_capacity(level, cpu, capacity))
			all = 0;
		else if (capacity != ability_of(cpu)->capacity)
			differs = 1;
	}
	if (!differs)
		return 0;
	unequal_levels[INDEX(cpu, MAX_CPUS)] |= 1 << (level & 7);
	if (all && capacity_level[INDEX(cpu, MAX_CPUS)] == NR_LEVELS && is_domain(level, cpu))
		capacity_level[INDEX(cpu, MAX_CPUS)] = level;
	return 0;
}

/* For ops.init. (asym_cpu_capacity_scan) */
FOLLOWED_ONCE u32 abilities_init(u64 now)
{
	u32 cpu, level;

	for (cpu = fresh_start(); cpu < nr_cpus && can_loop(); cpu++) {
		struct cpu_ability *a = ability_of(cpu);

		a->capacity = scx_bpf_cpuperf_cap(cpu);
		a->rate = a->capacity * scx_bpf_cpuperf_cur(cpu) / FULL;
		a->clock = a->read_at = now;
		a->nobody_clamps = true;
		a->most = FULL;
		capacity_level[INDEX(cpu, MAX_CPUS)] = NR_LEVELS;
	}
	for (cpu = fresh_start(); cpu < nr_cpus && can_loop(); cpu++)
		for (level = fresh_start(); level < NR_LEVELS && can_loop(); level++)
			find_unequal(cpu, level);
	return 0;
}

/* For a scan of a cache, CPUs are in the order of their numbers. (for_each_cpu_wrap) */
FOLLOWED_ONCE u32 build_scan_order(void)
{
	u32 cpu, at;
	struct span *s;

	for (cpu = fresh_start(); cpu < nr_cpus && can_loop(); cpu++) {
		s = span_of(LEVEL_LLC, cpu);
		if (!s->weight)
			continue;
		/* llcs[] counts those that are in already; it is reset below. */
		at = s->first + llc_of(cpu)->nr_idle_scan++;
		scan_order[INDEX(at, MAX_CPUS)] = cpu;
		scan_place[INDEX(cpu, MAX_CPUS)] = at;
	}
	for (cpu = fresh_start(); cpu < nr_cpus && can_loop(); cpu++)
		llc_of(cpu)->nr_idle_scan = span_of(LEVEL_LLC, cpu)->weight;
	return 0;
}

/* For ops.init. (build_sched_domains) */
FOLLOWED_ONCE u32 domains_init(void)
{
	u32 place, cpu, level;

	nr_places = rota_nr_places;
	asm volatile("" : : : "memory");
	for (place = fresh_start(); place < nr_places && can_loop(); place++)
		place_of_cpu[INDEX(cpu_at(place), MAX_CPUS)] = place;
	for (level = fresh_start(); level < NR_LEVELS && can_loop(); level++)
		build_level(level);
	build_scan_order();
	if (are_unequal())
		abilities_init(bpf_ktime_get_ns());
	for (cpu = fresh_start(); cpu < nr_cpus && can_loop(); cpu++) {
		has_smt |= span_of(LEVEL_CORE, cpu)->weight > 1;
		has_clusters |= is_domain(LEVEL_CLUSTER, cpu) && is_domain(LEVEL_LLC, cpu);
	}
	return 0;
}

#endif
