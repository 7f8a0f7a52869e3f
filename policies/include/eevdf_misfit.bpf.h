/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On CPUs of unequal capacity: which task is too large for its CPU, and which frequency a CPU
 * needs. kernel/sched/fair.c and cpufreq_schedutil.c of Linux 7.2, with the functions named.
 */
#ifndef ROTA_EEVDF_MISFIT_BPF_H
#define ROTA_EEVDF_MISFIT_BPF_H

/* The capacity of the largest CPU that the task may use. (max_allowed_capacity) */
static __attribute__((noinline)) u64 most_allowed(u32 slot)
{
	u64 most = fresh_long();
	u32 cpu;

	for (cpu = fresh_start(); cpu < nr_cpus && can_loop(); cpu++)
		if (slot_may_use(slot, cpu))
			most = max_s64(most, ability_of(cpu)->capacity);
	return most;
}

/* The task that runs on @cpu, 0: none. (update_misfit_status) */
static __attribute__((noinline)) void note_misfit(u32 slot, u32 cpu, u64 now)
{
	struct cpu_ability *a = ability_of(cpu);
	u64 before = a->misfit, load;

	a->misfit = 0;
	if (slot && fit_of_task(slot, cpu) != FITS && a->capacity < most_allowed(slot)) {
		load = load_there(flat_load(slot, average_of(slot)->load), cpu, now);
		a->misfit = max_s64(load, 1);
	}
	nr_misfits += is_less(0, a->misfit) - is_less(0, before);
}

/* For ops.tick, without the lock: the task that runs may ask for something else now. */
static __attribute__((noinline)) int renew_clamps(struct task_struct *p, u32 cpu, u64 now)
{
	u32 slot = slot_of(p);

	if (!note_clamps(slot, p))
		return 0;
	bpf_spin_lock(&lock);
	if (queue_of(cpu)->running == slot)
		note_misfit(slot, cpu, now);
	bpf_spin_unlock(&lock);
	return 0;
}

/*
 * Without the lock: what the CPU is used becomes its frequency, and that the rate of its clock.
 * Kernels do so themselves for tasks of the fair class. (sugov_get_util, cpu_util_cfs_boost)
 */
FOLLOWED_ONCE u32 follow_frequency(u32 cpu)
{
	const struct cpu_averages *a = averages_of(cpu);
	struct cpu_ability *ability = ability_of(cpu);
	u64 used = max_s64(a->runnable, use_of(cpu));

	if (cpu >= nr_cpus)
		return 0;
	if (has_energy())
		read_clamps(cpu);
	scx_bpf_cpuperf_set(cpu, min_s64(used, ability->capacity));
	ability->rate = ability->capacity * scx_bpf_cpuperf_cur(cpu) / FULL;
	return 0;
}

#endif
