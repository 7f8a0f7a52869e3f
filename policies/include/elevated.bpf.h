/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Request-based priority elevation for tasks of fair_queue.bpf.h: a task's weight is that of
 * its nice value less its level. Levels decay with time, which is seen when a weight is asked for:
 * as the task comes, runs, has a tick, or stops. All but time_is() goes by the time that was
 * last set. Needs the lock.
 */
#ifndef ROTA_ELEVATED_BPF_H
#define ROTA_ELEVATED_BPF_H

#include "elevation.bpf.h"

struct elevation elevations[NR_SLOTS];
u64 time_now;
u32 nr_wanting; /* clients in queues, on all CPUs */

static void time_is(u64 now)
{
	time_now = now;
	load_renew(nr_wanting, now);
	stats.load = load;
}

static u32 divided(u32 slot, u32 weight)
{
	return elevated(weight, elevation_level(&elevations[slot & SLOT_MASK], time_now));
}

static void family_wants(u32 slot, bool wants)
{
	nr_wanting += wants ? 1 : -1;
}

#endif
