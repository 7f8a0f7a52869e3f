/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task of a group goes to sleep, the rest of that group goes first, if it is eligible, as
 * that task would have run on: the part of the group is the buddy of the queue around it, and so
 * are those above it. As kernel/sched/fair.c of Linux 7.2 has it, with the functions named; tasks
 * are no buddies (NEXT_BUDDY is off, and no task here yields to another). Needs the lock.
 */
#ifndef ROTA_EEVDF_BUDDIES_BPF_H
#define ROTA_EEVDF_BUDDIES_BPF_H

const volatile bool no_pick_buddy
	help_text("the rest of a group does not go first where one of its tasks went to sleep");

/* (set_next_buddy) */
static __attribute__((noinline)) void set_buddies(u32 part)
{
	u32 level;

	for (level = loop_start; part && level < MOST_LEVELS && can_loop_afresh(); level++) {
		if (group_at(client_at(part)->own.group)->idle)
			return;
		queue_around(client_at(part))->buddy = part;
		part = above(part);
	}
}

/* (__clear_buddies_next) */
static __attribute__((noinline)) void clear_buddies_up(u32 part)
{
	u32 level;

	for (level = loop_start; part && level < MOST_LEVELS && can_loop_afresh(); level++) {
		struct entity_queue *q = queue_around(client_at(part));

		if (q->buddy != part)
			return;
		q->buddy = 0;
		part = above(part);
	}
}

/* (clear_buddies) */
static void clear_buddies(u32 part)
{
	if (queue_around(client_at(part))->buddy == part)
		clear_buddies_up(part);
}

/* One left a queue, that of @part. If others are there, they go first. (dequeue_entities) */
static void one_went(u32 part, u8 went)
{
	if (!part)
		return;
	client_at(part)->own.went = went;
	if (went != WENT_AWAY && queue_at(client_at(part)->own.mine)->load)
		set_buddies(part);
}

/*
 * That of a queue, if it can be picked; 0: none. What has the CPU is charged before a pick, and is
 * no buddy any more if it has had what protects it. (pick_task_fair, update_curr, pick_eevdf)
 */
static u32 buddy_in(const struct entity_queue *q)
{
	u32 buddy = q->buddy;
	const struct client *c = client_at(buddy);
	bool has_cpu = q->curr == buddy;

	if (no_pick_buddy || !buddy || (!c->waits && !has_cpu))
		return 0;
	if (has_cpu && q->nr > 1 && c->vruntime >= c->own.protected_to) {
		clear_buddies_up(buddy);
		return 0;
	}
	return is_eligible(c) ? buddy : 0;
}

#endif
