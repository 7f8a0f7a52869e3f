/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load weights, as Linux has had them for nice values since 2.6.23. sched_ext has them times
 * 100 / 1024, rounded; here they are times 100, so that both are whole numbers: nice 0 is
 * 102400, nice 1 is 82000, and a share of 50 is 51200.
 */
#ifndef ROTA_WEIGHTS_BPF_H
#define ROTA_WEIGHTS_BPF_H

#include "shares.bpf.h"

#define NICE_0_WEIGHT 102400
#define HIGHEST_PRIO  100 /* static_prio of nice -20 */
#define POLICY_BATCH  3	  /* SCHED_BATCH, ABI */
#define POLICY_IDLE   5	  /* SCHED_IDLE, ABI */
#define IDLE_WEIGHT   300

const u32 nice_weights[] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,
	1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,
	110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,
};

#define NR_NICE (sizeof(nice_weights) / sizeof(nice_weights[0]))

/* The task's: of its nice value if sched_ext's weight is that, else of its share or weight. */
static u32 weight_of(struct task_struct *p)
{
	u32 nice = p->static_prio - HIGHEST_PRIO, share = share_of(p), weight;

	if (nice >= NR_NICE)
		return share * 1024;
	weight = nice_weights[nice];
	if (share == 1 && p->policy == POLICY_IDLE)
		return IDLE_WEIGHT;
	if (share == (weight * 100 + 512) / 1024)
		return weight * 100;
	return share * 1024;
}

/* CPU time in virtual time, which passes as fast for a client of nice 0. */
static u64 virtual_ns(u64 cpu_ns, u64 weight)
{
	return cpu_ns * NICE_0_WEIGHT / weight;
}

#endif
