/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Preferred cores: of CPUs of equal capacity some reach higher frequencies, as an x86 computer's
 * firmware says, and an idle one of these takes what runs on others (SD_ASYM_PACKING).
 * kernel/sched/fair.c and arch/x86/kernel/itmt.c of Linux 7.2, with the functions named.
 */
#ifndef ROTA_EEVDF_PACKING_BPF_H
#define ROTA_EEVDF_PACKING_BPF_H

/* By the loader: some CPUs are preferred (sched_itmt_enabled), and each one's rank, the higher
 * the better (sched_core_priority). */
const volatile bool rota_packing;
const volatile u16 rota_ranks[MAX_CPUS];

/* Decided when the policy is loaded. */
__kinline bool has_packing(void)
{
	return rota_packing && has_domains();
}

/* Siblings have one rank, and nodes do not pack. (x86_topology, x86_sched_itmt_flags) */
static bool packs_at(u32 level)
{
	return has_packing() && level > LEVEL_CORE && level <= LEVEL_NODE;
}

static u32 rank_of(u32 cpu)
{
	return rota_ranks[INDEX(cpu, MAX_CPUS)];
}

/* But for the CPU itself. (is_core_idle) */
static __attribute__((noinline)) bool is_core_idle(u32 cpu)
{
	const struct span *s = span_of(LEVEL_CORE, cpu);
	u32 n, busy = fresh_start();

	for (n = fresh_start(); n < s->weight && can_loop(); n++)
		busy |= cpu_at(s->first + n) != cpu && !idles(cpu_at(s->first + n));
	return !busy;
}

/* Ranks are of whole cores. (sched_use_asym_prio) */
static bool follows_rank(u32 level, u32 cpu)
{
	return packs_at(level) && (!has_smt || is_core_idle(cpu));
}

/* (sched_asym) */
static bool is_preferred(u32 level, u32 to, u32 from)
{
	return rank_of(to) > rank_of(from) && follows_rank(level, to);
}

/* Does an idle CPU wait that should have what this one runs? (nohz_balancer_kick) */
FOLLOWED_ONCE bool preferred_one_idles(u32 cpu)
{
	const struct span *s = span_of(LEVEL_NODE, cpu);
	u32 n, other;

	for (n = fresh_start(); n < s->weight && can_loop(); n++) {
		other = cpu_at(s->first + n);
		if (idles(other) && is_preferred(LEVEL_NODE, other, cpu))
			return true;
	}
	return false;
}

#endif
