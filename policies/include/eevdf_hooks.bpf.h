/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where fair_ops.bpf.h asks eevdf how to balance: as Linux in one domain or several, or so that no
 * CPU is idle while a task waits (work_conserving). Needs the lock, but where it says otherwise.
 */
#ifndef ROTA_EEVDF_HOOKS_BPF_H
#define ROTA_EEVDF_HOOKS_BPF_H

static void before_change(u32 slot, u32 cpu, u64 now)
{
	if (work_conserving)
		return;
	age(cpu, now);
	if (slot)
		attach(slot, cpu, now);
}

static void note_start(u32 slot, u32 cpu, u64 now)
{
	if (work_conserving)
		return;
	note_busy(cpu, now);
	if (are_unequal()) {
		ability_of(cpu)->works = true;
		note_misfit(slot, cpu, now);
	}
	if (client_at(slot)->home == cpu + 1) {
		list_out(slot);
		list_in(slot, cpu);
	}
}

static void forget(u32 slot, u64 now)
{
	forget_average(slot, now);
	used_before[slot & SLOT_MASK] = 0;
	if (has_domains())
		*waker_at(slot) = (struct waker){};
}

/* Without the lock for a while, as the kernel does it (sched_balance_newidle). */
static void pull_before(u32 cpu, u64 now)
{
	if (has_domains()) {
		bpf_spin_unlock(&lock);
		pull_when_idle_in_domains(cpu, now);
		bpf_spin_lock(&lock);
	} else if (!work_conserving) {
		pull_when_idle(cpu, now);
	}
}

static u32 pull_after(u32 cpu, u64 now)
{
	return work_conserving ? pull_one(cpu, now) : 0;
}

static u32 pull_at_tick(u32 cpu, u64 now)
{
	u32 pulled, came;

	if (has_domains()) {
		if (are_unequal()) {
			age(cpu, now);
			load_of(queue_of(cpu)->running, now);
			note_misfit(queue_of(cpu)->running, cpu, now);
			if (has_energy())
				note_overutilized(cpu);
		}
		bpf_spin_unlock(&lock);
		pulled = balance_domains(cpu, now);
		bpf_spin_lock(&lock);
		came = take_what_came(cpu);
		return pulled ? pulled : came;
	}
	return work_conserving ? balance(cpu, now) : balance_as_linux(cpu, now);
}

static void after_tick(struct task_struct *p, u32 cpu, u64 now)
{
	if (has_domains()) {
		if (are_unequal()) {
			renew_clamps(p, cpu, now);
			follow_frequency(cpu);
		}
		kick_to_balance_domains(cpu, now);
		call_others(cpu);
	} else if (!work_conserving && queue_of(cpu)->nr > 1) {
		kick_to_balance(p, now);
	}
}

/* Does the task that ran there go on if none is better? */
static bool may_stay(u32 slot, u32 cpu)
{
	return !has_domains() || !must_leave(cpu, slot);
}

/* For the end of ops.enqueue, with the lock. */
static void after_enqueue(u32 slot, u32 cpu, u64 now)
{
	const struct arrival *a = &queue_of(cpu)->arrival;

	if (has_energy() && a->comes) {
		add_clamps(slot, cpu);
		if (!a->is_new)
			note_overutilized(cpu);
	}
	if (has_domains() && push_of(cpu)->to)
		push_away(slot, cpu, now);
}

/* For the end of ops.dispatch and ops.enqueue, without the lock. */
static inline __attribute__((always_inline)) void after_decision(u32 cpu)
{
	if (has_domains()) {
		if (are_unequal())
			follow_frequency(cpu);
		call_others(cpu);
	} else if (!work_conserving) {
		note_search(cpu);
	}
}

static bool call_for(struct task_struct *p, u32 slot)
{
	u32 cpu = scx_bpf_task_cpu(p);

	if (work_conserving)
		return call_idle_cpu(p, slot);
	if (is_away(cpu) && !queue_of(cpu)->switches && nr_cpus > 1)
		watch_away(bpf_ktime_get_ns());
	if (!scx_bpf_test_and_clear_cpu_idle(cpu))
		return false;
	scx_bpf_kick_cpu(cpu, KICK_IDLE);
	return true;
}

#endif
