/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dispatch queues, as the kernel builds them: a list through the tasks themselves,
 * and for queues ordered by virtual time a red-black tree besides (tree.bpf.h). The
 * lock of a user's queue is taken and released, though nobody contends for it: one
 * compare-and-exchange and a store, as the kernel's. (bpf_spin_lock() is no stand-in
 * for that: it turns interrupts off and on too, which takes several times as long.)
 */
#ifndef BENCH_QUEUES_BPF_H
#define BENCH_QUEUES_BPF_H

#include "tasks.bpf.h"

struct bench_dsq {
	u32 lock;
	u32 first;
	u32 last;
	u32 root; /* of the tree, 0: first come, first served */
	u32 queued;
};

#include "tree.bpf.h"

/* The kernel finds a user's queue in a hash table too. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct bench_dsq);
} bench_dsqs SEC(".maps");

#define BENCH_LOCAL  0
#define BENCH_GLOBAL 1

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct bench_dsq);
} bench_builtin_dsqs SEC(".maps");

__kinline struct bench_dsq *bench_builtin_dsq(u32 which)
{
	return bpf_map_lookup_elem(&bench_builtin_dsqs, &which);
}

__kinline struct bench_dsq *bench_find_dsq(u64 id)
{
	struct bench_dsq *d;

	if (id == SCX_DSQ_LOCAL || (id & SCX_DSQ_LOCAL_ON) == SCX_DSQ_LOCAL_ON)
		return bench_builtin_dsq(BENCH_LOCAL);
	if (id == SCX_DSQ_GLOBAL)
		return bench_builtin_dsq(BENCH_GLOBAL);
	d = bpf_map_lookup_elem(&bench_dsqs, &id);
	if (!d)
		bench_fail(BENCH_NO_DSQ, id);
	else {
		__sync_val_compare_and_swap(&d->lock, 0, 1);
		*(volatile u32 *)&d->lock = 0;
	}
	return d;
}

#define BENCH_LINK(p, which) (*(u64 *)&(p)->scx.dsq_list.node.which)

/* Puts @p behind @before, 0: at the head. */
__kinline void bench_list_add(struct bench_dsq *d, struct task_struct *p, u32 before)
{
	u32 index = bench_index_of(p), after = d->first;
	struct task_struct *neighbour;

	if (before) {
		neighbour = bench_task_at(before);
		if (!neighbour)
			return bench_fail(BENCH_CORRUPT, before);
		after = BENCH_LINK(neighbour, next);
		BENCH_LINK(neighbour, next) = index;
	} else {
		d->first = index;
	}
	BENCH_LINK(p, prev) = before;
	BENCH_LINK(p, next) = after;
	if (after) {
		neighbour = bench_task_at(after);
		if (!neighbour)
			return bench_fail(BENCH_CORRUPT, after);
		BENCH_LINK(neighbour, prev) = index;
	} else {
		d->last = index;
	}
	d->queued++;
}

__kinline void bench_list_remove(struct bench_dsq *d, struct task_struct *p)
{
	u32 before = BENCH_LINK(p, prev), after = BENCH_LINK(p, next);
	struct task_struct *neighbour;

	if (before) {
		neighbour = bench_task_at(before);
		if (neighbour)
			BENCH_LINK(neighbour, next) = after;
	} else {
		d->first = after;
	}
	if (after) {
		neighbour = bench_task_at(after);
		if (neighbour)
			BENCH_LINK(neighbour, prev) = before;
	} else {
		d->last = before;
	}
	d->queued--;
}

/* Whether @p may enter a queue; it is marked as being in one. */
__kinline bool bench_enters(struct task_struct *p)
{
	if (p->scx.dsq) {
		bench_fail(BENCH_QUEUED_TWICE, p->pid);
		return false;
	}
	p->scx.dsq = (void *)1;
	return true;
}

__kinline void bench_insert(struct bench_dsq *d, struct task_struct *p, u64 enq_flags)
{
	bool at_head = enq_flags & (SCX_ENQ_HEAD | SCX_ENQ_PREEMPT);

	if (bench_enters(p))
		bench_list_add(d, p, at_head ? 0 : d->last);
}

__kinline void bench_insert_vtime(struct bench_dsq *d, struct task_struct *p, u64 vtime)
{
	u64 placed;

	p->scx.dsq_vtime = vtime;
	if (!bench_enters(p))
		return;
	placed = bench_tree_insert(d->root, bench_index_of(p), vtime);
	d->root = placed;
	bench_list_add(d, p, placed >> 32);
}

__kinline void bench_remove(struct bench_dsq *d, struct task_struct *p)
{
	bench_list_remove(d, p);
	if (d->root)
		d->root = bench_tree_remove(d->root, bench_index_of(p));
	p->scx.dsq = NULL;
}

/* Takes the first task off, NULL if there is none. */
__kinline struct task_struct *bench_pop(struct bench_dsq *d)
{
	struct task_struct *p;

	if (!d->first)
		return NULL;
	p = bench_task_at(d->first);
	if (p)
		bench_remove(d, p);
	else
		bench_fail(BENCH_CORRUPT, d->first);
	return p;
}

/* Moves the first task to the CPU's own queue. */
__kinline bool bench_consume(struct bench_dsq *d)
{
	struct bench_dsq *local = bench_builtin_dsq(BENCH_LOCAL);
	struct task_struct *p = bench_pop(d);

	if (!p || !local)
		return false;
	bench_insert(local, p, 0);
	return true;
}

#endif
