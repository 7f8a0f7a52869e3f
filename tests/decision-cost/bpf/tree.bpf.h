/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A red-black tree of tasks by scx.dsq_vtime, in the tasks' own scx.dsq_priq. Links
 * are numbers; task 0 stands for every leaf, is black, and may be written to. Equal
 * keys keep their order of arrival. (Algorithm: Cormen et al., chapter 13.)
 *
 * The two entry points are global functions that take and return numbers: the verifier
 * looks at each once, instead of once for each way to it.
 */
#ifndef BENCH_TREE_BPF_H
#define BENCH_TREE_BPF_H

#include "tasks.bpf.h"

#define BENCH_RED 1ull

u32 bench_root BENCH_DATA; /* of the tree that is being changed */

/* The node's rb_node, or NULL, which a link can never lead to. */
__kinline struct rb_node *bench_node(u32 n)
{
	struct task_struct *p = bench_task_at(n);

	return p ? &p->scx.dsq_priq : NULL;
}

__kinline u32 bench_kid(u32 n, bool right)
{
	struct rb_node *node = bench_node(n);

	return node ? (u64)(right ? node->rb_right : node->rb_left) : 0;
}

__kinline void bench_set_kid(u32 n, bool right, u64 kid)
{
	struct rb_node *node = bench_node(n);

	if (!node)
		return;
	if (right)
		node->rb_right = (void *)kid;
	else
		node->rb_left = (void *)kid;
}

__kinline u32 bench_up(u32 n)
{
	struct rb_node *node = bench_node(n);

	return node ? node->__rb_parent_color >> 1 : 0;
}

__kinline void bench_set_up(u32 n, u64 up)
{
	struct rb_node *node = bench_node(n);

	if (node)
		node->__rb_parent_color = up << 1 | (node->__rb_parent_color & BENCH_RED);
}

__kinline bool bench_red(u32 n)
{
	struct rb_node *node = bench_node(n);

	return node && node->__rb_parent_color & BENCH_RED;
}

__kinline void bench_paint(u32 n, bool red)
{
	struct rb_node *node = bench_node(n);

	if (node)
		node->__rb_parent_color = (node->__rb_parent_color & ~BENCH_RED) | red;
}

/* @new becomes what @old is to its parent. */
__kinline void bench_replace(u32 old, u32 new)
{
	u32 up = bench_up(old);

	if (up)
		bench_set_kid(up, bench_kid(up, true) == old, new);
	else
		bench_root = new;
	bench_set_up(new, up);
}

/* @n goes down to the given side, its other child takes its place. */
__kinline void bench_rotate(u32 n, bool right)
{
	u32 kid = bench_kid(n, !right), inner = bench_kid(kid, right);

	bench_set_kid(n, !right, inner);
	if (inner)
		bench_set_up(inner, n);
	bench_replace(n, kid);
	bench_set_kid(kid, right, n);
	bench_set_up(n, kid);
}

__kinline void bench_balance_inserted(u32 n)
{
	while (bench_red(bench_up(n)) && bench_can_loop()) {
		u32 up = bench_up(n), top = bench_up(up);
		bool side = bench_kid(top, true) == up;
		u32 uncle = bench_kid(top, !side);

		if (bench_red(uncle)) {
			bench_paint(up, false);
			bench_paint(uncle, false);
			bench_paint(top, true);
			n = top;
			continue;
		}
		if (bench_kid(up, !side) == n) {
			bench_rotate(up, side);
			up = n;
		}
		bench_paint(up, false);
		bench_paint(top, true);
		bench_rotate(top, !side);
		break;
	}
	bench_paint(bench_root, false);
}

/* Inserts a task; the new root, and in the upper half its predecessor, 0 if it is first. */
__attribute__((noinline)) u64 bench_tree_insert(u32 root, u32 index)
{
	struct task_struct *p = bench_task_at(index);
	u32 up = 0, at = root, before = 0;
	bool right = false;
	u64 vtime;

	if (!p)
		return root;
	vtime = p->scx.dsq_vtime;
	bench_root = root;

	while (at && bench_can_loop()) {
		struct task_struct *other = bench_task_at(at);

		if (!other) {
			bench_fail(BENCH_CORRUPT, at);
			return root;
		}
		up = at;
		right = (s64)(vtime - other->scx.dsq_vtime) >= 0;
		if (right)
			before = at;
		at = right ? (u64)other->scx.dsq_priq.rb_right : (u64)other->scx.dsq_priq.rb_left;
	}
	p->scx.dsq_priq.rb_left = NULL;
	p->scx.dsq_priq.rb_right = NULL;
	p->scx.dsq_priq.__rb_parent_color = (u64)up << 1 | BENCH_RED;
	if (up)
		bench_set_kid(up, right, index);
	else
		bench_root = index;
	bench_balance_inserted(index);
	return (u64)before << 32 | bench_root;
}

/* A black node is missing above @n. */
__kinline void bench_balance_removed(u32 n)
{
	while (n != bench_root && !bench_red(n) && bench_can_loop()) {
		u32 up = bench_up(n);
		bool side = bench_kid(up, true) == n;
		u32 sibling = bench_kid(up, !side);

		if (bench_red(sibling)) {
			bench_paint(sibling, false);
			bench_paint(up, true);
			bench_rotate(up, side);
			sibling = bench_kid(up, !side);
		}
		if (!bench_red(bench_kid(sibling, side)) && !bench_red(bench_kid(sibling, !side))) {
			bench_paint(sibling, true);
			n = up;
			continue;
		}
		if (!bench_red(bench_kid(sibling, !side))) {
			bench_paint(bench_kid(sibling, side), false);
			bench_paint(sibling, true);
			bench_rotate(sibling, !side);
			sibling = bench_kid(up, !side);
		}
		bench_paint(sibling, bench_red(up));
		bench_paint(up, false);
		bench_paint(bench_kid(sibling, !side), false);
		bench_rotate(up, side);
		n = bench_root;
	}
	bench_paint(n, false);
}

/* Takes a task out; the new root. */
__attribute__((noinline)) u32 bench_tree_remove(u32 root, u32 n)
{
	u32 left = bench_kid(n, false), right = bench_kid(n, true), moved, next;
	bool lost_black = !bench_red(n);

	bench_root = root;
	if (!left || !right) {
		moved = left ? left : right;
		bench_replace(n, moved);
	} else {
		for (next = right; bench_kid(next, false) && bench_can_loop();)
			next = bench_kid(next, false);
		lost_black = !bench_red(next);
		moved = bench_kid(next, true);
		if (next == right) {
			bench_set_up(moved, next);
		} else {
			bench_replace(next, moved);
			bench_set_kid(next, true, right);
			bench_set_up(right, next);
		}
		bench_replace(n, next);
		bench_set_kid(next, false, left);
		bench_set_up(left, next);
		bench_paint(next, bench_red(n));
	}
	if (lost_black)
		bench_balance_removed(moved);
	return bench_root;
}

#endif
