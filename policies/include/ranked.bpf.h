/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The waiting tasks, of which a decision takes the first: slots in a heap, or in a
 * list that each decision walks [VTRR §2.4, §5.2]. Both lead to the same picks.
 *
 * The policy that includes this defines before it
 *  - ranks_above(a, b): which slot comes first, in an order of all tasks that changes for
 *    none of them while it waits (or only for one that is settled anew right after);
 *  - pick_rule_differs(): if true, not that order decides but
 *  - runs_before(a, b), for which every decision compares each waiting task;
 *  - stats.scans.
 * Everything here needs its lock.
 */
#ifndef ROTA_RANKED_BPF_H
#define ROTA_RANKED_BPF_H

#include "slots.bpf.h"

enum queue_kind { QUEUE_HEAP, QUEUE_LIST };
const volatile u32 queue
	help_text("waiting tasks are kept in a heap, or in a list that each decision walks")
	values("heap|list") = QUEUE_HEAP;

u32 ranked[NR_SLOTS];	 /* slots, from 1; in a heap no parent is after its children */
u32 ranked_at[NR_SLOTS]; /* a slot's place there, 0: does not wait */
u32 ranked_len;
u32 put_off; /* was preempted last and does not wait again yet, 0: none */

static u32 place_of(u32 slot)
{
	return ranked_at[slot & SLOT_MASK];
}

static void ranked_put(u32 at, u32 slot)
{
	ranked[at & SLOT_MASK] = slot;
	ranked_at[slot & SLOT_MASK] = at;
}

/*
 * Moves @slot from place @at to where it belongs, towards the root or away from it.
 * Adding loop_start, 0, keeps the verifier from telling places apart.
 */
static void ranked_settle(u32 at, u32 slot)
{
	while (queue == QUEUE_HEAP && at > 1 && can_loop()) {
		u32 parent = ranked[(at / 2) & SLOT_MASK];

		if (!ranks_above(slot, parent))
			break;
		ranked_put(at, parent);
		at = at / 2 + loop_start;
	}
	at += loop_start;
	while (queue == QUEUE_HEAP && at * 2 <= ranked_len && can_loop()) {
		u32 below = at * 2, child = ranked[below & SLOT_MASK];

		if (below < ranked_len && ranks_above(ranked[(below + 1) & SLOT_MASK], child)) {
			below++;
			child = ranked[below & SLOT_MASK];
		}
		if (!ranks_above(child, slot))
			break;
		ranked_put(at, child);
		at = below + loop_start;
	}
	ranked_put(at, slot);
}

static void ranked_add(u32 slot)
{
	put_off = put_off == slot ? 0 : put_off;
	if (slot && !place_of(slot))
		ranked_settle(++ranked_len, slot);
}

static void ranked_remove(u32 slot)
{
	u32 at = place_of(slot), last = ranked[ranked_len & SLOT_MASK];

	put_off = put_off == slot ? 0 : put_off;
	if (!at)
		return;
	ranked_at[slot & SLOT_MASK] = 0;
	ranked_len--;
	if (last != slot)
		ranked_settle(at, last);
}

/* The first of all that wait, 0: none does. */
static u32 ranked_first(void)
{
	u32 first = ranked_len ? ranked[1] : 0, at;

	for (at = loop_start + 2; queue == QUEUE_LIST && at <= ranked_len && can_loop(); at++) {
		u32 slot = ranked[at & SLOT_MASK];

		if (ranks_above(slot, first))
			first = slot;
	}
	return first;
}

struct choice {
	u32 slot;
	u32 candidates; /* 0, 1, or several */
};

/* The best of all waiting clients that may use @cpu, by looking at each. */
static struct choice ranked_scan(u32 cpu)
{
	struct choice best = {.candidates = loop_start};
	u32 at;

	stats.scans++;
	for (at = loop_start + 1; at <= ranked_len && can_loop(); at++) {
		u32 slot = ranked[at & SLOT_MASK];

		if (!slot_may_use(slot, cpu))
			continue;
		best.candidates++;
		if (!best.slot || runs_before(slot, best.slot))
			best.slot = slot;
	}
	return best;
}

/* Is a task on the way to the waiting ones that could use @cpu? */
static bool put_off_may_use(u32 cpu)
{
	return put_off && slot_may_use(put_off, cpu);
}

/* The client to run on @cpu next: one that waits, or @prev (0: none). */
static struct choice ranked_pick(u32 cpu, u32 prev)
{
	struct choice best = {.candidates = ranked_len};
	bool others = put_off_may_use(cpu);

	if (!pick_rule_differs())
		best.slot = ranked_first();
	if (ranked_len && !(best.slot && slot_may_use(best.slot, cpu)))
		best = ranked_scan(cpu);
	if (prev) {
		best.candidates++;
		if (!best.slot || runs_before(prev, best.slot))
			best.slot = prev;
		if (best.slot != prev)
			put_off = prev;
	}
	best.candidates += others;
	return best;
}

/* Could a task that waits, or is about to, use @cpu? Checks the first only. */
static inline bool ranked_first_may_use(u32 cpu)
{
	u32 first = ranked_first();

	return (first && slot_may_use(first, cpu)) || put_off_may_use(cpu);
}

#endif
