/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The per-share array of [VTRR §3.3]: for each share the last client in the queue
 * that has it, so that a client finds its place in constant time. Where nobody
 * has its share, a three-level bitmap finds the next greater one in use.
 * Part of vtrr.bpf.c; all under its lock.
 */
#ifndef ROTA_VTRR_ARRAY_BPF_H
#define ROTA_VTRR_ARRAY_BPF_H

#define NR_SHARES 65536

u32 last_of_share[NR_SHARES];
u64 in_use[NR_SHARES / 64];	    /* bit: share has clients */
u64 in_use_words[NR_SHARES / 4096]; /* bit: word of in_use is not 0 */

/* @word is not 0. */
static u32 first_bit(u64 word)
{
	return __builtin_ctzll(word);
}

/* The last client with the smallest share that is not below @share; 0: there is none. */
static u32 share_array_find(u32 share)
{
	u32 word = share / 64 % (NR_SHARES / 64), top = word / 64;
	u64 bits = in_use[word] >> share % 64;

	if (bits)
		return last_of_share[(share + first_bit(bits)) % NR_SHARES];

	/* Not in its own word: which of the words after it has a bit? */
	bits = word % 64 == 63 ? 0 : in_use_words[top] >> (word % 64 + 1);
	if (bits) {
		word += 1 + first_bit(bits);
	} else {
		do {
			if (++top >= NR_SHARES / 4096)
				return 0;
		} while (!in_use_words[top] && can_loop());
		word = top * 64 + first_bit(in_use_words[top]);
	}
	word %= NR_SHARES / 64;
	return last_of_share[(word * 64 + first_bit(in_use[word])) % NR_SHARES];
}

static void share_array_joined(u32 slot, u32 share, bool others_follow)
{
	u32 word = share / 64 % (NR_SHARES / 64);

	if (insert != INSERT_ARRAY || others_follow)
		return;
	last_of_share[share % NR_SHARES] = slot;
	in_use[word] |= 1ull << share % 64;
	in_use_words[word / 64] |= 1ull << word % 64;
}

/* @before: the client before it in the queue, if that has the same share, else 0. */
static void share_array_left(u32 slot, u32 share, u32 before)
{
	u32 word = share / 64 % (NR_SHARES / 64);

	if (insert != INSERT_ARRAY || last_of_share[share % NR_SHARES] != slot)
		return;
	last_of_share[share % NR_SHARES] = before;
	if (before)
		return;
	in_use[word] &= ~(1ull << share % 64);
	if (!in_use[word])
		in_use_words[word / 64] &= ~(1ull << word % 64);
}

#endif
