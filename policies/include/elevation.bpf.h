/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Request-based priority elevation [CAS §5, §6]: a task that received something has a negative
 * nice value for a while, by the load [Table 1]. Here no nice value changes: it is a factor of the
 * weight, 1.25 for each level [eq. 15], in steps as the kernel has them.
 *
 * Table 1 has the load average × 2048 of a machine with one CPU; here it is that of each CPU.
 * Levels decay by one in each delay, seen whenever the weight is asked for, where the paper's
 * script checks at each poll().
 */
#ifndef ROTA_ELEVATION_BPF_H
#define ROTA_ELEVATION_BPF_H

#include "slots.bpf.h"
#include "weights.bpf.h"

#define LOAD_ONE 2048

const volatile u64 load_window_ns help_text("by elevation: time over which the load is averaged")
unit(ns) range(1000000, 1000000000000) = 60000000000;

struct elevation {
	u64 since;
	u32 level;
};

/* By row, which with a mask of 7 is in bounds for every verifier. */
const u32 elevation_unix[] = {0, 1, 2, 4, 6, 7, 15, 15};
const u32 elevation_inet[] = {0, 0, 1, 2, 3, 4, 5, 5};
const u32 elevation_delay_ms[] = {0, 200, 300, 400, 500, 600, 600, 600}; /* 0: ends at once */
/* By level: the kernel's weights of nice 0 to -15. */
const u32 elevation_weight[] = {1024,
				1277,
				1586,
				1991,
				2501,
				3121,
				3906,
				4904,
				6100,
				7620,
				9548,
				11916,
				14949,
				18705,
				23254,
				29154};

u64 load;    /* × LOAD_ONE, for each CPU */
u64 load_at; /* when it was that, ns */

/* @runnable: tasks that want to run or do. Once in a while is enough. */
static void load_renew(u32 runnable, u64 now)
{
	u64 passed = now - load_at, current = (u64)runnable * LOAD_ONE / nr_cpus;

	if (now < load_at || passed < load_window_ns >> 10)
		return;
	load_at = now;
	if (passed > load_window_ns)
		passed = load_window_ns;
	/* In the steps of the window's 1024th part that passed. */
	passed /= (load_window_ns >> 10) + 1;
	load = (load * (1024 - passed) + current * passed) >> 10;
}

static u32 elevation_row(void)
{
	u32 row = (load > 1600) + (load > 3000) + (load > 5000) + (load > 8000) + (load > 12000) +
		  (load > 16000);

	return row & 7;
}

static u32 elevation_level(struct elevation *e, u64 now)
{
	u64 delay = elevation_delay_ms[elevation_row()] * 1000000ull, steps;

	if (!e->level)
		return 0;
	delay += !delay;
	steps = now > e->since ? (now - e->since) / delay : 0;
	e->level -= steps < e->level ? steps : e->level;
	e->since += steps * delay;
	return e->level;
}

/* Something was received. */
static void elevate(struct elevation *e, bool local, u64 now)
{
	u32 row = elevation_row(), level = local ? elevation_unix[row] : elevation_inet[row];

	if (level < elevation_level(e, now))
		return;
	e->level = level;
	e->since = now;
}

static u64 elevated(u64 weight, u32 level)
{
	return weight * elevation_weight[level & 15] / elevation_weight[0];
}

#endif
