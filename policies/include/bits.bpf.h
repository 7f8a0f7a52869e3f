/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the bits of a number are, without a branch.
 */
#ifndef ROTA_BITS_BPF_H
#define ROTA_BITS_BPF_H

#include "kernel.bpf.h"

/*
 * Ones from the highest bit down, times this de Bruijn number, have the place of that bit in
 * their upper six bits. Without a branch: a verifier would go through all that follows for both
 * of its ways.
 */
#define DE_BRUIJN 0x03f79d71b4cb0a89ull

const u8 bit_place[64] = {
	0,  47, 1,  56, 48, 27, 2,  60, 57, 49, 41, 37, 28, 16, 3,  61, 54, 58, 35, 52, 50, 42,
	21, 44, 38, 32, 29, 23, 17, 11, 4,  62, 46, 55, 26, 59, 40, 36, 15, 53, 34, 51, 20, 43,
	31, 22, 10, 45, 25, 39, 14, 33, 19, 30, 9,  24, 13, 18, 8,  12, 7,  6,	5,  63,
};

__kinline u32 highest_bit(u64 x)
{
	x |= x >> 1;
	x |= x >> 2;
	x |= x >> 4;
	x |= x >> 8;
	x |= x >> 16;
	x |= x >> 32;
	return bit_place[x * DE_BRUIJN >> 58];
}

/* Of 0 as of 1. */
__kinline u32 lowest_bit(u64 x)
{
	return highest_bit(x & -x);
}

#endif
