/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Times one callback of the loaded policy, whoever loaded it. The recorder loads this object
 * once for each callback; the maps are those of record.bpf.c.
 */
#include "record.bpf.h"

/* Set before loading; `set_up()` in callbacks.rs has the same layout. */
const volatile struct {
	u32 op;		/* number that the reader knows it by */
	u32 takes_task; /* the first argument is a task */
	u32 is_enqueue; /* enqueue(task, flags) */
	u32 is_exit;	/* exit(info) */
	u32 sleepable;	/* may end on another CPU than it began on */
} config = {};

/* When the call under way on a CPU began. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} began SEC(".maps");

/* The same for callbacks that sleep, by the task that calls. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u64);
} began_by_task SEC(".maps");

/* Argument of the callback: its context is an array of them. */
__kinline u64 argument(u64 *ctx, u32 n)
{
	u64 args = 0, value = 0;

	if (!bpf_get_func_arg(ctx, 0, &args))
		bpf_probe_read_kernel(&value, sizeof(value), (void *)(args + n * sizeof(u64)));
	return value;
}

/* Is it about a task that is recorded, or about none? */
__kinline bool about(u64 *ctx, u32 *pid)
{
	*pid = 0;
	if (!config.takes_task)
		return true;
	read_field(pid, ((struct task_struct *)argument(ctx, 0))->pid);
	return bpf_map_lookup_elem(&pids, pid);
}

__kinline void emit_exit(u64 *ctx)
{
	struct scx_exit_info *info = (void *)argument(ctx, 0);
	struct exit_record *r;
	const char *text = NULL;
	u32 kind = 0;
	s64 code = 0;

	if (!has_field(info->kind))
		return;
	read_field(&kind, info->kind);
	read_field(&code, info->exit_code);
	r = reserve(sizeof(*r));
	if (!r)
		return;
	fill(&r->head, REC_POLICY_EXIT, 0, kind, 0, code);
	r->reason[0] = 0;
	r->message[0] = 0;
	read_field(&text, info->reason);
	bpf_probe_read_kernel_str(r->reason, sizeof(r->reason), text);
	read_field(&text, info->msg);
	bpf_probe_read_kernel_str(r->message, sizeof(r->message), text);
	submit(r);
}

SEC("fentry")
int before_op(u64 *ctx)
{
	u32 zero = 0, pid, caller;
	u64 now, *place;

	if (config.is_exit)
		emit_exit(ctx);
	if (config.is_enqueue && about(ctx, &pid))
		emit(REC_ENQUEUE, 0, pid, 0, argument(ctx, 1));
	if (config.sleepable) {
		caller = (u32)bpf_get_current_pid_tgid();
		now = bpf_ktime_get_ns();
		bpf_map_update_elem(&began_by_task, &caller, &now, BPF_ANY);
		return 0;
	}
	place = bpf_map_lookup_elem(&began, &zero);
	if (place)
		*place = bpf_ktime_get_ns();
	return 0;
}

SEC("fexit")
int after_op(u64 *ctx)
{
	u32 zero = 0, pid, caller = (u32)bpf_get_current_pid_tgid();
	u64 now = bpf_ktime_get_ns(), *place;

	if (config.sleepable)
		place = bpf_map_lookup_elem(&began_by_task, &caller);
	else
		place = bpf_map_lookup_elem(&began, &zero);
	/* 0: it began before we were there. */
	if (!place || !*place)
		return 0;
	if (about(ctx, &pid))
		emit(REC_OP, 0, pid, config.op, now - *place);
	*place = 0;
	return 0;
}
