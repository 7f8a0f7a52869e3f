/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For loops without a bound that the verifier can see.
 */
#ifndef ROTA_LOOP_BPF_H
#define ROTA_LOOP_BPF_H

#include "kernel.bpf.h"

/*
 * Becomes false at some millions of iterations; loops end long before by their own
 * conditions.
 */
__kinline bool can_loop(void)
{
#if __clang_major__ >= 19
	asm volatile goto("may_goto %l[out]" : : : : out);
#else
	asm volatile goto("1: .byte 0xe5, 0\n"
			  ".short (%l[out] - 1b - 8) / 8\n"
			  ".long 0"
			  :
			  :
			  :
			  : out);
#endif
	return true;
out:
	return false;
}

#endif
