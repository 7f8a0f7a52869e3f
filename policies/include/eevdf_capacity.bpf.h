/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs of unequal capacity: kernel/sched/fair.c and pelt.h of Linux 7.2, with the functions named.
 * Where all are equal, or the loader does not say otherwise, nothing of this is there. All of it in
 * several domains only: the loader describes such a computer even if it is one domain.
 */
#ifndef ROTA_EEVDF_CAPACITY_BPF_H
#define ROTA_EEVDF_CAPACITY_BPF_H

u32 scx_bpf_cpuperf_cap(s32 cpu) __ksym;
u32 scx_bpf_cpuperf_cur(s32 cpu) __ksym;
void scx_bpf_cpuperf_set(s32 cpu, u32 perf) __ksym;

/* By the loader: not all CPUs have the same capacity (sched_asym_cpucapacity). */
const volatile bool rota_unequal;

extern const volatile bool work_conserving, no_domains;

/* Of a CPU, of FULL each. */
struct cpu_ability {
	u64 capacity; /* of the fastest (arch_scale_cpu_capacity) */
	u64 rate;     /* capacity and frequency: what its clock for averages goes by */
	u64 clock;    /* that (rq->clock_pelt), */
	u64 read_at;  /* until then */
	u64 misfit;   /* load of the task that runs and is too large for it (misfit_task_load) */
	bool works;   /* it is not idle: what ran last may be about to sleep */
	/* The greatest clamps of its tasks, as read last; of the last task if there is none now. */
	bool nobody_clamps;
	u64 least, most;
};

struct cpu_ability abilities[MAX_CPUS];
u32 nr_misfits;

static struct cpu_ability *ability_of(u32 cpu)
{
	return &abilities[cpu % MAX_CPUS];
}

/* Decided when the policy is loaded. Then has_domains() holds, too. */
__kinline bool are_unequal(void)
{
	return rota_unequal && !no_domains && !work_conserving;
}

/* (arch_scale_cpu_capacity) */
static u64 original_capacity(u32 cpu)
{
	return are_unequal() ? ability_of(cpu)->capacity : FULL;
}

/*
 * The clock of @cpu's averages: slow as the CPU is while that works, and right again once it idles.
 * (update_rq_clock_pelt; of a CPU that is never idle lost_idle_time is not kept)
 */
static u64 work_clock(u32 cpu, u64 now)
{
	struct cpu_ability *a = ability_of(cpu);
	u64 ns;

	if (!are_unequal())
		return now;
	ns = max_s64(0, now - a->read_at);
	a->clock += ns * a->rate / FULL;
	if (!a->works)
		a->clock = now;
	a->read_at = max_s64(a->read_at, now);
	return a->clock;
}

/* (capacity_greater) */
static u64 is_more_capable(u64 a, u64 b)
{
	return is_less(b * 1078, a * 1024);
}

/* (fits_capacity) */
static u64 fits_in(u64 used, u64 capacity)
{
	return is_less(used * 1280, capacity * 1024);
}

#endif
