/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is recorded of whom: what the reader asked for, and the tasks that it is told of.
 */
#ifndef ROTA_RECORD_TASKS_BPF_H
#define ROTA_RECORD_TASKS_BPF_H

#include "record.bpf.h"

#define CALL_WORDS 64

/* Set before loading; `configure()` in attach.rs has the same layout. */
const volatile struct {
	u32 only_tree; /* record only `tasks` and what they fork */
	u32 no_kthreads;
	u32 root_pid;	    /* the tree of this process, as our reader's namespace numbers it */
	u32 spawn;	    /* the tree of what our reader's first thread forks */
	u32 interrupt_mask; /* bits of the preemption count that say: not in a task */
	u32 dispatch_task;  /* which argument of the hooked function is the task … */
	u32 dispatch_queue; /* … and which the queue, or its id */
	u32 queue_is_id;
	u32 move_task;	   /* the same for the function that moves to the CPU's own queue */
	u32 hard_mask;	   /* of interrupt_mask: not in a softirq either */
	u32 only_cgroup;   /* record only tasks that come into this cgroup … */
	u32 cgroup_id_low; /* … or below it */
	u32 cgroup_id_high;
	u32 detail;	/* callbacks and queues are recorded, too */
	u32 sleep_call; /* number of clock_nanosleep */
	u32 transfers;	/* bytes that tasks give to each other are recorded */
	u32 read_call;	/* numbers of calls that move them */
	u32 readv_call;
	u32 write_call;
	u32 writev_call;
	u32 close_call;
	u32 sends[CALL_WORDS]; /* system calls that send to a socket, one bit for each */
} config = {};

/* The reader. */
u32 reader_process;
u32 reader_thread;
/* How far below the root the cgroup is. */
u32 cgroup_level;

#define PF_KTHREAD  0x00200000
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

__kinline u64 wanted_cgroup(void)
{
	return config.cgroup_id_low | (u64)config.cgroup_id_high << 32;
}

__kinline bool in_cgroup(const struct task_struct *p)
{
	const struct cgroup *own = NULL, *above = NULL;
	const struct css_set *set = NULL;
	const struct kernfs_node *node = NULL;
	int level = 0;
	u64 id = 0;

	read_field(&set, p->cgroups);
	read_field(&own, set->dfl_cgrp);
	read_field(&level, own->level);
	if (level < (int)cgroup_level)
		return false;
	read_field(&above, own->ancestors[cgroup_level]);
	read_field(&node, above->kn);
	read_field(&id, node->id);
	return id == wanted_cgroup();
}

__kinline bool wanted(const struct task_struct *p)
{
	if (!p->pid || (u32)p->tgid == reader_process)
		return false;
	if (config.no_kthreads && p->flags & PF_KTHREAD)
		return false;
	return !config.only_cgroup || in_cgroup(p);
}

#define PIDTYPE_SID    3
#define SCHED_FIFO     1
#define SCHED_RR       2
#define SCHED_DEADLINE 6
#define PRIO_OF_NICE_0 120

/*
 * The cgroup that the task shares in: the nearest one with the cpu controller. The group of a
 * session (autogroup) is none.
 */
__kinline u64 group_of(const struct task_struct *p)
{
	struct task_group *group = NULL;
	struct cgroup *cgroup = NULL;
	struct kernfs_node *node = NULL;
	u64 id = 0;

	if (!has_field(p->sched_task_group))
		return 0;
	read_field(&group, p->sched_task_group);
	if (group)
		read_field(&cgroup, group->css.cgroup);
	if (cgroup)
		read_field(&node, cgroup->kn);
	if (node)
		read_field(&id, node->id);
	return id;
}

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
