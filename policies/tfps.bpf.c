/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread fair preferential scheduler, which [PFS §5.4] plans: pfs, but a process counts for as
 * many as it has threads, up to the optimal number. A process with a thread for each CPU gets more
 * than one with a single thread, and no more for more than that: 1, 4 and 8 threads on four CPUs
 * have shares 1:4:4.
 *
 * Optimal is the number of CPUs [PFS §4.2], or a tunable.
 *
 * Cost per decision: as pfs.
 *
 * Where it is bad: as pfs, but that threads up to the optimal number are worth having.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

const volatile u32 optimal_threads
	help_text("threads that a process is given CPU time for; 0: as many as CPUs")
	range(0, 1024) = 0;

#define FAIR_FAMILIES
#include "cfs_rules.bpf.h"

static u32 family_parts(u32 members)
{
	u32 optimal = optimal_threads ? optimal_threads : nr_cpus;

	return members < optimal ? members : optimal;
}

#include "families_ops.bpf.h"

s32 BPF_STRUCT_OPS(tfps_init)
{
	return cfs_start();
}

SCX_OPS_HEED(tfps_ops,
	     "nice, share, SCHED_BATCH, SCHED_IDLE, cpu.weight if cgroups, SMT, LLC, NUMA");
SCX_OPS_DEFINE(tfps_ops)
help_text("Fair to processes, with more for those that have a thread for each CPU")
paper("PFS §5.4") = {
	FAMILY_OPS,
	.init = (void *)tfps_init,
	.name = "tfps",
};
