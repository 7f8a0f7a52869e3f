/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When tasks are pulled to another CPU, as in Linux 7.2, in one domain with all CPUs, which share
 * a last-level cache: kernel/sched/fair.c, with the functions named. (With several domains, see
 * eevdf_domains_pull.bpf.h.) Tasks can wait while other
 * CPUs are idle: a wakeup scans some of the CPUs only (eevdf_wake.bpf.h), a CPU that runs out of
 * tasks pulls one only if it is usually idle for longer than the scan costs, and others pull in
 * intervals. With work_conserving the policy balances as fair_balance.bpf.h says instead.
 *
 * Not here, in one domain: wake_wide(), active balancing, tasks that are all tied.
 * Needs the lock, but for choosing a queue.
 */
#ifndef ROTA_EEVDF_BALANCE_BPF_H
#define ROTA_EEVDF_BALANCE_BPF_H

#define OWN_BALANCE
#include "fair_balance.bpf.h"
#include "eevdf_wake.bpf.h"
#include "eevdf_newidle.bpf.h"

#define MS	    1000000
#define BUSY_FACTOR 16 /* busy CPUs balance that much less often (sd->busy_factor) */
#define NICE_TRIES  1  /* in vain, then hot clients are moved too (cache_nice_tries) */

const volatile u32 seed
	help_text("of the CPUs' random decisions; 0: all balance first at their first "
		  "tick, else a random time later");

struct cpu_balance {
	u64 next;
	u64 avg_idle;
	u64 idle_since;	 /* 0: it is not */
	u64 most_cost;	 /* of a search through all domains (max_idle_balance_cost) */
	u64 searched_at; /* in the only domain, and what that cost is not noted yet */
	u32 interval_ms;
	u32 failed;		/* (nr_balance_failed) */
	bool kicked;		/* woken up to pull */
	bool was_kicked, tries; /* when it pulled last */
};

struct cpu_balance cpu_balances[MAX_CPUS];
u64 next_kick;

/* What one look at all CPUs found: in memory, of which the verifier assumes nothing. */
struct survey {
	u64 load, used, capacity; /* of all CPUs */
	u64 rank;
	u32 busiest; /* CPU + 1, 0: none */
	u32 left;    /* clients to move, 0: by their load */
	u64 imbalance;
	bool moves; /* the client that is looked at */
	u32 moved;  /* the task it moved last, 0: none; of several list_older has the one before */
};

struct survey survey;

static struct cpu_balance *balance_of(u32 cpu)
{
	return &cpu_balances[cpu % MAX_CPUS];
}

static void note_misfit(u32 slot, u32 cpu, u64 now);

#include "eevdf_packing.bpf.h"
#include "eevdf_clamps.bpf.h"
#include "eevdf_energy.bpf.h"
#include "eevdf_domains_stats.bpf.h"
#include "eevdf_domains_wake.bpf.h"
#include "eevdf_domains_look.bpf.h"

/* Has a CPU two tasks? Else there is nothing to pull. (update_sd_lb_stats, set_rd_overloaded) */
static __attribute__((noinline)) bool some_have_two(void)
{
	u32 cpu;

	overloaded = false;
	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++)
		note_two_at(cpu);
	return overloaded;
}

