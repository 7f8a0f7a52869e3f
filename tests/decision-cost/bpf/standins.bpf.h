/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the policy's calls of sched_ext kfuncs lead to, one function per essential name
 * of the reference kernel (7.2). The machine has one CPU, 0.
 *
 * The kernel defers insertions (to the end of ops.enqueue(), of ops.select_cpu(), or to
 * the next flush of the dispatch buffer); here they happen at once, which comes to the
 * same order. What a call costs here is the queue's own work: the kernel's checks,
 * atomics and run queue locks are not in it.
 */
#ifndef BENCH_STANDINS_BPF_H
#define BENCH_STANDINS_BPF_H

#include "queues.bpf.h"

#define EBUSY  16
#define EEXIST 17
#define ENOENT 2

bool bench_cpu_idle BENCH_DATA; /* until it was given its first task */
u32 bench_current BENCH_DATA;	/* the task that runs; 0: nobody yet */

BENCH_STANDIN s32 standin_scx_bpf_create_dsq(u64 dsq_id, s32 node)
{
	struct bench_dsq empty = {};

	return bpf_map_update_elem(&bench_dsqs, &dsq_id, &empty, 1) ? -EEXIST : 0;
}

BENCH_STANDIN s32 standin_scx_bpf_dsq_nr_queued(u64 dsq_id)
{
	struct bench_dsq *d = bench_find_dsq(dsq_id);

	return d ? (s32)d->queued : -ENOENT;
}

/* Slice 0 leaves the slice as it is, but nobody enters a queue without one. */
__kinline void bench_set_slice(struct task_struct *p, u64 slice)
{
	if (slice)
		p->scx.slice = slice;
	else if (!p->scx.slice)
		p->scx.slice = 1;
}

/* The queue that a task enters with that slice; NULL: there is none. */
__kinline struct bench_dsq *bench_dsq_for(struct task_struct *p, u64 dsq_id, u64 slice)
{
	struct bench_dsq *d = bench_find_dsq(dsq_id);

	if (d)
		bench_set_slice(p, slice);
	return d;
}

__kinline bool bench_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
{
	struct bench_dsq *d = bench_dsq_for(p, dsq_id, slice);

	if (d)
		bench_insert(d, p, enq_flags);
	return d;
}

__kinline bool bench_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime)
{
	struct bench_dsq *d = bench_dsq_for(p, dsq_id, slice);

	if (d)
		bench_insert_vtime(d, p, vtime);
	return d;
}

__kinline bool bench_move_to_local(u64 dsq_id)
{
	struct bench_dsq *d = bench_find_dsq(dsq_id);

	return d && bench_consume(d);
}

BENCH_STANDIN bool standin_scx_bpf_dsq_insert___v2(struct task_struct *p, u64 dsq_id, u64 slice,
						   u64 enq_flags)
{
	return bench_dsq_insert(p, dsq_id, slice, enq_flags);
}

BENCH_STANDIN void standin_scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice,
					      u64 enq_flags)
{
	bench_dsq_insert(p, dsq_id, slice, enq_flags);
}

BENCH_STANDIN bool standin_scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice,
						    u64 vtime, u64 enq_flags)
{
	return bench_dsq_insert_vtime(p, dsq_id, slice, vtime);
}

BENCH_STANDIN bool standin___scx_bpf_dsq_insert_vtime(struct task_struct *p,
						      struct scx_bpf_dsq_insert_vtime_args *args)
{
	return bench_dsq_insert_vtime(p, args->dsq_id, args->slice, args->vtime);
}

BENCH_STANDIN bool standin_scx_bpf_dsq_move_to_local(u64 dsq_id)
{
	return bench_move_to_local(dsq_id);
}

BENCH_STANDIN bool standin_scx_bpf_dsq_move_to_local___v2(u64 dsq_id, u64 enq_flags)
{
	return bench_move_to_local(dsq_id);
}

/* The first task of a queue, for a look. */
BENCH_STANDIN struct task_struct *standin_scx_bpf_dsq_peek(u64 dsq_id)
{
	struct bench_dsq *d = bench_find_dsq(dsq_id);

	return d && d->first ? bench_task_at(d->first) : NULL;
}

BENCH_STANDIN bool standin_scx_bpf_task_set_slice(struct task_struct *p, u64 slice)
{
	p->scx.slice = slice;
	return true;
}

BENCH_STANDIN bool standin_scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime)
{
	p->scx.dsq_vtime = vtime;
	return true;
}

BENCH_STANDIN u32 standin_scx_bpf_dispatch_nr_slots(void)
{
	return 32;
}

/* Idle CPUs: the one there is, once. Taking it claims it. */
BENCH_STANDIN s32 standin_scx_bpf_pick_idle_cpu(const struct cpumask *allowed, u64 flags)
{
	if (!bench_cpu_idle)
		return -EBUSY;
	bench_cpu_idle = false;
	return 0;
}

BENCH_STANDIN s32 standin_scx_bpf_pick_any_cpu(const struct cpumask *allowed, u64 flags)
{
	bench_cpu_idle = false;
	return 0;
}

BENCH_STANDIN bool standin_scx_bpf_test_and_clear_cpu_idle(s32 cpu)
{
	bool was_idle = bench_cpu_idle;

	bench_cpu_idle = false;
	return was_idle;
}

/*
 * No mask: stand-ins below take that for an empty one. Nobody waits here while a CPU
 * idles, so there is nobody to find by walking a queue either.
 */
BENCH_STANDIN const struct cpumask *standin_scx_bpf_get_idle_cpumask(void)
{
	asm volatile("");
	return NULL;
}

