/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The binary logarithm of an integer, in units of 2^-32.
 *
 * x = 2^e m with 1 <= m < 2. The seven bits of m after its first one choose one of 128 numbers c
 * near 1 / m, and log2(x) = e - log2(c) + log2(1 + t) with t = m c - 1, which is less than 1/256
 * in size, and log2(1 + t) = (t - t^2 / 2 + t^3 / 3) / ln 2. What that leaves out, t^4 / 4, is
 * at most 0.36 units, and the result is rounded to the nearest one: it is off by less than one
 * unit, 2^-32, for all x from 1 to 2^63. A test compares it with doubles, and that a greater x
 * has no smaller logarithm.
 */
#ifndef ROTA_LOG2_BPF_H
#define ROTA_LOG2_BPF_H

#define LOG2_BITS 32	     /* of the fraction */
#define LOG2_E	  1549082005 /* 1 / ln 2, times 2^30 */
#define A_THIRD	  0x55555555 /* of 2^32 */

/* 2^32 / (1 + (i + 1/2) / 128) */
const u32 log2_inverse[128] = {
	0xff00ff01, 0xfd08e550, 0xfb188565, 0xf92fb221, 0xf74e3fc2, 0xf57403d6, 0xf3a0d52d,
	0xf1d48bcf, 0xf00f00f0, 0xee500ee5, 0xec979119, 0xeae56404, 0xe9396520, 0xe79372e2,
	0xe5f36cb0, 0xe45932d8, 0xe2c4a688, 0xe135a9c9, 0xdfac1f74, 0xde27eb2c, 0xdca8f159,
	0xdb2f171e, 0xd9ba4257, 0xd84a598f, 0xd6df43fd, 0xd578e97c, 0xd417328a, 0xd2ba083b,
	0xd161543e, 0xd00d00d0, 0xcebcf8bb, 0xcd712753, 0xcc29786c, 0xcae5d85f, 0xc9a633fd,
	0xc86a7890, 0xc73293d8, 0xc5fe7403, 0xc4ce07b0, 0xc3a13de6, 0xc2780614, 0xc152500c,
	0xc0300c03, 0xbf112a8b, 0xbdf59c91, 0xbcdd535e, 0xbbc8408d, 0xbab65610, 0xb9a7862a,
	0xb89bc36d, 0xb79300b8, 0xb68d3134, 0xb58a4855, 0xb48a39d4, 0xb38cf9b0, 0xb2927c2a,
	0xb19ab5c4, 0xb0a59b42, 0xafb321a1, 0xaec33e1f, 0xadd5e632, 0xaceb0f89, 0xac02b00b,
	0xab1cbdd4, 0xaa392f36, 0xa957fab5, 0xa8791709, 0xa79c7b17, 0xa6c21df7, 0xa5e9f6ed,
	0xa513fd6c, 0xa4402910, 0xa36e71a3, 0xa29ecf16, 0xa1d13985, 0xa105a933, 0xa03c1688,
	0x9f747a15, 0x9eaecc8d, 0x9deb06c9, 0x9d2921c4, 0x9c69169b, 0x9baade8e, 0x9aee72fd,
	0x9a33cd67, 0x997ae76b, 0x98c3bac7, 0x980e4156, 0x975a7510, 0x96a85009, 0x95f7cc73,
	0x9548e498, 0x949b92de, 0x93efd1c5, 0x93459be7, 0x929cebf5, 0x91f5bcb9, 0x91500915,
	0x90abcc02, 0x90090090, 0x8f67a1e4, 0x8ec7ab39, 0x8e2917e1, 0x8d8be340, 0x8cf008cf,
	0x8c55841d, 0x8bbc50c9, 0x8b246a88, 0x8a8dcd20, 0x89f8746a, 0x89645c4f, 0x88d180cd,
	0x883fddf0, 0x87af6fd6, 0x872032ac, 0x869222b2, 0x86053c34, 0x85797b91, 0x84eedd35,
	0x84655d9c, 0x83dcf94e, 0x8355ace4, 0x82cf7504, 0x824a4e61, 0x81c635bc, 0x814327e4,
	0x80c121b3, 0x80402010,
};

