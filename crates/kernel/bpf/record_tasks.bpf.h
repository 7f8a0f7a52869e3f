/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is told of the tasks that are recorded.
 */
#ifndef ROTA_RECORD_TASKS_BPF_H
#define ROTA_RECORD_TASKS_BPF_H

#include "record.bpf.h"
#include "record_begin.bpf.h"

#define TASK_QUEUED 1  /* p->scx.flags: it is sched_ext's */
#define LOAD_SHIFT  10 /* scale_load() of 64-bit kernels */

__kinline bool is_ext(const struct task_struct *p)
{
	return has_field(p->scx.flags) && p->scx.flags & TASK_QUEUED;
}

/* As sched_ext counts it: 100 is nice 0. */
__kinline u32 weight_of(const struct task_struct *p)
{
	u64 weight;

	if (is_ext(p) && p->scx.weight)
		return p->scx.weight;
	weight = ((p->se.load.weight >> LOAD_SHIFT) * 100 + 512) >> LOAD_SHIFT;
	return weight < 1 ? 1 : weight > 10000 ? 10000 : weight;
}

/* What is left of its turn, as far as its class has turns. */
__kinline u64 slice_of(const struct task_struct *p)
{
	if (is_ext(p))
		return p->scx.slice;
	return has_field(p->se.slice) ? p->se.slice : 0;
}

#define PIDTYPE_SID    3
#define SCHED_FIFO     1
#define SCHED_RR       2
#define SCHED_DEADLINE 6
#define PRIO_OF_NICE_0 120

__kinline u32 session_of(const struct task_struct *p)
{
	struct signal_struct *signal = NULL;
	struct pid *session = NULL;
	u32 number = 0;

	read_field(&signal, p->signal);
	if (signal)
		read_field(&session, signal->pids[PIDTYPE_SID]);
	if (session)
		read_field(&number, session->numbers[0].nr);
	return number;
}

/* How it is set to be scheduled. */
__kinline void fill_settings(struct task_record *r, const struct task_struct *p)
{
	u32 policy = p->policy;

	r->group = group_of(p);
	r->session = session_of(p);
	r->policy = policy;
	r->runtime = r->deadline = r->period = 0;
	r->priority = 0;
	if (policy == SCHED_FIFO || policy == SCHED_RR) {
		r->priority = p->rt_priority;
	} else if (policy == SCHED_DEADLINE) {
		r->runtime = p->dl.dl_runtime;
		r->deadline = p->dl.dl_deadline;
		r->period = p->dl.dl_period;
	} else {
		r->priority = p->static_prio - PRIO_OF_NICE_0;
		if (has_field(p->se.custom_slice) && p->se.custom_slice)
			r->runtime = p->se.slice;
	}
}

__kinline void emit_task(const struct task_struct *p, u16 flags, u32 cpu, const char *comm)
{
	struct task_record *r = reserve(sizeof(*r));
	unsigned long cpus = 0;

	if (!r)
		return;
	if (p->flags & PF_KTHREAD)
		flags |= IS_KTHREAD;
	read_field(&cpus, p->cpus_mask.bits[0]);
	fill(&r->head, REC_TASK, flags, p->pid, p->tgid, cpus);
	r->head.cpu = cpu;
	r->weight = weight_of(p);
	r->nr_cpus_allowed = p->nr_cpus_allowed;
	fill_settings(r, p);
	if (bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), comm) < 0)
		r->comm[0] = 0;
	submit(r);
}

/* With each task that is recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct known);
} tasks SEC(".maps");

/* From now on the task is recorded. */
__kinline struct known *add(struct task_struct *p)
{
	struct known *known = bpf_task_storage_get(&tasks, p, NULL, CREATE);
	u32 pid = p->pid;

	if (!known)
		return NULL;
	known->weight = weight_of(p);
	if (config.detail)
		bpf_map_update_elem(&pids, &pid, &pid, BPF_ANY);
	return known;
}

__kinline struct known *introduce(struct task_struct *p)
{
	struct known *known = add(p);

	if (known)
		emit_task(p, 0, bpf_get_smp_processor_id(), p->comm);
	return known;
}

/* What is kept of a task that is recorded; it is introduced if that was not done yet. */
__kinline struct known *find(struct task_struct *p)
{
	struct known *known;

	if (!p->pid)
		return NULL;
	known = bpf_task_storage_get(&tasks, p, NULL, 0);
	if (known || config.only_tree || !wanted(p))
		return known;
	return introduce(p);
}

__kinline void update_weight(struct known *known, const struct task_struct *p)
{
	u32 weight = weight_of(p);

	if (known->weight == weight)
		return;
	known->weight = weight;
	emit_task(p, 0, bpf_get_smp_processor_id(), p->comm);
}

#endif
