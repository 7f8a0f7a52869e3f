/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The per-share array of [VTRR §3.3]: for each share the last client in the queue
 * that has it, so that a client finds its place in constant time. Where nobody
 * has its share, bitmaps of three levels find the next greater one in use.
 * Part of vtrr.bpf.c; all under its lock.
 */
#ifndef ROTA_VTRR_ARRAY_BPF_H
#define ROTA_VTRR_ARRAY_BPF_H

#define NR_SHARES 65536

u32 last_of_share[NR_SHARES];
u64 in_use[NR_SHARES / 64];	    /* bit: share has clients */
u64 in_use_words[NR_SHARES / 4096]; /* bit: word of in_use is not 0 */
u64 in_use_tops;		    /* bit: word of in_use_words is not 0 */

/* @word is not 0. */
static u32 first_bit(u64 word)
{
	return __builtin_ctzll(word);
}

/* The bits of @word above bit @at % 64. */
static u64 bits_above(u64 word, u32 at)
{
	return word & ~0ull << at % 64 << 1;
}

/* The last client with the smallest share that is not below @share; 0: there is none. */
static u32 share_array_find(u32 share)
{
	u32 word = share / 64 % (NR_SHARES / 64), top = word / 64;
	u64 bits = in_use[word] >> share % 64 << share % 64;

	/* Not in its own word: in which of the words after it? Likewise one level up. */
	if (!bits) {
		u64 words = bits_above(in_use_words[top], word);

		if (!words) {
			u64 tops = bits_above(in_use_tops, top);

			if (!tops)
				return 0;
			top = first_bit(tops) % (NR_SHARES / 4096);
			words = in_use_words[top];
		}
		word = (top * 64 + first_bit(words)) % (NR_SHARES / 64);
		bits = in_use[word];
	}
	return last_of_share[(word * 64 + first_bit(bits)) % NR_SHARES];
}

static void share_array_joined(u32 slot, u32 share, bool others_follow)
{
	u32 word = share / 64 % (NR_SHARES / 64);

	if (insert != INSERT_ARRAY || others_follow)
		return;
	last_of_share[share % NR_SHARES] = slot;
	in_use[word] |= 1ull << share % 64;
	in_use_words[word / 64] |= 1ull << word % 64;
	in_use_tops |= 1ull << word / 64;
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
	if (in_use[word])
		return;
	in_use_words[word / 64] &= ~(1ull << word % 64);
	if (!in_use_words[word / 64])
		in_use_tops &= ~(1ull << word / 64);
}

#endif
