/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom to watch: what the reader asked for, and which tasks that are at the beginning. Recording
 * and counting have it in common.
 */
#ifndef ROTA_RECORD_BEGIN_BPF_H
#define ROTA_RECORD_BEGIN_BPF_H

#include "helpers.bpf.h"

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

#define PF_KTHREAD 0x00200000

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

#define MOST_ANCESTORS 64

/* A process's number as the reader's pid namespace has it; 0: it is not in there. */
__kinline u32 number_of(struct task_struct *p)
{
	struct task_struct *reader = bpf_get_current_task_btf();
	struct pid *ours = NULL, *its = NULL;
	struct pid_namespace *our_ns = NULL, *its_ns = NULL;
	u32 level = 0, its_level = 0;
	u32 nr = 0;

	read_field(&ours, reader->thread_pid);
	read_field(&its, p->thread_pid);
	if (!ours || !its)
		return 0;
	read_field(&level, ours->level);
	read_field(&its_level, its->level);
	if (its_level < level)
		return 0;
	read_field(&our_ns, ours->numbers[level].ns);
	read_field(&its_ns, its->numbers[level].ns);
	if (our_ns == its_ns)
		read_field(&nr, its->numbers[level].nr);
	return nr;
}

__kinline bool descends(struct task_struct *p)
{
	for (int i = 0; i < MOST_ANCESTORS; i++) {
		struct task_struct *parent = NULL, *leader = NULL;

		read_field(&leader, p->group_leader);
		if (!leader)
			return false;
		if (number_of(leader) == config.root_pid)
			return true;
		read_field(&parent, leader->real_parent);
		if (!parent || parent == leader)
			return false;
		p = parent;
	}
	return false;
}

extern struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
extern void bpf_cgroup_release(struct cgroup *cgroup) __ksym;

/* Run by the reader before anything is attached. Not 0: the cgroup is not there. */
SEC("syscall")
int begin(void *ctx)
{
	u64 id = bpf_get_current_pid_tgid();
	struct cgroup *cgroup;

	reader_process = id >> 32;
	reader_thread = id;
	if (!config.only_cgroup)
		return 0;
	cgroup = bpf_cgroup_from_id(wanted_cgroup());
	if (!cgroup)
		return 1;
	cgroup_level = cgroup->level;
	bpf_cgroup_release(cgroup);
	return 0;
}

#endif