/* (update_sd_lb_stats, update_sd_pick_busiest) */
static __attribute__((noinline)) void look_at_all(u32 cpu, u64 now)
{
	u64 rank, awake, mask, two = 0;
	struct room room;
	u32 other, n;

	survey = (struct survey){};
	for (n = loop_start; n < nr_cpus && can_loop(); n++) {
		const struct cpu_averages *a;
		const struct cpu_queue *q;

		other = (cpu + 1 + n) % nr_cpus;
		a = averages_of(other);
		q = queue_of(other);
		age(other, now);
		/* Only where there is something to note. */
		if (a->away | a->taken | a->others | q->away_since)
			note_capacity(other, now);
		room = room_of(other);
		survey.capacity += room.left;
		survey.load += a->load;
		survey.used += room.used;
		awake = q->nr_waiting + is_less(0, q->running);
		two |= room.nr >> 1;
		/* Overloaded by load, else without room, else by how many there are. */
		rank = group_is_overloaded(&room) * ((1ull << 50) + relative_load(other));
		rank |= is_less(rank, 1) * ((group_lacks_room(&room) << 49) | room.nr);
		rank *= is_less(0, awake) & (is_less(cpu, other) | is_less(other, cpu));
		mask = -is_less(survey.rank, rank);
		survey.rank += (rank - survey.rank) & mask;
		survey.busiest += (other + 1 - survey.busiest) & mask;
	}
	overloaded = two;
	/* No task waits there. (sched_balance_find_src_group) */
	other = survey.busiest - 1;
	awake = queue_of(other)->nr_waiting + is_less(0, queue_of(other)->running);
	awake += averages_of(other)->others;
	survey.busiest *= is_overloaded(other) | is_less(1, awake);
}

/* A wakeup scans many while there is much to be had. (update_idle_cpu_scan) */
static void count_to_scan(void)
{
	u64 each = survey.used / nr_cpus, busy;

	busy = each * each * imbalance_pct * imbalance_pct / (10000 * FULL);
	busy = busy < FULL ? busy : FULL;
	nr_idle_scan = (FULL - busy) * nr_cpus / FULL;
}

/*
 * Load that a busy @cpu should have more. The kernel calculates without sign: where the busiest
 * of those that are overloaded has less than the average, as one task elsewhere is heavy, what
 * it could give is no bound. (sched_balance_find_src_group, calculate_imbalance)
 */
static u64 imbalance_of(u32 cpu)
{
	u32 busiest = survey.busiest - 1;
	u64 here = relative_load(cpu), there = relative_load(busiest);
	u64 average = survey.load * FULL / survey.capacity, out, in;
	bool over = is_overloaded(cpu);

	if (!survey.busiest || !is_overloaded(busiest) || !lacks_room(cpu))
		return 0;
	if (here >= there || here >= average)
		return 0;
	if (over && there * 100 <= here * imbalance_pct)
		return 0;
	out = (there - average) * capacity_of(busiest);
	in = (average - here) * capacity_of(cpu);
	return (out < in ? out : in) / FULL;
}

static bool fits(u32 slot, u32 cpu);

/* How often it was in vain. (nr_balance_failed) */
static u32 failed_at(u32 cpu)
{
	return has_domains() ? look.failed : balance_of(cpu)->failed;
}

/*
 * May @cpu take it away? A task that ran a moment ago is hot; one that sleeps and takes part is
 * load, but none to run; and those go first that are behind their share, if others are where
 * they come. (can_migrate_task, task_is_ineligible_on_dst_cpu, task_hot)
 */
static bool can_move(u32 slot, u32 cpu, u64 now)
{
	const struct client *c = client_at(slot);
	u32 failed = failed_at(cpu), hot = has_domains() ? look.hot_from : NICE_TRIES + 1;

	if (c->delayed && (has_domains() ? look.moves != MOVES_LOAD : survey.left))
		return false;
	if (are_limited() && *(const volatile bool *)&stands_there)
		return false;
	if (!failed && !no_place_lag && queue_at(queue_for(c->own.group, cpu))->nr &&
	    !is_eligible(c))
		return false;
	if (!(has_domains() ? fits(slot, cpu) : slot_may_use(slot, cpu)) || !c->waits)
		return false;
	return failed >= hot || is_idle_task(c) || !c->stopped_at ||
	       now - c->stopped_at >= MIGRATION_COST_NS;
}

