/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clamps of utilization (uclamp), where CPUs differ in capacity: a task may ask for a performance
 * at least, and at most, whatever it uses, and a CPU has the greatest of each of its tasks.
 * kernel/sched/core.c and fair.c of Linux 7.2, with the functions named.
 */
#ifndef ROTA_EEVDF_CLAMPS_BPF_H
#define ROTA_EEVDF_CLAMPS_BPF_H

static void *(*const bpf_per_cpu_ptr)(const void *variable, u32 cpu) = (void *)153;

#define CLAMP_BITS    0x7ff /* of a struct uclamp_se: its value */
#define NOBODY_CLAMPS 1	    /* (UCLAMP_FLAG_IDLE) */

extern const struct rq runqueues __ksym __weak;

/* How well something fits on a CPU. (util_fits_cpu: 0, -1, 1) */
enum fit {
	NO_FIT,
	FITS_PARTLY, /* but for the performance that it asks for */
	FITS,
};

/* Of a task; all 0: it asks for nothing. */
struct clamps {
	u16 least, forgone; /* FULL less the most */
};

struct clamps task_clamps[NR_SLOTS];

static struct clamps *clamps_of(u32 slot)
{
	return &task_clamps[slot & SLOT_MASK];
}

static u64 most_for(u32 slot)
{
	return FULL - clamps_of(slot)->forgone;
}

/*
 * What a task asks for now: when it wakes up, and at its ticks. Is that new? (uclamp_eff_value, of
 * a task in no cgroup that clamps it)
 */
static bool note_clamps(u32 slot, struct task_struct *p)
{
	struct clamps *c = clamps_of(slot), before = *c;

	if (!are_unequal() || !kernel_has_field(p->uclamp_req))
		return false;
	c->least = *(const u32 *)&p->uclamp_req[UCLAMP_MIN] & CLAMP_BITS;
	c->forgone = FULL - (*(const u32 *)&p->uclamp_req[UCLAMP_MAX] & CLAMP_BITS);
	return c->least != before.least || c->forgone != before.forgone;
}

/* Without the lock: what @cpu is asked for now. (uclamp_rq_get, uclamp_rq_is_idle) */
FOLLOWED_ONCE u32 read_clamps(u32 cpu)
{
	struct cpu_ability *a = ability_of(cpu);
	const struct rq *rq;

	a->least = 0;
	a->most = FULL;
	a->nobody_clamps = true;
	if (!&runqueues)
		return 0;
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	if (!rq || !kernel_has_field(rq->uclamp))
		return 0;
	a->least = rq->uclamp[UCLAMP_MIN].value;
	a->most = rq->uclamp[UCLAMP_MAX].value;
	a->nobody_clamps = rq->uclamp_flags & NOBODY_CLAMPS;
	return 0;
}

/* The same once the task is there, with the lock, before that is read again. (uclamp_rq_inc) */
static void add_clamps(u32 slot, u32 cpu)
{
	struct cpu_ability *a = ability_of(cpu);
	u64 most = most_for(slot);

	a->least = max_s64(a->least, clamps_of(slot)->least);
	a->most = a->nobody_clamps ? most : max_s64(a->most, most);
	a->nobody_clamps = false;
}

/*
 * Does it fit on @cpu if so much is used? One that may not have more than the CPU has fits there;
 * but the most capable CPU is not known to be enough for one that may have all. (util_fits_cpu)
 */
static __attribute__((noinline)) u32 fit_of(u64 used, u64 least, u64 most, u32 cpu)
{
	u64 original = original_capacity(cpu), fits, lacks;

	fits = fits_in(used, capacity_of(cpu));
	fits |= is_less(most, FULL) & is_less(most, original + 1);
	least = min_s64(least, most);
	lacks = is_less(used, least) & is_less(original, least);
	return fits * (FITS - lacks);
}

/* (task_fits_cpu, but for the result) */
static u32 fit_of_task(u32 slot, u32 cpu)
{
	return fit_of(need_of(slot), clamps_of(slot)->least, most_for(slot), cpu);
}

#endif
