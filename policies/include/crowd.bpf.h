/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All tasks that are active, in a ring: a task that comes is added behind all others in terms of a
 * place, the turn, that goes round. Slot 0, which is no task, is where the ring begins and ends.
 * Everything here needs the lock.
 */
#ifndef ROTA_CROWD_BPF_H
#define ROTA_CROWD_BPF_H

#include "slots.bpf.h"

u32 crowd_next[NR_SLOTS];
u32 crowd_before[NR_SLOTS];
u8 crowd_has[NR_SLOTS];
u32 crowd_turn; /* the slot with the next turn */
u32 crowd_len;

static u32 next_in_crowd(u32 slot)
{
	return crowd_next[slot & SLOT_MASK] & SLOT_MASK;
}

static void crowd_add(u32 slot)
{
	u32 after = crowd_turn & SLOT_MASK, before = crowd_before[after] & SLOT_MASK;

	slot &= SLOT_MASK;
	if (!slot || crowd_has[slot])
		return;
	crowd_has[slot] = 1;
	crowd_next[slot] = after;
	crowd_before[slot] = before;
	crowd_next[before] = slot;
	crowd_before[after] = slot;
	crowd_len++;
}

static void crowd_remove(u32 slot)
{
	u32 after, before;

	slot &= SLOT_MASK;
	if (!crowd_has[slot])
		return;
	after = crowd_next[slot] & SLOT_MASK;
	before = crowd_before[slot] & SLOT_MASK;
	crowd_has[slot] = 0;
	crowd_next[before] = after;
	crowd_before[after] = before;
	crowd_len--;
	if (crowd_turn == slot)
		crowd_turn = after;
}

#endif
