/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The decision in constant time [PBS §5.5, Algorithm 1].
 *
 * The leaders (L of them) are those whose priorities were the greatest, as predicted for the
 * time by which half of the others will have been looked at. A decision looks at them, at
 * M others in turn, so that everybody is looked at in n / M decisions, and at the client that
 * ran. The greatest priority of now wins; of the others the greatest predicted ones lead next
 * time. (In the paper the winner leads, too. Here it is looked at anyway, and has no place that
 * another one could have.) While there are fewer leaders, as many others more are looked at.
 *
 * The policy that includes this defines struct client with `leads`, may_be_picked(),
 * priority() and beats(). Everything here needs its lock.
 */
#ifndef ROTA_PBS_CONSTANT_BPF_H
#define ROTA_PBS_CONSTANT_BPF_H

#define MAX_LEADERS 16
#define MAX_LOOKS   64

const volatile u32 leaders help_text("L of mode=constant: clients looked at by each decision")
range(2, 16) = 2;
const volatile u32 looks help_text("M of mode=constant: others that are, in turn") range(2, 64) = 4;

u32 leading[MAX_LEADERS];
s64 lead_priority[MAX_LEADERS]; /* predicted, greatest first; of use in one decision only */
u32 nr_leading;
u32 looked_at[128]; /* of one decision: up to MAX_LEADERS + MAX_LOOKS + 1 clients */

static void lead_remove_at(u32 at)
{
	client_at(leading[at % MAX_LEADERS])->leads = false;
	leading[at % MAX_LEADERS] = leading[--nr_leading % MAX_LEADERS];
}

static void lead_remove(u32 slot)
{
	u32 at;

	if (!client_at(slot)->leads)
		return;
	for (at = loop_start; at < nr_leading && can_loop(); at++) {
		if (leading[at % MAX_LEADERS] != slot)
			continue;
		lead_remove_at(at);
		return;
	}
}

/* Who comes leads; of more than L leaders the one with the least priority does no more. */
static void lead_add(const struct knobs *k, u32 slot, u64 now)
{
	s64 least = PLUS_INFINITY;
	u32 at, worst = 0;

	if (nr_leading < leaders) {
		leading[nr_leading++ % MAX_LEADERS] = slot;
		client_at(slot)->leads = true;
		return;
	}
	least = priority(k, client_at(slot), now, 0);
	for (at = loop_start; at < nr_leading && can_loop(); at++) {
		s64 p = priority(k, client_at(leading[at % MAX_LEADERS]), now, 0);

		if (p >= least)
			continue;
		least = p;
		worst = at + 1;
	}
	if (!worst)
		return;
	lead_remove_at(worst - 1);
	leading[nr_leading++ % MAX_LEADERS] = slot;
	client_at(slot)->leads = true;
}

/* Puts @slot among the leaders to be, if it is one of the first L by @p. */
static void lead_rank(u32 slot, s64 p)
{
	u32 at = nr_leading < leaders ? nr_leading++ : leaders;

	if (at >= leaders) {
		if (p <= lead_priority[(leaders - 1) % MAX_LEADERS])
			return;
		at = leaders - 1;
	}
	at += loop_start;
	while (at && lead_priority[(at - 1) % MAX_LEADERS] < p && can_loop()) {
		leading[at % MAX_LEADERS] = leading[(at - 1) % MAX_LEADERS];
		lead_priority[at % MAX_LEADERS] = lead_priority[(at - 1) % MAX_LEADERS];
		at--;
	}
	leading[at % MAX_LEADERS] = slot;
	lead_priority[at % MAX_LEADERS] = p;
}

/* Those to look at go into looked_at: how many. They lead no more until they are ranked. */
static u32 look(u32 prev)
{
	u32 nr = loop_start, at, others = looks + leaders - nr_leading, left;
	bool prev_is_in = !prev;

	for (at = loop_start; at < nr_leading && can_loop(); at++) {
		u32 slot = leading[at % MAX_LEADERS];

		prev_is_in = prev_is_in || slot == prev;
		looked_at[nr++ & 127] = slot;
	}
	/* Once round at most, and past the leaders, those who run, and slot 0. */
	left = nr_leading + nr_cpus + 1 + others;
	left = left < crowd_len + 1 ? left : crowd_len + 1;
	for (; others && left && can_loop(); left--) {
		u32 slot = crowd_turn & SLOT_MASK;

		crowd_turn = next_in_crowd(slot);
		if (!slot || client_at(slot)->leads || !may_be_picked(slot, prev))
			continue;
		prev_is_in = prev_is_in || slot == prev;
		looked_at[nr++ & 127] = slot;
		others--;
	}
	if (!prev_is_in)
		looked_at[nr++ & 127] = prev;
	for (at = loop_start; at < nr_leading && can_loop(); at++)
		client_at(leading[at % MAX_LEADERS])->leads = false;
	nr_leading = 0;
	return nr;
}

static u32 pick_constant(const struct knobs *k, u32 cpu, u32 prev, u64 now)
{
	u64 later = now + crowd_len * k->quantum_ns / (2 * looks);
	u32 at, nr = look(prev), best = 0;
	s64 best_p = 0;

	for (at = loop_start; at < nr && can_loop(); at++) {
		u32 slot = looked_at[at & 127];
		s64 p;

		if (!may_be_picked(slot, prev) || !slot_may_use(slot, cpu))
			continue;
		p = priority(k, client_at(slot), now, 0) + (slot == prev ? k->gamma : 0);
		if (!best || beats(k, p, slot, best_p, best)) {
			best = slot;
			best_p = p;
		}
	}
	for (at = loop_start; at < nr && can_loop(); at++) {
		u32 slot = looked_at[at & 127];

		if (slot != best)
			lead_rank(slot, priority(k, client_at(slot), later, 0));
	}
	for (at = loop_start; at < nr_leading && can_loop(); at++)
		client_at(leading[at % MAX_LEADERS])->leads = true;
	return best;
}

#endif
