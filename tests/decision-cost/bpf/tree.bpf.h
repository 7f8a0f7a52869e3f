/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A red-black tree of tasks by virtual time. Links are numbers of tasks; 0 stands for
 * every leaf, is black, and may be written to. Equal keys keep their order of arrival.
 * (Algorithm: Cormen et al., chapter 13.)
 *
 * The kernel has its nodes in scx.dsq_priq, one cache line per task. Here they are in
 * an array, a cache line each: following a link costs what it costs there, while looking
 * up a task by number at every step would take most of the time.
 *
 * The two entry points are global functions that take and return numbers: the verifier
 * looks at each once, instead of once for each way to it.
 */
#ifndef BENCH_TREE_BPF_H
#define BENCH_TREE_BPF_H

#include "tasks.bpf.h"

struct bench_node {
	u64 key;
	u32 up;
	u32 kid[2]; /* left, right */
	bool red;
} __attribute__((aligned(64)));

struct bench_node bench_nodes[BENCH_MAX_TASKS] SEC(".bss.nodes");
u32 bench_root BENCH_DATA; /* of the tree that is being changed */

__kinline struct bench_node *bench_node(u32 n)
{
	return &bench_nodes[n & (BENCH_MAX_TASKS - 1)];
}

__kinline u32 bench_kid(u32 n, u32 side)
{
	return bench_node(n)->kid[side & 1];
}

__kinline u32 bench_side(u32 up, u32 n)
{
	return bench_kid(up, 1) == n;
}

/* @new becomes what @old is to its parent. */
__kinline void bench_replace(u32 old, u32 new)
{
	u32 up = bench_node(old)->up;

	if (up)
		bench_node(up)->kid[bench_side(up, old) & 1] = new;
	else
		bench_root = new;
	bench_node(new)->up = up;
}

/* @n goes down to the given side, its other child takes its place. */
__kinline void bench_rotate(u32 n, u32 side)
{
	u32 kid = bench_kid(n, !side), inner = bench_kid(kid, side);

	bench_node(n)->kid[!side] = inner;
	if (inner)
		bench_node(inner)->up = n;
	bench_replace(n, kid);
	bench_node(kid)->kid[side & 1] = n;
	bench_node(n)->up = kid;
}

__kinline void bench_balance_inserted(u32 n)
{
	while (bench_node(bench_node(n)->up)->red && can_loop()) {
		u32 up = bench_node(n)->up, top = bench_node(up)->up;
		u32 side = bench_side(top, up), uncle = bench_kid(top, !side);

		bench_node(top)->red = true;
		if (bench_node(uncle)->red) {
			bench_node(up)->red = false;
			bench_node(uncle)->red = false;
			n = top;
			continue;
		}
		if (bench_kid(up, !side) == n) {
			bench_rotate(up, side);
			up = n;
		}
		bench_node(up)->red = false;
		bench_rotate(top, !side);
		break;
	}
	bench_node(bench_root)->red = false;
}

/* Inserts a task; the new root, and in the upper half its predecessor, 0 if it is first. */
__attribute__((noinline)) u64 bench_tree_insert(u32 root, u32 n, u64 key)
{
	u32 up = 0, at = root, before = 0, side = 0;

	while (at && can_loop()) {
		up = at;
		side = (s64)(key - bench_node(at)->key) >= 0;
		if (side)
			before = at;
		at = bench_kid(at, side);
	}
	bench_node(n)->key = key;
	bench_node(n)->up = up;
	bench_node(n)->kid[0] = 0;
	bench_node(n)->kid[1] = 0;
	bench_node(n)->red = true;
	bench_root = root;
	if (up)
		bench_node(up)->kid[side & 1] = n;
	else
		bench_root = n;
	bench_balance_inserted(n);
	return (u64)before << 32 | bench_root;
}

/* A black node is missing above @n. */
__kinline void bench_balance_removed(u32 n)
{
	while (n != bench_root && !bench_node(n)->red && can_loop()) {
		u32 up = bench_node(n)->up, side = bench_side(up, n);
		u32 sibling = bench_kid(up, !side);

		if (bench_node(sibling)->red) {
			bench_node(sibling)->red = false;
			bench_node(up)->red = true;
			bench_rotate(up, side);
			sibling = bench_kid(up, !side);
		}
		if (!bench_node(bench_kid(sibling, 0))->red &&
		    !bench_node(bench_kid(sibling, 1))->red) {
			bench_node(sibling)->red = true;
			n = up;
			continue;
		}
		if (!bench_node(bench_kid(sibling, !side))->red) {
			bench_node(bench_kid(sibling, side))->red = false;
			bench_node(sibling)->red = true;
			bench_rotate(sibling, !side);
			sibling = bench_kid(up, !side);
		}
		bench_node(sibling)->red = bench_node(up)->red;
		bench_node(up)->red = false;
		bench_node(bench_kid(sibling, !side))->red = false;
		bench_rotate(up, side);
		n = bench_root;
	}
	bench_node(n)->red = false;
}

/* Takes a task out; the new root. */
__attribute__((noinline)) u32 bench_tree_remove(u32 root, u32 n)
{
	u32 left = bench_kid(n, 0), right = bench_kid(n, 1), moved, next;
	bool lost_black = !bench_node(n)->red;

	bench_root = root;
	if (!left || !right) {
		moved = left ? left : right;
		bench_replace(n, moved);
	} else {
		for (next = right; bench_kid(next, 0) && can_loop();)
			next = bench_kid(next, 0);
		lost_black = !bench_node(next)->red;
		moved = bench_kid(next, 1);
		if (next == right) {
			bench_node(moved)->up = next;
		} else {
			bench_replace(next, moved);
			bench_node(next)->kid[1] = right;
			bench_node(right)->up = next;
		}
		bench_replace(n, next);
		bench_node(next)->kid[0] = left;
		bench_node(left)->up = next;
		bench_node(next)->red = bench_node(n)->red;
	}
	if (lost_black)
		bench_balance_removed(moved);
	return bench_root;
}

#endif
