/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel types and declarations of the decision-cost bench. Every global name begins
 * with bench_, hook_ or standin_, so that none meets a policy's when both are linked.
 */
#ifndef BENCH_BPF_H
#define BENCH_BPF_H

#include "kernel.bpf.h"
#include "loop.bpf.h"

#define __kptr __attribute__((btf_type_tag("kptr")))

/* Data of the bench has sections of its own: the policy's stays as it is in a kernel. */
#define BENCH_DATA SEC(".bss.bench")

/* A function that a callback of the policy takes the place of, when it is linked. */
#define BENCH_HOOK(name)                                                                \
	__attribute__((weak, noinline, visibility("hidden"))) u64 hook_##name(u64 *ctx) \
	{                                                                               \
		return 0;                                                               \
	}

/* A function that takes the place of a kfunc or helper that the policy calls. */
#define BENCH_STANDIN __attribute__((weak, noinline, visibility("hidden")))

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static s64 (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
					u64 flags) = (void *)2;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static s64 (*const bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static void *(*const bpf_task_storage_get)(void *map, struct task_struct *p, void *init,
					   u64 flags) = (void *)156;
static s64 (*const bpf_task_storage_delete)(void *map, struct task_struct *p) = (void *)157;
static s64 (*const bpf_loop)(u32 count, void *step, void *arg, u64 flags) = (void *)181;
static void *(*const bpf_kptr_xchg)(void *to, void *ptr) = (void *)194;

/*
 * Loaders ignore a kfunc's last ___suffix. These have one so that the policy's own
 * declarations, which may differ in form, are other symbols when both are linked.
 */
#define bpf_rcu_read_lock      bpf_rcu_read_lock___bench
#define bpf_rcu_read_unlock    bpf_rcu_read_unlock___bench
#define bpf_preempt_disable    bpf_preempt_disable___bench
#define bpf_preempt_enable     bpf_preempt_enable___bench
#define bpf_task_from_pid      bpf_task_from_pid___bench
#define bpf_task_release       bpf_task_release___bench
#define bpf_cpumask_create     bpf_cpumask_create___bench
#define bpf_cpumask_release    bpf_cpumask_release___bench
#define bpf_cpumask_set_cpu    bpf_cpumask_set_cpu___bench
#define bpf_cpumask_test_cpu   bpf_cpumask_test_cpu___bench
#define bpf_cpumask_first      bpf_cpumask_first___bench
#define bpf_cpumask_empty      bpf_cpumask_empty___bench
#define bpf_cpumask_weight     bpf_cpumask_weight___bench
#define bpf_cpumask_intersects bpf_cpumask_intersects___bench
#define bpf_cpumask_subset     bpf_cpumask_subset___bench

void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;
void bpf_preempt_disable(void) __ksym;
void bpf_preempt_enable(void) __ksym;
struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;
struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
void bpf_cpumask_release(struct bpf_cpumask *mask) __ksym;
void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *mask) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask) __ksym;
u32 bpf_cpumask_first(const struct cpumask *mask) __ksym;
bool bpf_cpumask_empty(const struct cpumask *mask) __ksym;
u32 bpf_cpumask_weight(const struct cpumask *mask) __ksym;
bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b) __ksym;
bool bpf_cpumask_subset(const struct cpumask *a, const struct cpumask *b) __ksym;

/* What the loader sets before loading. */
const volatile u32 bench_has_op;       /* a bit per hook */
const volatile bool bench_enq_last;    /* the policy set SCX_OPS_ENQ_LAST */
const volatile bool bench_recording;   /* write the pids of picks to bench_picks */
const volatile bool bench_preemptible; /* this kernel's verifier wants it so */

/* Why the run is worthless; the first reason stays. */
enum bench_failure {
	BENCH_OK,
	BENCH_POLICY_ERROR, /* the policy called scx_bpf_error(), or left */
	BENCH_NO_DSQ,	    /* there is no such dispatch queue */
	BENCH_QUEUED_TWICE, /* a task was inserted that is in a queue already */
	BENCH_NOBODY,	    /* nothing to run, though tasks are runnable */
	BENCH_CORRUPT,	    /* a link of a queue leads nowhere */
};

u32 bench_failure BENCH_DATA;
u64 bench_failure_detail BENCH_DATA;
char bench_message[128] BENCH_DATA;

__kinline void bench_fail(u32 failure, u64 detail)
{
	if (bench_failure)
		return;
	bench_failure = failure;
	bench_failure_detail = detail;
}

u64 bench_now_ns BENCH_DATA; /* the bench's clock: CPU time handed out so far */

#endif
