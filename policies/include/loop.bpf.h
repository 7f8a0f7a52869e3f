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

/*
 * The same, for loops with much in them. Verifiers take what is left in scratch registers for
 * arguments of the next call, or for a result, and go through a loop for each that can be left.
 */
__kinline bool can_loop_afresh(void)
{
	asm volatile("r0 = 0; r1 = 0; r2 = 0; r3 = 0; r4 = 0; r5 = 0"
		     :
		     :
		     : "r0", "r1", "r2", "r3", "r4", "r5");
	return can_loop();
}

/* The end of a function that returns nothing: a verifier takes what is left in r0 for its result.
 */
__kinline void returns_nothing(void)
{
	asm volatile("r0 = 0" : : : "r0");
}

#endif
