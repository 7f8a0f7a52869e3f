/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is counted of each task: time, waits, and how long it took from wakeups until it ran.
 */
#ifndef ROTA_COUNT_TASKS_BPF_H
#define ROTA_COUNT_TASKS_BPF_H

#include "count_cpus.bpf.h"
#include "record_begin.bpf.h"

__kinline struct place *place_of(u32 number)
{
	u32 key = number - 1;

	return number ? bpf_map_lookup_elem(&places, &key) : NULL;
}

/* A place, by 1 more; 0: there is none. */
__kinline u32 take_place(void)
{
	u32 place;

	if (!bpf_map_pop_elem(&free_places, &place))
		return place + 1;
	if (shared.used < MOST_PLACES) {
		place = __sync_fetch_and_add(&shared.used, 1);
		if (place < MOST_PLACES)
			return place + 1;
	}
	count_lost();
	return 0;
}

/* Changes with the cgroup, and the session, of a task. */
__kinline u64 task_group_of(const struct task_struct *p)
{
	return has_field(p->sched_task_group) ? (u64)p->sched_task_group : 0;
}

__kinline void describe(struct place *place, struct task_struct *p, const char *comm)
{
	place->pid = p->pid;
	place->flags = p->flags & PF_KTHREAD ? IS_KTHREAD : 0;
	place->task_group = task_group_of(p);
	place->group = group_of(p);
	if (bpf_probe_read_kernel_str(place->comm, sizeof(place->comm), comm) < 0)
		place->comm[0] = 0;
	__sync_fetch_and_add(&place->about, 1);
}

/* From now on the task is counted. */
__kinline struct place *add(struct task_struct *p)
{
	struct known *known = bpf_task_storage_get(&tasks, p, NULL, CREATE);
	struct place *place;
	u32 number;

	if (!known)
		return NULL;
	number = known->place;
	if (!number) {
		number = take_place();
		place = place_of(number);
		if (!place)
			return NULL;
		place->number = number;
		if (!__sync_val_compare_and_swap(&known->place, 0, number)) {
			describe(place, p, p->comm);
			return place;
		}
		/* Somebody else was faster. */
		number--;
		bpf_map_push_elem(&free_places, &number, 0);
		number = known->place;
	}
	return place_of(number);
}

/* The place of a task that is counted. */
__kinline struct place *find(struct task_struct *p)
{
	struct known *known;

	if (!p->pid)
		return NULL;
	known = bpf_task_storage_get(&tasks, p, NULL, 0);
	if (known && known->place)
		return place_of(known->place);
	if (config.only_tree || !wanted(p))
		return NULL;
	return add(p);
}

/* CPUs that it may use; 0: all that are there, or it may use some beyond the first 64. */
__kinline u64 tie_of(struct task_struct *p)
{
	u64 mask = p->cpus_mask.bits[0], rest = mask;
	u32 count = 0;

	if (shared.cpus <= 64 && (mask & shared.online) == shared.online)
		return 0;
	for (int i = 0; i < 64 && rest; i++, rest &= rest - 1)
		count++;
	return count == (u32)p->nr_cpus_allowed ? mask : 0;
}

__kinline void log_latency(const struct place *place, u64 ns)
{
	u64 most = (1ULL << LATENCY_BITS) - 1;
	u32 cpu = bpf_get_smp_processor_id();
	struct log *log = bpf_map_lookup_elem(&logs, &cpu);

	if (!log)
		return;
	if (log->head - log->tail >= LOGGED) {
		count_lost();
		return;
	}
	log->entries[log->head & (LOGGED - 1)] =
		(place->number - 1) << LATENCY_BITS | (ns < most ? ns : most);
	__sync_fetch_and_add(&log->head, 1);
}

/* The exponent of the highest bit. */
__kinline u32 log2_of(u64 value)
{
	u32 bits = 0;

	for (int shift = 32; shift; shift /= 2)
		if (value >> shift) {
			value >>= shift;
			bits += shift;
		}
	return bits;
}

__kinline u32 bucket_of(u64 ns)
{
	u32 shift = ns < 256 ? 0 : log2_of(ns) - 7;

	return shift * 128 + (u32)(ns >> shift);
}

/* Does the task have a histogram with a bucket for this? */
__kinline bool add_to_histogram(struct place *place, u64 ns)
{
	struct histogram *of;
	u32 which, bucket = bucket_of(ns);

	if (bucket >= BUCKETS)
		return false;
	if (!place->histogram) {
		if (bpf_map_pop_elem(&free_histograms, &which))
			return false;
		place->histogram = which + 1;
	}
	which = place->histogram - 1;
	of = bpf_map_lookup_elem(&histograms, &which);
	if (!of)
		return false;
	if (bucket >= of->most)
		of->most = bucket + 1;
	/* As what was never used is 0, it is counted from the other end. */
	if (BUCKETS - bucket > of->least)
		of->least = BUCKETS - bucket;
	of->counts[bucket & (BUCKETS - 1)]++;
	return true;
}

/* A wakeup's, of a task that runs now. */
__kinline void count_latency(struct place *place, u64 ns)
{
	u64 half = shared.half;

	if (place->half != half) {
		place->half = half;
		place->wakeups = place->max_ns = 0;
	}
	place->wakeups++;
	if (place->wakeups > EXACT && ns <= place->max_ns && add_to_histogram(place, ns))
		return;
	if (ns > place->max_ns)
		place->max_ns = ns;
	log_latency(place, ns);
}

#endif