BENCH_STANDIN void standin_scx_bpf_put_idle_cpumask(const struct cpumask *mask)
{
	asm volatile("");
}

BENCH_STANDIN int standin_bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags)
{
	asm volatile("");
	return 0;
}

BENCH_STANDIN struct task_struct *standin_bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it)
{
	asm volatile("");
	return NULL;
}

BENCH_STANDIN void standin_bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it)
{
	asm volatile("");
}

BENCH_STANDIN s32 standin_scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu,
						 u64 wake_flags, bool *is_idle)
{
	*is_idle = bench_cpu_idle;
	bench_cpu_idle = false;
	return 0;
}

BENCH_STANDIN s32 standin_scx_bpf_select_cpu_and(struct task_struct *p, s32 prev_cpu,
						 u64 wake_flags, const struct cpumask *allowed,
						 u64 flags)
{
	return standin_scx_bpf_pick_idle_cpu(allowed, flags);
}

BENCH_STANDIN s32 standin___scx_bpf_select_cpu_and(struct task_struct *p,
						   const struct cpumask *allowed,
						   struct scx_bpf_select_cpu_and_args *args)
{
	return standin_scx_bpf_pick_idle_cpu(allowed, args->flags);
}

/* A decision follows anyway. */
BENCH_STANDIN void standin_scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	asm volatile("");
}

/* Nobody is tied to a CPU here. */
BENCH_STANDIN void standin_scx_bpf_dispatch_cancel(void)
{
	asm volatile("");
}

BENCH_STANDIN s32 standin_scx_bpf_task_cpu(const struct task_struct *p)
{
	return p->recent_used_cpu;
}

BENCH_STANDIN bool standin_scx_bpf_task_running(const struct task_struct *p)
{
	return bench_index_of(p) == bench_current;
}

BENCH_STANDIN u32 standin_scx_bpf_nr_cpu_ids(void)
{
	return 1;
}

BENCH_STANDIN u32 standin_scx_bpf_nr_node_ids(void)
{
	return 1;
}

BENCH_STANDIN u64 standin_scx_bpf_now(void)
{
	return bench_now_ns;
}

BENCH_STANDIN u32 standin_scx_bpf_cpuperf_cap(s32 cpu)
{
	return 1024;
}

BENCH_STANDIN u32 standin_scx_bpf_cpuperf_cur(s32 cpu)
{
	return 1024;
}

BENCH_STANDIN void standin_scx_bpf_cpuperf_set(s32 cpu, u32 perf)
{
	asm volatile("");
}

BENCH_STANDIN void standin_scx_bpf_error_bstr(char *fmt, unsigned long long *data, u32 size)
{
	if (!bench_failure)
		bpf_probe_read_kernel_str(bench_message, sizeof(bench_message), fmt);
	bench_fail(BENCH_POLICY_ERROR, data && size >= 8 ? *data : 0);
}

BENCH_STANDIN void standin_scx_bpf_exit_bstr(s64 code, char *fmt, unsigned long long *data,
					     u32 size)
{
	standin_scx_bpf_error_bstr(fmt, data, size);
}

/*
 * The lookup and the reference count are the kernel's; the shadow is found by pid. The
 * policy's own calls of bpf_task_release() are taken out (src/bind.rs).
 */
BENCH_STANDIN struct task_struct *standin_bpf_task_from_pid(s32 pid)
{
	struct task_struct *real = bpf_task_from_pid(pid);

	if (!real)
		return NULL;
	bpf_task_release(real);
	return bench_task_at(bench_index_of_pid[pid & (BENCH_MAX_PID - 1)]);
}

BENCH_STANDIN struct task_struct *standin_bpf_task_acquire(struct task_struct *p)
{
	return p;
}

/* Helpers, by number: task storage is that of the real task. */
BENCH_STANDIN void *standin_helper_156(void *map, struct task_struct *p, void *init, u64 flags)
{
	struct task_struct *real = bench_real(p);

	return real ? bpf_task_storage_get(map, real, init, flags) : NULL;
}

BENCH_STANDIN s64 standin_helper_157(void *map, struct task_struct *p)
{
	struct task_struct *real = bench_real(p);

	return real ? bpf_task_storage_delete(map, real) : -ENOENT;
}

/* bpf_get_current_task_btf(): the real one is the bench itself. */
BENCH_STANDIN struct task_struct *standin_helper_158(void)
{
	return bench_task_at(bench_current);
}

/* Tasks are in no cgroups here. */
BENCH_STANDIN struct cgroup *standin_scx_bpf_task_cgroup(struct task_struct *p)
{
	return NULL;
}

/*
 * Masks: the kernel's own, but where they come from a shadow task the verifier wants
 * to see that they are not NULL.
 */
BENCH_STANDIN bool standin_bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask)
{
	return mask && bpf_cpumask_test_cpu(cpu, mask);
}

BENCH_STANDIN u32 standin_bpf_cpumask_first(const struct cpumask *mask)
{
	return mask ? bpf_cpumask_first(mask) : 0;
}

BENCH_STANDIN bool standin_bpf_cpumask_empty(const struct cpumask *mask)
{
	return !mask || bpf_cpumask_empty(mask);
}

BENCH_STANDIN u32 standin_bpf_cpumask_weight(const struct cpumask *mask)
{
	return mask ? bpf_cpumask_weight(mask) : 0;
}

BENCH_STANDIN bool standin_bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
	return a && b && bpf_cpumask_intersects(a, b);
}

BENCH_STANDIN bool standin_bpf_cpumask_subset(const struct cpumask *a, const struct cpumask *b)
{
	return a && b && bpf_cpumask_subset(a, b);
}

#endif
