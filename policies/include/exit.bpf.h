/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why the policy was unregistered, kept where a loader finds it. With
 * `.exit = (void *)record_exit` the kernel's reason goes into `uei`, by sched_ext's custom: the
 * names and members that other schedulers' loaders look for, so that any loader reads any
 * scheduler's.
 *
 * A loader that wants the debug dump makes the section of uei_dump as large as it likes
 * and sets uei_dump_len to that before loading; as it stands no dump is copied.
 */
#ifndef ROTA_EXIT_BPF_H
#define ROTA_EXIT_BPF_H

struct user_exit_info {
	s32 kind;     /* enum scx_exit_kind; not 0: all of the rest is filled in */
	s32 exit_cpu; /* where it happened, -1 if that is unknown */
	s64 exit_code;
	char reason[128];
	char msg[1024];
};

struct user_exit_info uei SEC(".data");
char uei_dump[1] SEC(".data.uei_dump");
const volatile u32 uei_dump_len;

static long (*const bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;

void BPF_STRUCT_OPS(record_exit, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(uei.reason, sizeof(uei.reason), info->reason);
	bpf_probe_read_kernel_str(uei.msg, sizeof(uei.msg), info->msg);
	bpf_probe_read_kernel_str(uei_dump, uei_dump_len, info->dump);
	uei.exit_code = info->exit_code;
	uei.exit_cpu = kernel_has_field(info->exit_cpu) ? info->exit_cpu : -1;
	/* An exchange orders: a reader that sees the kind sees all of the above. */
	__sync_lock_test_and_set(&uei.kind, info->kind);
}

#endif