/* Takes the client away from its CPU, if that is right. (detach_tasks) */
__kinline void consider(u32 slot, u32 cpu, u64 now)
{
	u32 from = client_at(slot)->home - 1;
	u64 load, counts;

	/* First, where a verifier knows least. */
	if (are_limited())
		note_throttled_on(slot, cpu);
	load = max_s64(load_there(flat_load(slot, load_of(slot, now)), from, now), 1);
	if (has_domains() && look.moves == MOVES_USE)
		load = max_s64(average_of(slot)->used, average_of(slot)->expected);
	counts = load >> (failed_at(cpu) & 31);
	survey.moves = can_move(slot, cpu, now) && (survey.left || counts <= survey.imbalance);
	if (are_unequal() && look.moves == MOVES_MISFIT)
		survey.moves &= fit_of_task(slot, from) != FITS;
	if (survey.moves) {
		charge_clock(queue_of(from)->running, now);
		queue_of(from)->gives_way |= notices_in(client_at(slot)->own.around);
		attach(slot, cpu, now);
		stop_waiting(slot);
		leave(slot, false);
		list_older[slot % LIST_PLACE] = survey.moved;
		stats.pulls++;
		survey.imbalance = max_s64(0, survey.imbalance - load);
		survey.left -= is_less(0, survey.left);
		survey.moved = slot;
		return;
	}
	list_out(slot);
	list_in(slot, from);
}

/*
 * The one taken away last comes first, so the first one is the newest there. (attach_tasks)
 * Counted, as Linux 6.18's verifier loses its way in a loop that only ends with the list.
 */
__kinline void let_come(u32 cpu)
{
	u32 slot = survey.moved, before, n;

	for (n = loop_start; slot && n < MOST_LOOKED_AT && can_loop_afresh(); n++) {
		before = list_older[slot % LIST_PLACE];
		join(slot, cpu);
		begin_waiting(slot);
		survey.moved = slot;
		slot = before;
	}
}

/* Those that came, or ran, the longest time ago first; none twice. */
static __attribute__((noinline)) void move_from_busiest(u32 cpu, u64 now)
{
	u32 from = survey.busiest - 1, slot, newer, seen, most = queue_of(from)->nr;

	most = min_s64(most, MOST_LOOKED_AT);
	slot = list_newer[list_of(from) % LIST_PLACE];
	for (seen = loop_start; slot < NR_SLOTS && seen < most && can_loop_afresh(); seen++) {
		newer = list_newer[slot % LIST_PLACE];
		if (nr_there(from) < 2 || !(survey.left | survey.imbalance))
			break;
		consider(slot, cpu, now);
		if (has_domains() && look.newly_idle && survey.moved)
			break;
		slot = newer;
	}
	let_come(cpu);
}

#include "eevdf_domains_tied.bpf.h"
#include "eevdf_domains_pull.bpf.h"

/*
 * For a CPU with nothing to do: tasks that wait there then. (sched_balance_newidle)
 * Whether it was kicked is read from memory each time, lest the verifier follow both ways.
 */
static void pull_when_idle(u32 cpu, u64 now)
{
	struct cpu_balance *b = balance_of(cpu);

	b->was_kicked = b->kicked;
	b->kicked = false;
	if (!b->idle_since)
		b->idle_since = now;
	if (!b->was_kicked && (!overloaded || b->avg_idle < newidle_of(cpu)->cost))
		return;
	b->tries = b->was_kicked || is_worth_it(newidle_of(cpu));
	b->searched_at = now * !b->was_kicked * b->tries;
	survey.busiest = survey.moved = 0;
	if (b->tries && some_have_two() | b->was_kicked)
		look_at_all(cpu, now);
	if (b->was_kicked)
		count_to_scan();
	if (b->tries && survey.busiest) {
		/* Half of them, or the first of these. (sibling_imbalance) */
		survey.left = b->was_kicked ? nr_there(survey.busiest - 1) / 2 : 1;
		move_from_busiest(cpu, now);
		b->failed = survey.moved ? 0 : b->failed + b->was_kicked;
	} else if (b->tries) {
		b->failed = 0;
	}
	if (survey.moved)
		b->idle_since = 0;
	if (!b->was_kicked)
		note_newly_idle(newidle_of(cpu), survey.moved, now);
}

