/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What vtrr.bpf.c does on several CPUs before it follows its queue: which task may run where,
 * and which has to run now. Our readings all; the paper has one CPU [VTRR §6]. Part of that
 * policy, split off for length; everything here needs its lock.
 */
#ifndef ROTA_VTRR_CPUS_BPF_H
#define ROTA_VTRR_CPUS_BPF_H

#define URGENT_PER_CPU 4 /* clients to look at; more would hardly find any */
#define KEPT_STRIDE    (1ull << 32)

/* Can the client be given a quantum on @cpu? @prev, at the end of its own, can. */
static bool can_run(u32 slot, u32 cpu, u32 prev)
{
	return slot == prev || (client_at(slot)->waits && slot_may_use(slot, cpu));
}

/*
 * While other CPUs are busy: the only client that can run here, 0 if there are several or
 * none. It takes nothing from others, and its pick shall not move the cursor for others.
 */
static u32 only_one_here(u32 cpu, u32 prev)
{
	u32 slot = clients[0].next & SLOT_MASK, found = 0;

	while (slot && can_loop()) {
		if (can_run(slot, cpu, prev)) {
			if (found)
				return 0;
			found = slot;
		}
		slot = client_at(slot)->next & SLOT_MASK;
	}
	return found;
}

/*
 * After a short cycle: of those with quanta kept from the one before, the one with the least of
 * such quanta by its share, as in stride scheduling. Counters cannot tell: they have a limit.
 */
static u32 pick_kept(u32 cpu, u32 prev)
{
	u64 *pass = &kept_pass_of[cpu % MAX_CPUS], least = 0;
	u32 slot = kept_cursor & SLOT_MASK, best = 0, seen;

	for (seen = loop_start; seen < (nr_running + 1) * URGENT_PER_CPU && can_loop(); seen++) {
		struct client *c;
		u64 at;

		slot = client_at(slot)->next & SLOT_MASK;
		c = client_at(slot);
		if (!slot) /* the anchor */
			continue;
		catch_up(c);
		if (c->counter <= c->share || !can_run(slot, cpu, prev))
			continue;
		/* A task from elsewhere is neither behind those here nor far ahead. */
		at = c->kept_pass > *pass ? c->kept_pass : *pass;
		if (at > *pass + KEPT_STRIDE / c->share)
			at = *pass + KEPT_STRIDE / c->share;
		if (!best || at < least) {
			best = slot;
			least = at;
		}
	}
	if (best) {
		kept_cursor = best;
		*pass = least;
		client_at(best)->kept_pass = least + KEPT_STRIDE / client_at(best)->share;
	}
	return best;
}

/*
 * On several CPUs, a client that has to run now; 0: none. It has quanta left of the cycle
 * before, or those it has left would keep a CPU busy until the cycle ends.
 */
static u32 pick_urgent(u32 cpu, u32 prev)
{
	u32 slot = clients[0].next & SLOT_MASK, cpus = nr_running + 1, kept, seen;

	kept = after_short_cycle ? pick_kept(cpu, prev) : 0;
	if (kept)
		return kept;
	for (seen = loop_start; slot && seen < cpus * URGENT_PER_CPU && can_loop(); seen++) {
		struct client *c = client_at(slot);

		catch_up(c);
		if (c->counter && c->counter * cpus >= quanta_left && can_run(slot, cpu, prev))
			return slot;
		slot = c->next & SLOT_MASK;
	}
	return 0;
}

#endif
