/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is there when the recording begins.
 */
#ifndef ROTA_RECORD_SNAPSHOT_BPF_H
#define ROTA_RECORD_SNAPSHOT_BPF_H

#include "record_tasks.bpf.h"

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

/*
 * What all tasks do at the beginning. A task that has changed since has told so before: the
 * time is taken after its state is read.
 */
SEC("iter/task")
int snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	u16 state = WAS_SLEEPING;

	if (!p || !wanted(p))
		return 0;
	if (config.only_tree && (!config.root_pid || !descends(p)))
		return 0;
	if (read_int(p->on_cpu))
		state = WAS_RUNNING;
	else if (read_int(p->on_rq) && !read_int(p->se.sched_delayed))
		state = WAS_RUNNABLE;
	if (bpf_task_storage_get(&tasks, p, NULL, 0) || add(p))
		emit_task(p, state, p->thread_info.cpu, p->comm);
	return 0;
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
