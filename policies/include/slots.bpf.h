/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slots: small numbers for tasks, so that a policy can keep its tasks in
 * plain arrays, link them by number and walk them under one lock (no helper or
 * kfunc may be called while a BPF spin lock is held, not even a map lookup).
 *
 * Slot 0 stands for "none". A policy has room for NR_SLOTS - 1 = 32767 tasks;
 * the next one ends it with an error that reports this.
 *
 * The CPUs a task may use are kept here too, for the same reason.
 *
 * Here as in the policies state is not static: the optimiser splits static structs
 * up, and BTF, which a kernel checks, then no longer describes what is there.
 */
#ifndef ROTA_SLOTS_BPF_H
#define ROTA_SLOTS_BPF_H

#include "idle.bpf.h"

#define NR_SLOTS  32768
#define SLOT_MASK (NR_SLOTS - 1) /* lets the verifier see that an index is in bounds */
#define MAX_CPUS  1024

struct slot_ref {
	u32 slot;
};

TASK_STORAGE(slot_refs, struct slot_ref);

GLOBAL_LOCK(lock);

u32 slots_used;
u32 free_slot; /* head of the list of slots given back */
u32 free_next[NR_SLOTS];
u32 pid_of[NR_SLOTS];
u8 slot_tied[NR_SLOTS]; /* may not use every CPU: slot_cpus says which */
u64 slot_cpus[NR_SLOTS][MAX_CPUS / 64];
u8 slot_cpu_comes[NR_SLOTS]; /* an idle CPU was chosen for the task and is about to look */
u32 cpu_comes_for[MAX_CPUS]; /* the slot of that task, once it waits */
u32 nr_cpus;

static u32 slot_of(struct task_struct *p)
{
	struct slot_ref *ref = bpf_task_storage_get(&slot_refs, p, NULL, 0);

	if (ref) {
		u32 slot = ref->slot & SLOT_MASK;

		/* By exec a thread takes over the id of its process. */
		pid_of[slot] = p->pid;
		return slot;
	}
	policy_error("task %llu was never announced", p->pid);
	return 0;
}

static bool slot_may_use(u32 slot, u32 cpu)
{
	if (!slot_tied[slot & SLOT_MASK])
		return true;
	return slot_cpus[slot & SLOT_MASK][cpu / 64 % (MAX_CPUS / 64)] >> cpu % 64 & 1;
}

static void slot_set_cpus(u32 slot, struct task_struct *p, const struct cpumask *mask)
{
	u32 cpu;

	slot &= SLOT_MASK;
	if ((u32)p->nr_cpus_allowed >= nr_cpus) {
		slot_tied[slot] = 0;
		return;
	}
	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++) {
		u64 *word = &slot_cpus[slot][cpu / 64 % (MAX_CPUS / 64)];

		if (bpf_cpumask_test_cpu(cpu, mask))
			*word |= 1ull << cpu % 64;
		else
			*word &= ~(1ull << cpu % 64);
	}
	slot_tied[slot] = 1;
}

static void slot_give_back(u32 slot)
{
	slot &= SLOT_MASK;
	bpf_spin_lock(&lock);
	free_next[slot] = free_slot;
	free_slot = slot;
	bpf_spin_unlock(&lock);
}

/* The slot of a new task, 0 (and the policy ends) if there is none left. */
static u32 slot_take(struct task_struct *p)
{
	struct slot_ref *ref;
	u32 slot;

	bpf_spin_lock(&lock);
	slot = free_slot & SLOT_MASK;
	if (slot)
		free_slot = free_next[slot];
	else if (slots_used < NR_SLOTS - 1)
		slot = ++slots_used;
	bpf_spin_unlock(&lock);

	if (!slot) {
		policy_error("more than %llu tasks: this policy has no room for them",
			     (u64)NR_SLOTS - 1);
		return 0;
	}
	ref = bpf_task_storage_get(&slot_refs, p, NULL, STORAGE_GET_CREATE);
	if (!ref) {
		slot_give_back(slot);
		return 0;
	}
	ref->slot = slot;
	pid_of[slot & SLOT_MASK] = p->pid;
	slot_set_cpus(slot, p, p->cpus_ptr);
	return slot & SLOT_MASK;
}

/* For ops.init. */
static s32 slots_init(void)
{
	forget_idle_marks();
	nr_cpus = scx_bpf_nr_cpu_ids();
	if (nr_cpus <= MAX_CPUS)
		return 0;
	policy_error("%llu CPUs: this policy supports up to 1024", nr_cpus);
	return -E2BIG;
}

/* For ops.select_cpu: an idle CPU if there is one. Does not dispatch to it. */
static s32 choose_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = find_idle_cpu(p, prev_cpu, wake_flags, &is_idle);

	slot_cpu_comes[slot_of(p) & SLOT_MASK] = is_idle;
	return cpu;
}

/* Wakes up an idle CPU that the task may use, if there is one, and notes that it comes for that. */
static bool wake_idle_cpu(struct task_struct *p, u32 slot)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	if (cpu < 0)
		return false;
	cpu_comes_for[(u32)cpu % MAX_CPUS] = slot;
	scx_bpf_kick_cpu(cpu, KICK_IDLE);
	return true;
}