/* For the end of the decision, without the lock: what that search cost. (sched_balance_newidle) */
static void note_search(u32 cpu)
{
	struct cpu_balance *b = balance_of(cpu);
	u64 now, cost;

	if (!b->searched_at)
		return;
	now = bpf_ktime_get_ns();
	cost = now - b->searched_at + newidle_cost_ns;
	b->searched_at = 0;
	note_cost(newidle_of(cpu), cost, now);
	b->most_cost = max_s64(b->most_cost, cost);
}

/* For a busy CPU, at its tick: one that it pulled, 0: none. (sched_balance_domains) */
static u32 balance_as_linux(u32 cpu, u64 now)
{
	struct cpu_balance *b = balance_of(cpu);
	u64 interval, most_ns = 100ull * MS * nr_cpus; /* (max_load_balance_interval) */

	if (now < b->next && !queue_of(cpu)->own.hurries)
		return 0;
	if (no_balance || nr_cpus < 2)
		return 0;
	queue_of(cpu)->own.hurries = false;
	if (decay_cost(newidle_of(cpu), now))
		b->most_cost = max_s64(MIGRATION_COST_NS, newidle_of(cpu)->cost);
	look_at_all(cpu, now);
	count_to_scan();
	survey.imbalance = imbalance_of(cpu);
	b->interval_ms = 2 * nr_cpus;
	if (!survey.imbalance) {
		b->failed = 0;
	} else {
		move_from_busiest(cpu, now);
		b->failed = survey.moved ? 0 : b->failed + 1;
		b->interval_ms = nr_cpus;
	}
	/* (get_sd_balance_interval) */
	interval = (u64)b->interval_ms * MS * (has_idle_tasks_only(cpu) ? 1 : BUSY_FACTOR);
	interval = max_s64(interval / tick_ns * tick_ns - tick_ns, 0);
	b->next = now + (interval < most_ns ? interval : most_ns) - tick_ns / 2;
	return survey.moved;
}

/* It gets the CPU: idling is over. (ttwu_do_activate, of rq->avg_idle) */
static void note_busy(u32 cpu, u64 now)
{
	struct cpu_balance *b = balance_of(cpu);
	s64 by = now - b->idle_since - b->avg_idle;

	if (!b->idle_since)
		return;
	b->idle_since = 0;
	b->avg_idle += by < 0 ? -((u64)-by / 8) : (u64)by / 8;
	b->avg_idle = min_s64(b->avg_idle, 2 * b->most_cost);
}

#include "eevdf_away.bpf.h"

/* Some idle CPU balances if others wait at a busy one. (nohz_balancer_kick) */
static void kick_to_balance(struct task_struct *p, u64 now)
{
	s32 idle;

	if (now < next_kick)
		return;
	idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (idle < 0)
		return;
	next_kick = now + tick_ns / 2;
	balance_of(idle)->kicked = true;
	scx_bpf_kick_cpu(idle, KICK_IDLE);
}

static void balance_init(void)
{
	u64 interval = 2 * nr_cpus * BUSY_FACTOR * MS, now = bpf_ktime_get_ns();
	u32 cpu;

	dice = seed;
	/* nr_cpus is read anew: from a number that a verifier knows it would know where loops are.
	 */
	asm volatile("" : : : "memory");
	lists_init();
	away_init();
	if (has_domains())
		domains_init();
	nr_idle_scan = nr_cpus;
	for (cpu = loop_start; cpu < nr_cpus && can_loop(); cpu++) {
		/* When it balanced last, before the policy came, is not known. */
		if (seed)
			balance_of(cpu)->next = now + interval / DICE * (draw() % DICE);
		balance_of(cpu)->avg_idle = 2 * MIGRATION_COST_NS;
		begin_newidle(newidle_of(cpu), newidle_cost_ns, now);
		balance_of(cpu)->most_cost = max_s64(MIGRATION_COST_NS, newidle_cost_ns);
		if (has_domains())
			begin_balancing(cpu, now);
	}
}

#include "eevdf_misfit.bpf.h"
#include "eevdf_hooks.bpf.h"

#endif