/* Minus log2 of these, times 2^40. */
const u64 log2_of_inverse[128] = {
	0x001709c46d6, 0x0044d8c4601, 0x00724d8eeab, 0x009f6984a58, 0x00cc2dfe1e7, 0x00f89c4c151,
	0x0124b5b7daa, 0x01507b835d4, 0x017beee96d0, 0x01a7111df36, 0x01d1e34e349, 0x01fc66a0e86,
	0x02269c368e4, 0x0250852964c, 0x027a228db4c, 0x02a375720bb, 0x02cc7edf63f, 0x02f53fd9061,
	0x031db95d0c1, 0x0345ec646af, 0x036dd9e2e61, 0x039582c78e0, 0x03bce7fc6f6, 0x03e40a671e3,
	0x040aeae8897, 0x04318a5d5be, 0x0457e99da1a, 0x047e097dbda, 0x04a3eacd715, 0x04c98e58dc4,
	0x04eef4e832a, 0x05141f3fad8, 0x05390e20479, 0x055dc246d00, 0x05823c6d05e, 0x05a67d4924a,
	0x05ca858de54, 0x05ee55eb173, 0x0611ef0cf79, 0x0635519cee0, 0x06587e41424, 0x067b759d695,
	0x069e3851be0, 0x06c0c6fbf2a, 0x06e322370bc, 0x07054a9affa, 0x072740bdad7, 0x07490532047,
	0x076a9888839, 0x078bfb4f3ee, 0x07ad2e11e6a, 0x07ce3159f10, 0x07ef05ae43c, 0x080fab93c23,
	0x0830238cfaa, 0x08506e1a779, 0x08708bbab1f, 0x08907ce9c01, 0x08b04222549, 0x08cfdbdc873,
	0x08ef4a8ed6d, 0x090e8eaddf8, 0x092da8ac531, 0x094c98fb389, 0x096b6009a33, 0x0989fe45166,
	0x09a874191bf, 0x09c6c1f014b, 0x09e4e832442, 0x0a02e746a3d, 0x0a20bf9258e, 0x0a3e7179698,
	0x0a5bfd5dead, 0x0a7963a0dd7, 0x0a96a4a17fe, 0x0ab3c0bdc17, 0x0ad0b852706, 0x0aed8bba8ab,
	0x0b0a3b50250, 0x0b26c76bbc8, 0x0b433064b19, 0x0b5f76912f8, 0x0b7b9a45ede, 0x0b979bd6896,
	0x0bb37b95933, 0x0bcf39d4543, 0x0bead6e2dc4, 0x0c065310398, 0x0c21aeaa63b, 0x0c3ce9fe4df,
	0x0c580557845, 0x0c73010102c, 0x0c8ddd4485a, 0x0ca89a6ac4b, 0x0cc338bb609, 0x0cddb87d48a,
	0x0cf819f6599, 0x0d125d6b741, 0x0d2c8320943, 0x0d468b58c08, 0x0d6076564c3, 0x0d7a445a9e4,
	0x0d93f5a5f87, 0x0dad8a78368, 0x0dc70310445, 0x0de05fabe44, 0x0df9a0889cb, 0x0e12c5e2ae1,
	0x0e2bcff5d80, 0x0e44befcf73, 0x0e5d9332790, 0x0e764ccf780, 0x0e8eec0cdbd, 0x0ea77122a16,
	0x0ebfdc4850d, 0x0ed82db4434, 0x0ef0659cc92, 0x0f088436ec6, 0x0f2089b76cb, 0x0f38765230b,
	0x0f504a3aed3, 0x0f6805a43c4, 0x0f7fa8c044d, 0x0f9733c0b1c, 0x0faea6d67ae, 0x0fc60231daa,
	0x0fdd4602cdd, 0x0ff47278af6,
};

/*
 * Ones from the highest bit down, times this de Bruijn number, have the place of that bit in
 * their upper six bits. Without a branch: a verifier would go through all that follows for both
 * of its ways.
 */
#define DE_BRUIJN 0x03f79d71b4cb0a89ull

const u8 log2_place[64] = {
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
	return log2_place[x * DE_BRUIJN >> 58];
}

/* Of @x from 1 to 2^63; of 0 as of 1. */
static __attribute__((noinline)) s64 log2_of(u64 x)
{
	u64 least_1 = x + ((x - 1) >> 63), m, c, product;
	u32 place = highest_bit(least_1), part;
	s64 t, square, cube, ln;

	m = least_1 << (63 - place);
	part = m >> 56 & 127;
	c = log2_inverse[part];
	product = (m >> 32) * c + ((m & 0xffffffff) * c >> 32);
	t = (s64)(product - (1ull << 63)); /* times 2^63 */
	square = (t >> 31) * (t >> 31) >> 24;
	cube = (t >> 31) * (square >> 8) >> 24;
	ln = (t >> 23) - (square >> 1) + (cube * A_THIRD >> 32);
	ln = (ln * LOG2_E >> 30) + (s64)log2_of_inverse[part] + ((s64)place << 40);
	return (ln + 128) >> 8;
}

#endif