/*
 * For the end of ops.enqueue: an idle CPU that the task may use must come to look. False:
 * there is none.
 */
static bool call_idle_cpu(struct task_struct *p, u32 slot)
{
	u32 cpu = scx_bpf_task_cpu(p);
	bool comes = slot_cpu_comes[slot & SLOT_MASK];

	slot_cpu_comes[slot & SLOT_MASK] = 0;
	if (!comes)
		return wake_idle_cpu(p, slot);
	cpu_comes_for[cpu % MAX_CPUS] = slot;
	return true;
}

/* The task for which @cpu was woken up, if that is not the one it now runs; 0: none. */
static u32 who_waits_in_vain(u32 cpu, u32 picked)
{
	u32 slot = cpu_comes_for[cpu % MAX_CPUS];

	cpu_comes_for[cpu % MAX_CPUS] = 0;
	return slot == picked ? 0 : slot & SLOT_MASK;
}

/* Another CPU may idle that can run it. */
static void call_idle_cpu_again(s32 pid, u32 slot)
{
	struct task_struct *p = bpf_task_from_pid(pid);

	if (!p)
		return;
	wake_idle_cpu(p, slot);
	bpf_task_release(p);
}

/* An int until Linux 6.19, a u8 in 7.2: a load of an unsigned integer fits itself to either. */
struct task_struct___on_cpu {
	unsigned int on_cpu;
} __attribute__((preserve_access_index));

static bool is_on_cpu(const struct task_struct *p)
{
	return ((const struct task_struct___on_cpu *)p)->on_cpu;
}

/*
 * Has the CPU that @p left switched to another task? Until it has, @p is the current task of
 * whatever callbacks run there, each of which ties it to that CPU while it runs
 * (migrate_disable()). That takes a microsecond or two, which the kernel would wait for that CPU's
 * lock anyway; but a virtual CPU may stand still there.
 */
static __attribute__((noinline)) bool leaves_cpu(struct task_struct *p)
{
	u64 until_ns = bpf_ktime_get_ns() + 10000;

	for (u32 i = 0; i < 100 && bpf_ktime_get_ns() < until_ns; i++) {
		if (!is_on_cpu(p))
			return true;
	}
	return false;
}

/*
 * Sends a task that a policy picked to @cpu. The mask was checked when it was
 * picked, but a task can be tied to its CPU for a moment (migration disabled)
 * without a callback: then it runs there. The kernel narrows the mask of such a task only
 * after it was enqueued, when its CPU switches (migrate_disable_switch()), so a pick of it
 * before that must look at the count, too. What the count says before the insertion may be old:
 * where the task ran and came back after it was picked, as this CPU is a virtual one that stood
 * still. The insertion is for good if the task waits by then: what is read after that holds, once
 * the task has left its CPU. If the task is gone, having run on another CPU since, this one must
 * decide again: it would idle, or go on, while tasks wait.
 */
static void dispatch_pid(s32 pid, s32 cpu, u64 slice_ns)
{
	struct task_struct *p = bpf_task_from_pid(pid);

	if (!p) {
		scx_bpf_kick_cpu(cpu, KICK_PLAIN);
		return;
	}
	if (bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
		dsq_insert(p, DSQ_LOCAL, slice_ns, ENQ_NONE);
		if (__builtin_expect((!is_on_cpu(p) || leaves_cpu(p)) && !p->migration_disabled, 1))
			goto sent;
		scx_bpf_dispatch_cancel();
	}
	dsq_insert(p, DSQ_LOCAL_ON | scx_bpf_task_cpu(p), slice_ns, ENQ_NONE);
sent:
	bpf_task_release(p);
}

/* What ops.dispatch found under the lock, to be done without it. */
struct decision {
	u64 slice_ns;
	u32 slot; /* the task to run; 0: none */
	u32 pid;
	u32 in_vain; /* the task that the CPU came for, if another runs; 0: none */
	u32 in_vain_pid;
};

/* @waits: whether the policy still has the task for which @cpu came. */
static void decide(struct decision *d, u32 slot, u64 slice_ns, u32 in_vain, bool waits)
{
	d->slot = slot;
	d->pid = pid_of[slot & SLOT_MASK];
	d->slice_ns = slice_ns;
	d->in_vain = waits ? in_vain : 0;
	d->in_vain_pid = pid_of[in_vain & SLOT_MASK];
}

/* @prev_slot: of @prev if that can go on, else 0. */
static void carry_out(const struct decision *d, s32 cpu, struct task_struct *prev, u32 prev_slot)
{
	if (d->in_vain)
		call_idle_cpu_again(d->in_vain_pid, d->in_vain);
	if (!d->slot) {
		if (!prev)
			look_again(cpu, false);
		return;
	}
	if (d->slot == prev_slot)
		task_set_slice(prev, d->slice_ns);
	else
		dispatch_pid(d->pid, cpu, d->slice_ns);
}

#endif
