/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ordered trees of slots, one for each queue: a task is in one of them at most. They
 * are treaps: search trees by the policy's order, in which no slot has a smaller rank
 * than its parent. Ranks are slots in an order that has nothing to do with time, so that
 * trees of n slots are O(log n) deep whatever comes in which order.
 *
 * The policy that includes this defines
 *  - tree_before(a, b): which of two slots comes first; equal ones keep the order of
 *    coming. It changes for no slot in a tree.
 *  - before it, if it wants to know something of subtrees: TREE_NOTES, and tree_note(slot,
 *    left, right), which notes that for a slot, from the notes of its children (0: none).
 * Everything here needs the lock.
 */
#ifndef ROTA_TREE_BPF_H
#define ROTA_TREE_BPF_H

#include "slots.bpf.h"

static bool tree_before(u32 a, u32 b);
#ifdef TREE_NOTES
static void tree_note(u32 slot, u32 left, u32 right);
#endif

struct tree_node {
	u32 left, right, parent;
};

/* Node 0 is no task: what is written there is never read. */
struct tree_node tree_nodes[NR_SLOTS];

static struct tree_node *node_at(u32 slot)
{
	return &tree_nodes[slot & SLOT_MASK];
}

/* Different for each slot: every step can be undone. */
static u32 tree_rank(u32 slot)
{
	slot *= 0x9e3779b1u;
	slot ^= slot >> 15;
	slot *= 0x85ebca6bu;
	return slot ^ slot >> 13;
}

static void tree_renew_note(u32 slot)
{
#ifdef TREE_NOTES
	tree_note(slot, node_at(slot)->left, node_at(slot)->right);
#endif
}

static void tree_renew_notes_up(u32 slot)
{
#ifdef TREE_NOTES
	while (slot && can_loop()) {
		tree_renew_note(slot);
		slot = node_at(slot)->parent;
	}
#endif
}

/* @slot takes the place of @old, 0 or a child of @parent (0: the root). */
static void tree_put(u32 *root, u32 parent, u32 old, u32 slot)
{
	if (!parent)
		*root = slot;
	else if (node_at(parent)->left == old)
		node_at(parent)->left = slot;
	else
		node_at(parent)->right = slot;
	node_at(slot)->parent = parent;
}

/* @slot takes its parent's place, which becomes its child. */
static void tree_rotate(u32 *root, u32 slot)
{
	u32 parent = node_at(slot)->parent, inner;

	tree_put(root, node_at(parent)->parent, parent, slot);
	if (node_at(parent)->left == slot) {
		inner = node_at(slot)->right;
		node_at(slot)->right = parent;
		node_at(parent)->left = inner;
	} else {
		inner = node_at(slot)->left;
		node_at(slot)->left = parent;
		node_at(parent)->right = inner;
	}
	node_at(inner)->parent = parent;
	node_at(parent)->parent = slot;
	tree_renew_note(parent);
}

static __attribute__((noinline)) void tree_insert(u32 *root, u32 slot)
{
	u32 at = *root, parent = loop_start;
	bool left = false;

	while (at && can_loop()) {
		parent = at;
		left = tree_before(slot, at);
		at = left ? node_at(at)->left : node_at(at)->right;
	}
	*node_at(slot) = (struct tree_node){.parent = parent};
	if (!parent)
		*root = slot;
	else if (left)
		node_at(parent)->left = slot;
	else
		node_at(parent)->right = slot;
	while ((parent = node_at(slot)->parent) && tree_rank(slot) < tree_rank(parent) &&
	       can_loop())
		tree_rotate(root, slot);
	tree_renew_notes_up(slot);
}

static __attribute__((noinline)) void tree_remove(u32 *root, u32 slot)
{
	u32 left, right, parent;

	while ((left = node_at(slot)->left) && (right = node_at(slot)->right) && can_loop())
		tree_rotate(root, tree_rank(left) < tree_rank(right) ? left : right);
	left = node_at(slot)->left;
	parent = node_at(slot)->parent;
	tree_put(root, parent, slot, left ? left : node_at(slot)->right);
	tree_renew_notes_up(parent);
}

/* The first in the tree, 0: it is empty. */
static u32 tree_first(u32 root)
{
	u32 at = root, left;

	while ((left = node_at(at)->left) && can_loop())
		at = left;
	return at;
}

/* The one after @slot, 0: it is the last. */
static u32 tree_next(u32 slot)
{
	u32 at = node_at(slot)->right, from = slot;

	if (at)
		return tree_first(at);
	at = node_at(slot)->parent;
	while (at && node_at(at)->right == from && can_loop()) {
		from = at;
		at = node_at(at)->parent;
	}
	return at;
}

#endif
