/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every policy includes: kernel types, the helpers and kfuncs in use, how
 * to declare callbacks, tunables and statistics. No other header is needed.
 *
 * Policies load on kernels 6.12 to 7.3. A kfunc that not all of them have is
 * declared weak here and called through a wrapper; loaders ignore the last
 * ___suffix of a kfunc's name, which lets one name have several prototypes.
 */
#ifndef ROTA_BPF_H
#define ROTA_BPF_H

#include "kernel.bpf.h"
#include "loop.bpf.h"

#define E2BIG  7
#define ENOMEM 12

/* Helpers, by their number in the kernel's ABI. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static void (*const bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static void (*const bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static void *(*const bpf_task_storage_get)(void *map, struct task_struct *p, void *init,
					   u64 flags) = (void *)156;

/* A lock that callbacks on all CPUs share; it lives in a data section of its own. */
#define GLOBAL_LOCK(name)         \
	struct bpf_spin_lock name \
		__attribute__((section(".data." #name), visibility("hidden"), aligned(8)))

/* A map with a value for each task, for bpf_task_storage_get(); it goes with the task. */
#define TASK_STORAGE(map, value_type)                    \
	struct {                                         \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE); \
		__uint(map_flags, BPF_F_NO_PREALLOC);    \
		__type(key, int);                        \
		__type(value, value_type);               \
	} map SEC(".maps")

/* A constant of the running kernel, not of the one we were compiled against. */
#define kernel_value(type, name)  __builtin_preserve_enum_value(*(typeof(enum type) *)name, 1)
#define kernel_has_func(function) (!!(function))
#define kernel_has_field(field)	  (!!__builtin_preserve_field_info(field, 2))

#define DSQ_LOCAL		  kernel_value(scx_dsq_id_flags, SCX_DSQ_LOCAL)
#define DSQ_LOCAL_ON		  kernel_value(scx_dsq_id_flags, SCX_DSQ_LOCAL_ON)
#define SLICE_INF		  kernel_value(scx_public_consts, SCX_SLICE_INF)
#define ENQ_NONE		  0
#define KICK_PLAIN		  0
#define KICK_IDLE		  kernel_value(scx_kick_flags, SCX_KICK_IDLE)
#define KICK_PREEMPT		  kernel_value(scx_kick_flags, SCX_KICK_PREEMPT)
#define TASK_QUEUED		  kernel_value(scx_ent_flags, SCX_TASK_QUEUED)
#define STORAGE_GET_CREATE	  1 /* BPF_LOCAL_STORAGE_GET_F_CREATE, ABI */

/* kfuncs that all supported kernels have. */
s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
			   bool *is_idle) __ksym;
s32 scx_bpf_pick_idle_cpu(const cpumask_t *cpus_allowed, u64 flags) __ksym;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
void scx_bpf_dispatch_cancel(void) __ksym;
u32 scx_bpf_nr_cpu_ids(void) __ksym;
void scx_bpf_error_bstr(char *fmt, unsigned long long *data, u32 data__sz) __ksym;
struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;

/* 6.12 called it dispatch; 6.19 made it return whether the task was ours to insert. */
bool scx_bpf_dsq_insert___v2___bool(struct task_struct *p, u64 dsq_id, u64 slice,
				    u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert___void(struct task_struct *p, u64 dsq_id, u64 slice,
			       u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch___void(struct task_struct *p, u64 dsq_id, u64 slice,
			     u64 enq_flags) __ksym __weak;

__kinline void dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice_ns, u64 enq_flags)
{
	if (kernel_has_func(scx_bpf_dsq_insert___v2___bool))
		scx_bpf_dsq_insert___v2___bool(p, dsq_id, slice_ns, enq_flags);
	else if (kernel_has_func(scx_bpf_dsq_insert___void))
		scx_bpf_dsq_insert___void(p, dsq_id, slice_ns, enq_flags);
	else
		scx_bpf_dispatch___void(p, dsq_id, slice_ns, enq_flags);
}

/* 6.12 called it consume; 7.1 added flags. */
bool scx_bpf_dsq_move_to_local___v2___flags(u64 dsq_id, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local___plain(u64 dsq_id) __ksym __weak;
bool scx_bpf_consume___plain(u64 dsq_id) __ksym __weak;

__kinline bool dsq_move_to_local(u64 dsq_id)
{
	if (kernel_has_func(scx_bpf_dsq_move_to_local___v2___flags))
		return scx_bpf_dsq_move_to_local___v2___flags(dsq_id, 0);
	if (kernel_has_func(scx_bpf_dsq_move_to_local___plain))
		return scx_bpf_dsq_move_to_local___plain(dsq_id);
	return scx_bpf_consume___plain(dsq_id);
}

/* Before 6.19 a policy wrote the field itself. */
bool scx_bpf_task_set_slice___bool(struct task_struct *p, u64 slice) __ksym __weak;

__kinline void task_set_slice(struct task_struct *p, u64 slice_ns)
{
	if (kernel_has_func(scx_bpf_task_set_slice___bool))
		scx_bpf_task_set_slice___bool(p, slice_ns);
	else
		p->scx.slice = slice_ns;
}

/* In dispatch, @prev may be on its way to sleep: only a queued task can go on. */
__kinline bool is_runnable(const struct task_struct *prev)
{
	return prev->scx.flags & TASK_QUEUED;
}

/*
 * A task enters a shared queue while a CPU that could run it idles, having found
 * nothing else that it was allowed to run: wake that CPU up.
 */
__kinline void kick_idle_cpu_for(struct task_struct *p)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, KICK_IDLE);
}

/*
 * Where the counters of can_loop() loops begin, always 0: a number that the verifier
 * knew would make it follow every iteration.
 */
u32 loop_start;

/*
 * Ends the policy with a message. @fmt takes one or more arguments, each an
 * integer printed with %lld or %llu.
 */
#define policy_error(fmt, args...)                               \
	({                                                       \
		static char text_[] = fmt;                       \
		unsigned long long args_[] = {args};             \
		scx_bpf_error_bstr(text_, args_, sizeof(args_)); \
	})

/*
 * Callbacks. The kernel passes arguments as an array of u64; these macros give
 * the body a normal prototype: s32 BPF_STRUCT_OPS(simple_select_cpu, struct
 * task_struct *p, s32 prev_cpu, u64 wake_flags) { … }
 */
#define OPS_PICK_(_0, _1, _2, _3, _4, name, ...) name
#define OPS_ARGS_0()
#define OPS_ARGS_1(a)	       (void *)ctx[0]
#define OPS_ARGS_2(a, b)       OPS_ARGS_1(a), (void *)ctx[1]
#define OPS_ARGS_3(a, b, c)    OPS_ARGS_2(a, b), (void *)ctx[2]
#define OPS_ARGS_4(a, b, c, d) OPS_ARGS_3(a, b, c), (void *)ctx[3]
#define OPS_ARGS(args...) \
	OPS_PICK_(_, ##args, OPS_ARGS_4, OPS_ARGS_3, OPS_ARGS_2, OPS_ARGS_1, OPS_ARGS_0)(args)

#define OPS_CALLBACK_(section, name, args...)                                              \
	SEC(section #name)                                                                 \
	name(unsigned long long *ctx);                                                     \
	static inline __attribute__((always_inline)) typeof(name(0)) body_of_##name(args); \
	typeof(name(0)) name(unsigned long long *ctx)                                      \
	{                                                                                  \
		_Pragma("GCC diagnostic push");                                            \
		_Pragma("GCC diagnostic ignored \"-Wint-conversion\"");                    \
		return body_of_##name(OPS_ARGS(args));                                     \
		_Pragma("GCC diagnostic pop");                                             \
	}                                                                                  \
	static inline __attribute__((always_inline)) typeof(name(0)) body_of_##name(args)

#define BPF_STRUCT_OPS(name, args...)		OPS_CALLBACK_("struct_ops/", name, ##args)
#define BPF_STRUCT_OPS_SLEEPABLE(name, args...) OPS_CALLBACK_("struct_ops.s/", name, ##args)

/*
 * What an object says about itself, as BTF decl tags that `rota list` reads. On a
 * tunable, `const volatile u64 depth help_text("…") unit(ns) … = …;`, which is fixed
 * when the policy is loaded; without the const it is live: `rota set` can change it at
 * any moment, so a decision reads it once. On the ops variable: help_text and paper.
 */
#define help_text(text) __attribute__((btf_decl_tag("help:" text)))
#define unit(name)	__attribute__((btf_decl_tag("unit:" #name)))
#define range(low, high) \
	__attribute__((btf_decl_tag("min:" #low))) __attribute__((btf_decl_tag("max:" #high)))
#define values(names) __attribute__((btf_decl_tag("values:" names)))
/* In ns: that of the kernel, which loaders know, unless it is set. */
#define follows_tick __attribute__((btf_decl_tag("follows:tick")))
/* A bool: whether the simulated kernel preempts at once, and not at the next tick. */
#define follows_preempt __attribute__((btf_decl_tag("follows:preempt")))
/* A bool: whether the kernel is older than this release of Linux. */
#define follows_before(release) __attribute__((btf_decl_tag("follows:before:" #release)))
/* In ns: that of the simulated kernel if that is known; what computes it has this value then. */
#define follows_base_slice     __attribute__((btf_decl_tag("follows:base_slice")))
#define with_base_slice(value) __attribute__((btf_decl_tag("with_base_slice:" #value)))
/* In a kernel: this value, unless it is set. */
#define in_kernel(value) __attribute__((btf_decl_tag("kernel:" #value)))
#define scale(factor)	 __attribute__((btf_decl_tag("scale:" #factor)))
/* inf and -inf are values, too: the greatest and the least number of the type. */
#define or_infinite __attribute__((btf_decl_tag("infinite:yes")))
#define paper(text) __attribute__((btf_decl_tag("paper:" text)))
/* On a member of the stats: it says how things are, rather than how often they happened. */
#define gauge __attribute__((btf_decl_tag("kind:gauge")))

/* SCX_OPS_DEFINE(fifo_ops) help_text("…") paper("…") = {.enqueue = …, .name = "fifo"}; */
#define SCX_OPS_DEFINE(variable) SEC(".struct_ops.link") struct sched_ext_ops variable

/*
 * What the policy heeds, of nice, share, slice, SCHED_BATCH, SCHED_IDLE, cpu.weight, cpu.max,
 * cpu.idle, autogroup, and in choosing an idle CPU SMT, LLC and NUMA: with commas; where a tunable
 * decides, "cpu.weight if cgroups", "SMT unless flat". It ignores the rest. Before the ops.
 */
#define SCX_OPS_HEED(variable, text) \
	extern struct sched_ext_ops variable __attribute__((btf_decl_tag("heeds:" text)))

/*
 * The class of its own that a kernel has or had and the policy stands for, "Linux's fair class".
 * There it is native code, and its time is a part of what a switch and a wakeup take: the simulated
 * machine counts the policy's instructions, but they take no time. Before the ops.
 */
#define SCX_OPS_STANDS_FOR(variable, text) \
	extern struct sched_ext_ops variable __attribute__((btf_decl_tag("stands-for:" text)))

/* Callbacks that are left out where the kernel does not have them; with commas, before the ops. */
#define SCX_OPS_OPTIONAL(variable, text) \
	extern struct sched_ext_ops variable __attribute__((btf_decl_tag("optional:" text)))

/* The usual one, live. quantum_now() keeps to its range whatever was written to it. */
#define QUANTUM_TUNABLE_OF(default_ns)                                                          \
	extern volatile u64 quantum_ns;                                                         \
	__kinline u64 quantum_now(void)                                                         \
	{                                                                                       \
		u64 ns = quantum_ns;                                                            \
		return ns < 100000 ? 100000 : ns > 1000000000 ? 1000000000 : ns;                \
	}                                                                                       \
	volatile u64 quantum_ns help_text("time a task runs before the next decision") unit(ns) \
	range(100000, 1000000000) = default_ns
#define QUANTUM_TUNABLE QUANTUM_TUNABLE_OF(10000000)

char _license[] SEC("license") = "GPL";

#endif
