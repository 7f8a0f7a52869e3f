/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks of the root cgroup are grouped by session, each with the weight of a task of nice 0, as in
 * kernel/sched/autogroup.c of Linux 7.2. The kernel makes such a group at setsid(); here it is made
 * for the first task of a session that comes. Tasks of session 0 and 1, those of the kernel and of
 * init, are in none. Nice values of autogroups (/proc/PID/autogroup) are not known here. Needs the
 * lock, but for reading a task's session.
 */
#ifndef ROTA_EEVDF_SESSIONS_BPF_H
#define ROTA_EEVDF_SESSIONS_BPF_H

const volatile bool autogroup help_text("tasks outside of cgroups take part by session "
					"(kernel.sched_autogroup_enabled)") = true;

static u32 session_of(struct task_struct *p)
{
	return p->signal->pids[PIDTYPE_SID]->numbers[0].nr;
}

/* (autogroup_task_group) */
static __attribute__((noinline)) u32 autogroup_of(u32 session)
{
	u32 group;

	if (!autogroup || !cgroups || session < 2)
		return 0;
	for (group = 1 + loop_start; group <= groups_used && can_loop(); group++)
		if (group_at(group)->session == session && group_at(group)->users)
			return group;
	group = group_take(0, NICE_0_WEIGHT);
	if (group) {
		group_at(group)->session = session;
		group_at(group)->users = 0; /* no cgroup holds it */
	}
	return group;
}

static u32 group_in(u32 slot, u32 group)
{
	struct own_part *own = &client_at(slot)->own;

	own->in_cgroup = group;
	return group ? group : autogroup_of(own->session);
}

/* (sched_autogroup_create_attach, autogroup_move_group) */
__kinline void change_session(u32 slot, u32 session)
{
	struct own_part *own = &client_at(slot)->own;

	own->session = session;
	if (!own->in_cgroup)
		regroup(slot, autogroup_of(session));
}

static void follow_session(u32 slot, struct task_struct *p)
{
	/* Without groups a verifier sees none of it. */
	if (autogroup && cgroups && session_of(p) != client_at(slot)->own.session)
		change_session(slot, session_of(p));
}

#endif
