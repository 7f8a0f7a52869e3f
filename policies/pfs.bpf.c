/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process fair scheduler [PFS §5]: cfs, but a thread's weight is that of its nice value, or
 * its share, divided by the number of its process's threads (eq. 6). A process gets no more by
 * starting more of them.
 *
 * - As published the weight already divided is divided again at each clone. It is the base weight
 *   that is divided here, and that of the first thread, too.
 * - active_only: threads that block leave their part to the others of the process (eq. 7, §5.4),
 *   seen when CPUs balance.
 * - A process that is forked is a family of its own, and inherits no division. by=user, cgroup or
 *   session divides among all threads of these instead.
 * - As published shares hold on each CPU's queue (scope=queue), and those of the machine only where
 *   all queues have the same mix of processes. scope=machine, the default, is ours: see
 *   families.bpf.h.
 *
 * Cost per decision: as cfs; forks, exits and sleeps cost the same however many threads there are.
 *
 * Where it is bad: a process with one thread has as much as one with a thread for each CPU: see
 * tfps. Threads that block and threads that compute in one process count alike, but for
 * active_only.
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

#define FAIR_FAMILIES
#include "cfs_rules.bpf.h"

/* A family is as much as one client. */
static u32 family_parts(u32 members)
{
	return 1;
}

#include "families_ops.bpf.h"

s32 BPF_STRUCT_OPS(pfs_init)
{
	return cfs_start();
}

SCX_OPS_HEED(pfs_ops,
	     "nice, share, SCHED_BATCH, SCHED_IDLE, cpu.weight if cgroups, SMT, LLC, NUMA");
SCX_OPS_DEFINE(pfs_ops)
help_text("Fair to processes: threads divide the weight of one") paper("PFS §5") = {
	FAMILY_OPS,
	.init = (void *)pfs_init,
	.name = "pfs",
};
