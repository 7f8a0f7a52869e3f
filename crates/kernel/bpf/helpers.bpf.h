/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all programs that watch the scheduler call: helpers, and reads of fields.
 */
#ifndef ROTA_HELPERS_BPF_H
#define ROTA_HELPERS_BPF_H

#include "kernel.bpf.h"

/* Helpers, by their number in the kernel's ABI. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
					 u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*const bpf_probe_read_kernel)(void *dst, u32 size, const void *src) = (void *)113;
static long (*const bpf_probe_read_kernel_str)(void *dst, u32 size, const void *src) = (void *)115;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void *(*const bpf_this_cpu_ptr)(const void *percpu) = (void *)154;
static void *(*const bpf_task_storage_get)(void *map, struct task_struct *p, void *value,
					   u64 flags) = (void *)156;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;
static struct pt_regs *(*const bpf_task_pt_regs)(struct task_struct *p) = (void *)175;
static long (*const bpf_get_func_arg)(void *ctx, u32 n, u64 *value) = (void *)183;
static long (*const bpf_get_func_ret)(void *ctx, u64 *value) = (void *)184;

#define __noinline	 __attribute__((noinline))
#define NO_WAKEUP	 1 /* BPF_RB_NO_WAKEUP, ABI */
#define CREATE		 1 /* BPF_LOCAL_STORAGE_GET_F_CREATE, ABI */
#define has_field(field) (!!__builtin_preserve_field_info(field, 2))
/* Reads a field through a pointer that the verifier knows nothing about. */
#define read_field(dst, field) \
	bpf_probe_read_kernel(dst, sizeof(*(dst)), __builtin_preserve_access_index(&(field)))
/* An integer whose size depends on the kernel; 0 if there is none. Little-endian. */
#define read_int(field)                                                                   \
	({                                                                                \
		u64 value_ = 0;                                                           \
		if (has_field(field))                                                     \
			bpf_probe_read_kernel(&value_,                                    \
					      __builtin_preserve_field_info(field, 1),    \
					      __builtin_preserve_access_index(&(field))); \
		value_;                                                                   \
	})

char _license[] SEC("license") = "GPL";

#endif
