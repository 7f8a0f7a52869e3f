/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Comparisons without branches, for numbers less than 2^63 apart: a verifier follows both ways
 * of each branch, and what it then does not know to be the same, in loops again and again.
 */
#ifndef ROTA_EEVDF_NUMBERS_BPF_H
#define ROTA_EEVDF_NUMBERS_BPF_H

/* All bits if @difference is negative. The compiler must not see what it is made of. */
__kinline s64 mask_of(s64 difference)
{
	asm volatile("" : "+r"(difference));
	return difference >> 63;
}

__kinline s64 min_s64(s64 a, s64 b)
{
	return b + ((a - b) & mask_of(a - b));
}

__kinline s64 max_s64(s64 a, s64 b)
{
	return a - ((a - b) & mask_of(a - b));
}

/* 1 or 0. */
__kinline u64 is_less(s64 a, s64 b)
{
	return mask_of(a - b) & 1;
}

#endif
