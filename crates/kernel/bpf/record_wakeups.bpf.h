/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who woke a task, which sched_waking knows, and when it became runnable, which sched_wakeup
 * does.
 */
#ifndef ROTA_RECORD_WAKEUPS_BPF_H
#define ROTA_RECORD_WAKEUPS_BPF_H

#include "record_calls.bpf.h"
#include "record_cost.bpf.h"

extern const int __preempt_count __ksym __weak;

/* Until 6.14. */
struct pcpu_hot___old {
	int preempt_count;
} __attribute__((preserve_access_index));
extern const struct pcpu_hot___old pcpu_hot __ksym __weak;

/*
 * What this CPU does right now besides its task, as far as tracepoints tell. None of it nests,
 * and the first end may be seen without its beginning.
 */
struct doing {
	bool hrtimer;
	bool timer;
	bool handler; /* of a device */
	bool softirq;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct doing);
} doing SEC(".maps");

__kinline struct doing *this_cpu_does(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&doing, &zero);
}

#define NOTE(tracepoint, member, value)               \
	SEC("tp_btf/" #tracepoint)                    \
	int on_##tracepoint(u64 *ctx)                 \
	{                                             \
		struct doing *does = this_cpu_does(); \
                                                      \
		if (does)                             \
			does->member = value;         \
		return 0;                             \
	}

NOTE(hrtimer_expire_entry, hrtimer, true)
NOTE(hrtimer_expire_exit, hrtimer, false)
NOTE(timer_expire_entry, timer, true)
NOTE(timer_expire_exit, timer, false)
/* Where the preemption count cannot be read. */
NOTE(irq_handler_entry, handler, true)
NOTE(irq_handler_exit, handler, false)
NOTE(softirq_entry, softirq, true)
NOTE(softirq_exit, softirq, false)

/* Bits of the preemption count; none: what runs does so for the current task. */
__kinline u32 interrupts(void)
{
	const struct pcpu_hot___old *hot;
	const int *count;

	if (&__preempt_count) {
		count = bpf_this_cpu_ptr(&__preempt_count);
		return *count & config.interrupt_mask;
	}
	if (!&pcpu_hot)
		return 0;
	hot = bpf_this_cpu_ptr(&pcpu_hot);
	return hot->preempt_count & config.interrupt_mask;
}

/* The same by what was noted. */
__kinline u32 noted_interrupts(const struct doing *does)
{
	if (does->hrtimer || does->handler)
		return config.hard_mask;
	return does->softirq ? config.interrupt_mask & ~config.hard_mask : 0;
}

__kinline void note_waker(struct task_struct *p, u32 waker, u16 flags)
{
	u64 begin_ns = begin_cost(COST_WAKING);
	struct known *known = find(p);

	if (known) {
		known->waker = waker;
		known->waking_flags = flags;
		known->waking_cpu = bpf_get_smp_processor_id();
		known->waking_ns = bpf_ktime_get_ns();
		end_cost(COST_WAKING, begin_ns, known->waking_ns);
	}
}

/*
 * What a task sends to a socket of this machine is received in a softirq right after, on the
 * same CPU: the sender wakes the receiver.
 */
__kinline void waking(struct task_struct *p, const struct doing *does, u32 in)
{
	u16 flags = BY_INTERRUPT;
	u32 waker = 0;

	if (!in || (!(in & config.hard_mask) && sends(bpf_get_current_task_btf()))) {
		waker = bpf_get_current_pid_tgid();
		flags = 0;
	} else if (does->hrtimer || does->timer) {
		flags = BY_TIMER;
	}
	note_waker(p, waker, flags);
}

SEC("tp_btf/sched_waking")
int on_waking(u64 *ctx)
{
	struct doing *does = this_cpu_does();

	if (does)
		waking((void *)ctx[0], does, interrupts());
	return 0;
}

/* Where the preemption count cannot be read. */
SEC("tp_btf/sched_waking")
int on_waking_by_notes(u64 *ctx)
{
	struct doing *does = this_cpu_does();

	if (does)
		waking((void *)ctx[0], does, noted_interrupts(does));
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
	u64 begin_ns;

	if (!known || read_int(p->on_cpu))
		return 0;
	begin_ns = begin_cost(COST_RUNNABLE);
	r = reserve(sizeof(*r));
	if (!r)
		return 0;
	if (!known->waking_ns) {
		fill(r, REC_WAKEUP, 0, p->pid, 0, 0);
		submit(r);
		return 0;
	}
	r->time_ns = known->waking_ns > known->off_ns ? known->waking_ns : known->off_ns;
	r->kind = REC_WAKEUP;
	r->flags = known->waking_flags;
	r->cpu = known->waking_cpu;
	r->a = p->pid;
	r->b = known->waker;
	r->c = 0;
	known->waking_ns = 0;
	submit(r);
	if (begin_ns)
		end_cost(COST_RUNNABLE, begin_ns, bpf_ktime_get_ns());
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
