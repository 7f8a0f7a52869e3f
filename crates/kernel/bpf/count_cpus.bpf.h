/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What CPUs do, step by step; and for how long they are idle while a task waits.
 *
 * A program writes about its own CPU only. What a CPU does from its last switch in a step to the
 * end of that step, and in steps without any, is left to the reader.
 */
#ifndef ROTA_COUNT_CPUS_BPF_H
#define ROTA_COUNT_CPUS_BPF_H

#include "count.bpf.h"

#define TRIES 16

/* The time of a word, which has fewer bits; the word's is in the past, but for what CPUs disagree
 * in. */
__kinline u64 passed_since(u64 word, u64 now)
{
	u64 passed = (now - (word >> WAITING_BITS)) & TIME_MASK;

	return passed > TIME_MASK / 2 ? 0 : passed;
}

/* The first change in a step leaves what the clock was at its beginning. */
__kinline void mark(struct waits *of, u64 old, u64 clock_ns, u64 now, u64 passed)
{
	u64 step = now / STEP_NS, since = now - passed, waited = !!(old & WAITING_MASK);
	struct mark *mark = &of->marks[step & (STEPS - 1)];

	/* Another CPU's was the first one. */
	if (since >= step * STEP_NS)
		return;
	mark->since_ns = since;
	mark->waited = waited;
	mark->clock_ns = clock_ns + (waited ? step * STEP_NS - since : 0);
	mark->step = step;
	of->step = step;
}

/*
 * One more task waits, or one less. A function of its own, as the verifier then goes through its
 * loop once, and not for each caller.
 */
__noinline int change_waits(u32 which, int by, u64 now)
{
	struct waits *of = bpf_map_lookup_elem(&waits, &which);
	u64 old, count, passed, time, clock_ns;

	if (!of)
		return 0;
	for (int i = 0; i < TRIES; i++) {
		old = *(volatile u64 *)&of->word;
		count = old & WAITING_MASK;
		if (by < 0 && !count)
			return 0;
		passed = passed_since(old, now);
		time = passed ? now & TIME_MASK : old >> WAITING_BITS;
		if (__sync_val_compare_and_swap(
			    &of->word, old, time << WAITING_BITS | (count + by)) != old)
			continue;
		clock_ns = of->clock_ns;
		if (count)
			clock_ns = __sync_fetch_and_add(&of->clock_ns, passed);
		if (now >= (of->step + 1) * STEP_NS)
			mark(of, old, clock_ns, now, passed);
		return 0;
	}
	/* The number has to be right in any case. */
	__sync_fetch_and_add(&of->word, (u64)by);
	return 0;
}

/* A task begins to wait for these CPUs, or ends; 0: for any. */
__noinline int change_waits_for(u64 tie, int by, u64 now)
{
	if (!tie)
		return change_waits(0, by, now);
	for (u32 i = 0; i < 64; i++)
		if (tie >> i & 1)
			change_waits(i + 1, by, now);
	return 0;
}

/* For how long there was a task that waited. */
__kinline u64 clock_of(u32 which, u64 now)
{
	struct waits *of = bpf_map_lookup_elem(&waits, &which);
	u64 word;

	if (!of)
		return 0;
	word = *(volatile u64 *)&of->word;
	return of->clock_ns + (word & WAITING_MASK ? passed_since(word, now) : 0);
}

/* The same for the beginning of the step that it is now. */
__kinline u64 clock_at_step(u32 which, u64 step, u64 now)
{
	struct waits *of = bpf_map_lookup_elem(&waits, &which);
	u64 word, passed, since = step * STEP_NS;
	struct mark *mark;

	if (!of)
		return 0;
	mark = &of->marks[step & (STEPS - 1)];
	if (mark->step == step)
		return mark->clock_ns;
	word = *(volatile u64 *)&of->word;
	passed = passed_since(word, now);
	if (!(word & WAITING_MASK) || passed < now - since)
		return of->clock_ns;
	return of->clock_ns + passed - (now - since);
}

__kinline u64 grown(u64 from, u64 to)
{
	return to > from ? to - from : 0;
}

/* So long did a task that could have used this CPU wait, of either kind. */
__kinline u64 waited(u64 untied_ns, u64 tied_ns, u64 most)
{
	u64 ns = untied_ns > tied_ns ? untied_ns : tied_ns;

	return ns < most ? ns : most;
}

/* A task ran here, in this step. */
__kinline void ran(struct cell *cell, struct place *place, u32 cpu, u64 ns)
{
	if (place->step != cell->step || place->cpu != cpu) {
		place->step = cell->step;
		place->cpu = cpu;
		place->ran_ns = 0;
	}
	place->ran_ns += ns;
	cell->busy_ns += ns;
	/* Of several that ran equally long the first one. */
	if (place->ran_ns > cell->top_ns ||
	    (place->ran_ns == cell->top_ns && place->pid < cell->top)) {
		cell->top_ns = place->ran_ns;
		cell->top = place->pid;
	}
}

/* The cell of the step that it is now, with what the CPU did in it so far. */
__kinline struct cell *cell_now(struct cpu *of, struct place *prev, bool idled, u32 id, u64 now)
{
	u64 step = of->step, since, untied, tied;
	struct cell *cell = &of->cells[step & (STEPS - 1)];
	bool here = cell->step == step && now < (step + 1) * STEP_NS;

	if (here) {
		since = cell->since_ns;
		untied = cell->untied_ns;
		tied = cell->tied_ns;
	} else {
		step = now / STEP_NS;
		since = step * STEP_NS;
		if (since < shared.begin_ns)
			since = shared.begin_ns;
		cell = &of->cells[step & (STEPS - 1)];
		cell->step = step;
		cell->busy_ns = cell->wasted_ns = cell->top_ns = cell->top = 0;
		of->step = step;
		untied = tied = 0;
		if (idled) {
			untied = clock_at_step(0, step, now);
			tied = clock_at_step(id + 1, step, now);
		}
	}
	if (now <= since)
		return cell;
	if (prev)
		ran(cell, prev, id, now - since);
	else if (idled)
		cell->wasted_ns += waited(grown(untied, clock_of(0, now)),
					  grown(tied, clock_of(id + 1, now)),
					  now - since);
	return cell;
}

/* This CPU switches, from a task that is counted, from idling, or from neither. */
__kinline void switch_cpu(struct place *prev, bool idled, struct place *next, bool idles, u64 now)
{
	u32 id = bpf_get_smp_processor_id();
	struct cpu *of = bpf_map_lookup_elem(&cpus, &id);
	struct cell *cell;

	if (!of)
		return;
	cell = cell_now(of, prev, idled, id, now);
	cell->runs = next ? next->pid : idles ? IDLE : OTHER;
	cell->ran_ns = next && next->step == cell->step && next->cpu == id ? next->ran_ns : 0;
	if (idles) {
		cell->untied_ns = clock_of(0, now);
		cell->tied_ns = clock_of(id + 1, now);
	}
	cell->since_ns = now;
	of->place = next ? next->number : 0;
}

#endif
