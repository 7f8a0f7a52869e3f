/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tasks that a policy sees. No program may write to a real task_struct, and this
 * kernel's may lack the scx member. So a policy is given a map value that is laid out
 * as task_struct of the reference kernel, field for field, and that knows its real
 * task: a sleeping thread of the bench, on which storage and pid lookups work.
 *
 * Two pointers lie where their value's reader expects them (cpus_ptr) or on a cache
 * line that a decision touches anyway (in place of scx.sched, which is the kernel's).
 */
#ifndef BENCH_TASKS_BPF_H
#define BENCH_TASKS_BPF_H

#include "bench.bpf.h"

#define BENCH_MAX_PID	(1 << 22) /* the kernel's own limit */
#define BENCH_MAX_TASKS 65536	  /* as in src/host.rs */

struct bench_task {
	u8 head[BENCH_SCX_AT];
	struct task_struct __kptr *real;
	u8 middle[BENCH_CPUS_PTR_AT - BENCH_SCX_AT - 8];
	struct bpf_cpumask __kptr *cpus;
	u8 tail[BENCH_TASK_SIZE - BENCH_CPUS_PTR_AT - 8];
};

/* Task 0 is nobody: the end of lists and trees. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct bench_task);
} bench_tasks SEC(".maps");

/* A section of its own: nobody reads so much back. */
u32 bench_index_of_pid[BENCH_MAX_PID] SEC(".bss.pids");

__kinline struct task_struct *bench_task_at(u32 index)
{
	return bpf_map_lookup_elem(&bench_tasks, &index);
}

/* The scx member's task id serves as number. */
__kinline u32 bench_index_of(const struct task_struct *p)
{
	return p->scx.tid;
}

__kinline struct task_struct *bench_real(struct task_struct *p)
{
	return ((struct bench_task *)p)->real;
}

__kinline struct bpf_cpumask *bench_cpus(struct task_struct *p)
{
	return ((struct bench_task *)p)->cpus;
}

struct bench_add_args {
	u32 index;
	s32 pid;
	u32 weight;
	u32 pad;
};

/* Binds a shadow task to its real one. False: there is no task of that pid. */
static bool bench_bind_task(struct bench_task *slot, s32 pid)
{
	struct task_struct *real = bpf_task_from_pid(pid);
	struct bpf_cpumask *cpus;

	if (!real)
		return false;
	real = bpf_kptr_xchg(&slot->real, real);
	if (real)
		bpf_task_release(real);
	cpus = bpf_cpumask_create();
	if (!cpus)
		return false;
	bpf_cpumask_set_cpu(0, cpus);
	cpus = bpf_kptr_xchg(&slot->cpus, cpus);
	if (cpus)
		bpf_cpumask_release(cpus);
	return true;
}

/* The fields of task_struct that a policy may look at. */
static void bench_fill_task(struct task_struct *p, const struct bench_add_args *args)
{
	p->pid = args->pid;
	p->tgid = args->pid;
	p->nr_cpus_allowed = 1;
	p->static_prio = 120;
	p->se.load.weight = (u64)args->weight * 1024 / 100;
	p->scx.tid = args->index;
	p->scx.weight = args->weight;
	p->scx.slice = SCX_SLICE_DFL;
	bench_index_of_pid[args->pid & (BENCH_MAX_PID - 1)] = args->index;
}

#endif
