/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The decision in constant time [PBS §5.5, Algorithm 1].
 *
 * The leaders (L of them) are those that had the greatest priorities, as predicted for the
 * time by which half of the others will have been compared. A decision compares them, M others
 * in turn, so that every task is compared in n / M decisions, and the task that ran. The greatest
 * priority of now wins; of the others the greatest predicted ones lead next
 * time. (In the paper the winner leads, too. Here it is compared anyway, and has no place that
 * another one could have.) While there are fewer leaders, as many others more are compared. Tasks
 * that came since the last decision are compared by the next one, the last L of them.
 *
 * Loops here add what a comparison gave instead of branching on it, and keep what they found in
 * arrays: a verifier follows every way through a loop, and a branch that counts has two.
 *
 * The policy that includes this defines struct client with `last_look`, may_be_picked(),
 * priority() and beats(). Everything here needs its lock.
 */
#ifndef ROTA_PBS_CONSTANT_BPF_H
#define ROTA_PBS_CONSTANT_BPF_H

#define MAX_LEADERS 16
#define MAX_LOOKS   64
#define LOOKED_MASK 127 /* of one decision: up to 2 MAX_LEADERS + MAX_LOOKS + 1 clients */

const volatile u32 leaders help_text("L of mode=constant: leading tasks compared by each decision")
range(2, 16) = 2;
const volatile u32 looks help_text("M of mode=constant: others compared, in turn") range(2, 64) = 4;

struct look {
	s64 now, later; /* the priority, and the predicted one */
	u32 slot;
};

u32 leading[MAX_LEADERS];	/* the one with the greatest predicted priority first; 0: none */
s64 lead_priority[MAX_LEADERS]; /* of use in one decision only */
u32 comers[MAX_LEADERS];
u32 nr_came;	 /* since the last decision */
u64 looking = 1; /* which decision this is */
struct look looked[LOOKED_MASK + 1];

static void note_comer(u32 slot)
{
	comers[nr_came++ % leaders % MAX_LEADERS] = slot;
}

/* Adds @slot as the @nr-th if it @may be (0 or 1) and was not yet: how many there are then. */
static u32 look_at(u32 nr, u32 slot, u32 may)
{
	struct client *c = client_at(slot);
	u64 apart = looking - c->last_look;

	looked[nr & LOOKED_MASK].slot = slot;
	c->last_look = looking;
	return nr + (may & (u32)(-apart >> 63));
}

/* Those to look at go into looked: how many. */
static u32 look(u32 prev)
{
	u32 nr = loop_start, at, wanted, left;

	looking++;
	nr = look_at(nr, prev, (prev + SLOT_MASK) / NR_SLOTS); /* 0 or 1 */
	wanted = nr + leaders + looks;
	for (at = loop_start; at < leaders && can_loop(); at++) {
		u32 slot = leading[at % MAX_LEADERS];

		nr = look_at(nr, slot, crowd_has[slot & SLOT_MASK]);
	}
	wanted -= nr;
	for (at = loop_start; at < leaders && at < nr_came && can_loop(); at++) {
		u32 slot = comers[at % MAX_LEADERS];

		nr = look_at(nr, slot, crowd_has[slot & SLOT_MASK]);
	}
	wanted += nr;
	nr_came = 0;
	/* Once round at most, and past the leaders, new ones, running ones, and slot 0. */
	left = 2 * MAX_LEADERS + MAX_LOOKS + nr_cpus + 1;
	left = left < crowd_len + 1 ? left : crowd_len + 1;
	for (; nr < wanted && left && can_loop(); left--) {
		u32 slot = crowd_turn & SLOT_MASK;

		crowd_turn = next_in_crowd(slot);
		nr = look_at(nr, slot, client_at(slot)->waits);
	}
	return nr;
}

/* Of the first @nr in looked the first L by predicted priority, but @winner, lead. */
static void rank(u32 nr, u32 winner)
{
	u32 at, i;

	for (i = loop_start; i < leaders && can_loop(); i++) {
		leading[i % MAX_LEADERS] = 0;
		lead_priority[i % MAX_LEADERS] = MINUS_INFINITY;
	}
	for (at = loop_start; at < nr && can_loop(); at++) {
		u32 slot = looked[at & LOOKED_MASK].slot;
		s64 p = looked[at & LOOKED_MASK].later;

		if (slot == winner)
			continue;
		/* The worse one goes on down. */
		for (i = loop_start; i < leaders && can_loop(); i++) {
			s64 other_p = lead_priority[i % MAX_LEADERS];
			u32 other = leading[i % MAX_LEADERS];

			if (p <= other_p)
				continue;
			lead_priority[i % MAX_LEADERS] = p;
			leading[i % MAX_LEADERS] = slot;
			p = other_p;
			slot = other;
		}
	}
}

static u32 pick_constant(u32 cpu, u32 prev, u64 now)
{
	u64 later = now + crowd_len * knobs.quantum_ns / (2 * looks);
	u32 at, nr = look(prev), best = loop_start;
	s64 best_p = loop_start;

	for (at = loop_start; at < nr && can_loop(); at++) {
		struct look *l = &looked[at & LOOKED_MASK];

		l->now = priority(client_at(l->slot), now, 0);
		l->later = priority(client_at(l->slot), later, 0);
	}
	for (at = loop_start; at < nr && can_loop(); at++) {
		u32 slot = looked[at & LOOKED_MASK].slot;
		s64 p = looked[at & LOOKED_MASK].now;

		if (!may_be_picked(slot, prev) || !slot_may_use(slot, cpu))
			continue;
		p += slot == prev ? knobs.gamma : 0;
		if (!best || beats(p, slot, best_p, best)) {
			best = slot;
			best_p = p;
		}
	}
	rank(nr, best);
	return best;
}

#endif
