/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The per-share array of [VTRR §3.3]: for each share the last task in the queue
 * that has it, so that a task finds its place in constant time. Where no task
 * has its share, bitmaps of four levels find the next greater one in use.
 * Part of vtrr.bpf.c; all under its lock.
 */
#ifndef ROTA_VTRR_ARRAY_BPF_H
#define ROTA_VTRR_ARRAY_BPF_H

#define NR_SHARES     (1u << 20)
#define NR_LEVELS     4
#define IN_USE_LENGTH (NR_SHARES / 32)

_Static_assert(MAX_SHARE < NR_SHARES, "every share has its place in the array");

u16 last_of_share[NR_SHARES]; /* a slot has 15 bits */
u64 in_use[IN_USE_LENGTH];    /* level 0, a bit: share has clients; above, a bit: word is not 0 */

/* The word of a level that has this bit. Levels begin at words 2^14, 2^8, 4 and 0. */
static u64 *word_of(u32 level, u32 bit)
{
	return &in_use[((NR_SHARES / 64 >> level * 6) + bit / 64) % IN_USE_LENGTH];
}

/* @word is not 0. */
static u32 first_bit(u64 word)
{
	return __builtin_ctzll(word);
}

/* The last client with the smallest share that is not below @share; 0: there is none. */
static u32 share_array_find(u32 share)
{
	u64 bits = *word_of(0, share) >> share % 64 << share % 64;
	u32 at = share, level = 0;

	/* Not in its own word: in which of the words after it? Likewise further up. */
	while (!bits) {
		if (++level == NR_LEVELS)
			return 0;
		at /= 64;
		bits = *word_of(level, at) & ~0ull << at % 64 << 1;
	}
	at = at / 64 * 64 + first_bit(bits);
	while (level) {
		level--;
		at = at * 64 + first_bit(*word_of(level, at * 64));
	}
	return last_of_share[at % NR_SHARES];
}

static void share_array_joined(u32 slot, u32 share, bool others_follow)
{
	u32 level;

	if (insert != INSERT_ARRAY || others_follow)
		return;
	last_of_share[share % NR_SHARES] = slot;
	for (level = 0; level < NR_LEVELS; level++) {
		*word_of(level, share) |= 1ull << share % 64;
		share /= 64;
	}
}

/* @before: the client before it in the queue, if that has the same share, else 0. */
static void share_array_left(u32 slot, u32 share, u32 before)
{
	u32 level;

	if (insert != INSERT_ARRAY || last_of_share[share % NR_SHARES] != slot)
		return;
	last_of_share[share % NR_SHARES] = before;
	for (level = 0; !before && level < NR_LEVELS; level++) {
		u64 *word = word_of(level, share);

		*word &= ~(1ull << share % 64);
		if (*word)
			return;
		share /= 64;
	}
}

#endif
