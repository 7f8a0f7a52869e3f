/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The system call that a task is in.
 */
#ifndef ROTA_RECORD_CALLS_BPF_H
#define ROTA_RECORD_CALLS_BPF_H

#include "record_tasks.bpf.h"

struct pt_regs___x86 {
	unsigned long orig_ax, si, di;
} __attribute__((preserve_access_index));

struct pt_regs___arm64 {
	u64 regs[31];
	int syscallno;
	u64 orig_x0;
} __attribute__((preserve_access_index));

/* Its number; -1: it is in none, or this machine's registers are not known here. */
__kinline int call_of(struct task_struct *p)
{
	struct pt_regs___x86 *x86;
	struct pt_regs___arm64 *arm64;

	if (p->flags & PF_KTHREAD)
		return -1;
	x86 = (void *)bpf_task_pt_regs(p);
	arm64 = (void *)x86;
	if (has_field(x86->orig_ax))
		return x86->orig_ax;
	if (has_field(arm64->syscallno))
		return arm64->syscallno;
	return -1;
}

/* The first argument of the call, as long as the task is in it. */
__kinline u64 first_argument(struct task_struct *p)
{
	struct pt_regs___x86 *x86 = (void *)bpf_task_pt_regs(p);
	struct pt_regs___arm64 *arm64 = (void *)x86;

	if (has_field(x86->di))
		return x86->di;
	return has_field(arm64->orig_x0) ? arm64->orig_x0 : -1;
}

#define TIMER_ABSTIME 1

/* Does a task in clock_nanosleep sleep until a time? */
__kinline bool sleeps_until(struct task_struct *p)
{
	struct pt_regs___x86 *x86 = (void *)bpf_task_pt_regs(p);
	struct pt_regs___arm64 *arm64 = (void *)x86;

	if (has_field(x86->si))
		return x86->si & TIMER_ABSTIME;
	return has_field(arm64->regs) && arm64->regs[1] & TIMER_ABSTIME;
}

/* Flags of a switch that tell of it. */
__kinline u16 call_flags(struct task_struct *p)
{
	u32 call = call_of(p) + 1;
	u16 flags;

	if (call > OFF_CALL_MOST)
		return 0;
	flags = call << OFF_CALL_SHIFT;
	if (call == config.sleep_call + 1 && sleeps_until(p))
		flags |= OFF_UNTIL;
	return flags;
}

__kinline bool sends(struct task_struct *p)
{
	u32 call = call_of(p);

	return call < CALL_WORDS * 32 &&
	       config.sends[(call / 32) & (CALL_WORDS - 1)] >> (call % 32) & 1;
}

#endif
