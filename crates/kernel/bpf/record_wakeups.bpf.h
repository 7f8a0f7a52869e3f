/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who woke a task, which sched_waking knows, and when it became runnable, which sched_wakeup
 * does.
 */
#ifndef ROTA_RECORD_WAKEUPS_BPF_H
#define ROTA_RECORD_WAKEUPS_BPF_H

#include "record_tasks.bpf.h"

extern const int __preempt_count __ksym __weak;

/* Until 6.14. */
struct pcpu_hot___old {
	int preempt_count;
} __attribute__((preserve_access_index));
extern const struct pcpu_hot___old pcpu_hot __ksym __weak;

/* What is neither an interrupt nor a softirq runs for the current task. */
__kinline bool in_interrupt(void)
{
	const struct pcpu_hot___old *hot;

	if (&__preempt_count) {
		const int *count = bpf_this_cpu_ptr(&__preempt_count);

		return *count & config.interrupt_mask;
	}
	if (!&pcpu_hot)
		return false;
	hot = bpf_this_cpu_ptr(&pcpu_hot);
	return hot->preempt_count & config.interrupt_mask;
}

__kinline void note_waker(struct task_struct *p, u32 waker)
{
	struct known *known = find(p);

	if (known) {
		known->waker = waker;
		known->waking_cpu = bpf_get_smp_processor_id();
		known->waking_ns = bpf_ktime_get_ns();
	}
}

SEC("tp_btf/sched_waking")
int on_waking(u64 *ctx)
{
	note_waker((void *)ctx[0], in_interrupt() ? 0 : (u32)bpf_get_current_pid_tgid());
	return 0;
}

/* Where the preemption count cannot be read. */
SEC("tp_btf/sched_waking")
int on_waking_blindly(u64 *ctx)
{
	note_waker((void *)ctx[0], (u32)bpf_get_current_pid_tgid());
	return 0;
}

/*
 * The task is on a run queue now. That may be on the CPU that will run it, after an interrupt
 * from the waker's, and the policy has heard of it before: the event has the time and place
 * where the wakeup began, but not before the task had left its CPU. One that was woken before
 * it did so simply goes on.
 */
SEC("tp_btf/sched_wakeup")
int on_wakeup(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct known *known = find(p);
	struct record *r;

	if (!known || read_int(p->on_cpu))
		return 0;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		count_lost();
		return 0;
	}
	fill(r, REC_WAKEUP, 0, p->pid, 0, 0);
	if (known->waking_ns) {
		r->b = known->waker;
		r->cpu = known->waking_cpu;
		r->time_ns = known->waking_ns > known->off_ns ? known->waking_ns : known->off_ns;
	}
	known->waking_ns = 0;
	submit(r);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int on_wakeup_new(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	if (find(p))
		emit(REC_WAKEUP, 0, p->pid, (u32)bpf_get_current_pid_tgid(), 0);
	return 0;
}

#endif
