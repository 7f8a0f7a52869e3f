/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a CPU pulls tasks, level by level, and when the task that runs elsewhere is sent to it:
 * kernel/sched/fair.c of Linux 7.2, with the functions named. The kernel locks two runqueues at a
 * time; here each level is balanced with the lock, and between them it is free.
 */
#ifndef ROTA_EEVDF_DOMAINS_PULL_BPF_H
#define ROTA_EEVDF_DOMAINS_PULL_BPF_H

#define MOST_PASSES	4   /* CPUs that are left out in one look */
#define MOST_TIED_MS	512 /* (MAX_PINNED_INTERVAL) */
#define NO_BALANCE_TILL 60000000000ull

/* Of a CPU at a level. (sched_domain) */
struct domain {
	u64 last; /* time when it was balanced */
	u32 interval_ms, failed;
	struct newidle newidle;
};

/* What a CPU does about another one's running task. */
struct push {
	u32 to;	  /* CPU + 1 that is to have it (push_cpu) */
	u32 from; /* CPU + 1 that has to stop for this one */
	u32 call; /* CPU + 1 that has something to run now */
};

/* A CPU's way through its levels; others do so between two of them. */
struct turn {
	u64 cost;     /* of the search, so far (curr_cost) */
	u64 since;    /* the clock, when the next part of it began (t0) */
	u64 expected; /* cost of a search, as it was lately (max_cost) */
	u64 next;
	u32 moved; /* a task that it pulled, 0: none */
	bool idle, newly_idle;
	bool goes_on; /* to the next level (continue_balancing) */
	bool decays;  /* what the level costs became less (need_decay) */
	bool ends;
};

struct turn turns[MAX_CPUS];
struct domain domains[NR_LEVELS][MAX_CPUS];
struct push pushes[MAX_CPUS];

static struct domain *domain_of(u32 level, u32 cpu)
{
	return &domains[INDEX(level, NR_LEVELS)][INDEX(cpu, MAX_CPUS)];
}

static struct turn *turn_of(u32 cpu)
{
	return &turns[INDEX(cpu, MAX_CPUS)];
}

static struct push *push_of(u32 cpu)
{
	return &pushes[INDEX(cpu, MAX_CPUS)];
}

/* (get_sd_balance_interval) */
static u64 interval_of(const struct domain *d, bool busy)
{
	u64 ticks = ((u64)d->interval_ms * (busy ? BUSY_FACTOR : 1) * MS + tick_ns - 1) / tick_ns;
	u64 most = 100ull * MS * nr_cpus / tick_ns;

	return max_s64(1, min_s64(ticks - busy, most)) * tick_ns;
}

/*
 * Of a group's CPUs one balances for it: the first that is idle, of an idle core if there is one.
 * Without the lock. (should_we_balance)
 */
FOLLOWED_ONCE bool should_balance(u32 cpu, u32 level)
{
	u32 n, other, sibling = fresh_start(), first = group_first(level, cpu);

	for (n = fresh_start(); n < group_weight(level, cpu) && can_loop(); n++) {
		other = cpu_at(first + n);
		if (!idles(other))
			continue;
		if (!has_smt || level == LEVEL_CORE || idle_in_core(0, other) & CORE_IS_IDLE)
			return other == cpu;
		sibling = sibling ? sibling : other + 1;
	}
	return sibling ? sibling == cpu + 1 : cpu_at(first) == cpu;
}

/* The level above this one at which the CPU has a domain; NR_LEVELS: none. */
FOLLOWED_ONCE u32 level_above(u32 level, u32 cpu)
{
	for (level++; level < NR_LEVELS && can_loop(); level++)
		if (is_domain(level, cpu))
			return level;
	return NR_LEVELS;
}

/*
 * Should a preferred CPU run it, or does it share a core? Then it is sent at once.
 * (asym_active_balance)
 */
static bool sends_at_once(u32 cpu, u32 level, u32 from)
{
	if (look.moves == MOVES_MISFIT)
		return true;
	return look.idle && look.follows_rank &&
	       (rank_of(cpu) > rank_of(from) || !follows_rank(level, from));
}

/* The running task of the busiest CPU is to come. False: it may not. (need_active_balance) */
static __attribute__((noinline)) bool send_for_running(u32 cpu, u32 level)
{
	u32 from = survey.busiest - 1, slot = queue_of(from)->running;

	if (!sends_at_once(cpu, level, from) &&
	    (look.moves != MOVES_TASKS || look.failed <= nice_tries_of(level) + 2))
		return true;
	if (!slot || !slot_may_use(slot, cpu))
		return false;
	if (push_of(from)->to)
		return true;
	push_of(from)->to = cpu + 1;
	push_of(cpu)->from = from + 1;
	return true;
}

/* The CPU to take from. False: there is none. */
static bool find_source(u32 cpu, u32 level, u64 now)
{
	look.some_fit = false;
	look_at_groups(cpu, level, now);
	measure_imbalance(cpu, level);
	survey.busiest = 0;
	if (survey.left | survey.imbalance)
		find_busiest_cpu(cpu, level);
	return survey.busiest && queue_of(survey.busiest - 1)->nr > 1;
}

/*
 * Looks for the busiest CPU and takes tasks from it: those that this CPU may run, then those that
 * others of its group may, CPU by CPU. If it has none to give, it takes from another one.
 */
static void pull_at(u32 cpu, u32 level, u32 above, u64 now)
{
	u32 n, most = tied_stay ? MOST_PASSES : nr_places + MOST_PASSES;

	look.pass++;
	look.passes = 0;
	for (n = fresh_start(); n < most && can_loop_afresh(); n++) {
		if (!tied_stay && look.next_to) {
			go_on_to_next();
			charge_clock(queue_of(look.to)->running, now);
		} else if (!tied_stay && ++look.passes > MOST_PASSES) {
			break;
		} else if (!find_source(cpu, level, now)) {
			return;
		}
		look.next_to = survey.moved = 0;
		move_from_busiest(tied_stay ? cpu : look.to, now);
		note_came(cpu);
		if (has_next_to())
			continue;
		look.next_to = 0;
		if (above < NR_LEVELS && look.some_tied && survey.left | survey.imbalance)
			*kept_of(above, cpu) = 1;
		if (look.some_fit)
			return;
		left_out[INDEX(survey.busiest - 1, MAX_CPUS)] = look.pass;
		/*
		 * Those of its group had their turn, too. In the kernel the last one looks for the
		 * next busiest if it is the one that balances then.
		 */
		if (!tied_stay && look.to != cpu) {
			turn_of(cpu)->goes_on = false;
			break;
		}
	}
	survey.busiest = 0;
}

/* What the domain is to remember of it. (out_balanced, out_all_pinned of sched_balance_rq) */
static void note_outcome(u32 cpu, u32 level, u32 above)
{
	u32 weight = span_of(level, cpu)->weight, most;
	struct domain *d = domain_of(level, cpu);
	bool moved = look.came || (!tied_stay && look.elsewhere);

	if (survey.busiest) {
		d->failed =
			moved ? 0 : d->failed + (!look.newly_idle & (look.moves != MOVES_MISFIT));
		look.failed = d->failed;
		if (moved || send_for_running(cpu, level)) {
			d->interval_ms = weight;
			return;
		}
	} else {
		if (above < NR_LEVELS && look.some_fit)
			*kept_of(above, cpu) = 0;
		d->failed = 0;
	}
	if (survey.busiest && look.moves == MOVES_MISFIT)
		return;
	most = look.some_fit ? 2 * weight : MOST_TIED_MS;
	if (!look.newly_idle && d->interval_ms < most)
		d->interval_ms *= 2;
}

/* (sched_balance_rq) */
FOLLOWED_ONCE u32 balance_level(u32 cpu, u32 level, u64 now)
{
	struct turn *t = turn_of(cpu);
	u32 above = level_above(level, cpu), came;
	bool elsewhere;

	t->goes_on = t->newly_idle || should_balance(cpu, level);
	bpf_spin_lock(&lock);
	look.idle = t->idle;
	look.newly_idle = t->newly_idle;
	survey.moved = survey.busiest = 0;
	look.some_fit = true;
	look.some_tied = look.elsewhere = false;
	look.to = cpu;
	look.came = look.next_to = 0;
	look.failed = domain_of(level, cpu)->failed;
	look.sees_all = above == NR_LEVELS;
	look.hot_from = hot_from(level);
	if (t->goes_on) {
		if (!tied_stay)
			note_others(cpu, level);
		pull_at(cpu, level, above, now);
		if (!look.newly_idle && is_cache(level, cpu))
			count_to_scan_in(cpu, level);
	}
	note_outcome(cpu, level, above);
	came = look.came;
	elsewhere = look.elsewhere;
	bpf_spin_unlock(&lock);
	if (!tied_stay && elsewhere)
		call_group(cpu, level);
	return came;
}

/* Is it worth while, or time, to balance at this level? */
static bool balances_at(u32 cpu, const struct domain *d, u64 now)
{
	if (turn_of(cpu)->newly_idle)
		return is_worth_it(&d->newidle);
	return now + tick_ns / 2 >= d->last + interval_of(d, !turn_of(cpu)->idle);
}

/* What that level cost a CPU that has become idle. (sched_balance_newidle) */
static void note_cost_at(u32 cpu, u32 level)
{
	struct turn *t = turn_of(cpu);
	u64 now = bpf_ktime_get_ns(), cost = now - t->since + cost_at(level);

	t->since = now;
	t->cost += cost;
	note_cost(&domain_of(level, cpu)->newidle, cost, now);
}

/* One step of balance_levels(). */
FOLLOWED_ONCE u32 come_to_level(u32 cpu, u32 level, u64 now)
{
	struct turn *t = turn_of(cpu);
	struct domain *d = domain_of(level, cpu);
	u32 moved = 0;

	if (!is_domain(level, cpu))
		return 0;
	if (t->newly_idle &&
	    (t->moved || !t->goes_on || balance_of(cpu)->avg_idle < t->cost + d->newidle.cost)) {
		t->ends = true;
		return 0;
	}
	if (!t->newly_idle) {
		t->decays = decay_cost(&d->newidle, now);
		t->expected += d->newidle.cost;
		t->ends = !t->goes_on && !t->decays;
		if (!t->goes_on)
			return 0;
	}
	if (balances_at(cpu, d, now)) {
		moved = balance_level(cpu, level, now);
		t->moved = t->moved ? t->moved : moved;
		if (t->newly_idle)
			note_cost_at(cpu, level);
		d->last = t->newly_idle ? d->last : now;
	}
	if (t->newly_idle)
		note_newly_idle(&d->newidle, moved, now);
	else
		t->idle &= !t->moved;
	t->next = min_s64(t->next, d->last + interval_of(d, !t->idle) - tick_ns / 2);
	return 0;
}

/*
 * All levels, from below, for a CPU that is idle, busy, or has just run out of tasks: one that it
 * pulled, 0: none. Without the lock. (sched_balance_domains, sched_balance_newidle)
 */
static inline __attribute__((always_inline)) u32 balance_levels(u32 cpu, u64 now, bool idle,
								bool newly_idle)
{
	struct cpu_balance *b = balance_of(cpu);
	struct turn *t = turn_of(cpu);
	u32 level;

	t->idle = idle;
	t->newly_idle = newly_idle;
	t->goes_on = true;
	t->moved = 0;
	t->next = now + NO_BALANCE_TILL;
	t->cost = t->expected = 0;
	t->since = now;
	t->decays = t->ends = false;
	for (level = fresh_start(); level < NR_LEVELS && !t->ends && can_loop_afresh(); level++)
		come_to_level(cpu, level, now);
	if (newly_idle)
		b->most_cost = max_s64(b->most_cost, t->cost);
	else if (t->decays)
		b->most_cost = max_s64(MIGRATION_COST_NS, t->expected);
	b->next = newly_idle ? min_s64(b->next, t->next) : t->next;
	return t->moved;
}

/* For a busy CPU, at its tick, without the lock: one that it pulled, 0: none. */
static u32 balance_domains(u32 cpu, u64 now)
{
	if (no_balance || now < balance_of(cpu)->next)
		return 0;
	return balance_levels(cpu, now, false, false);
}

/*
 * A CPU that becomes idle and looks for no work balances as an idle one from now on.
 * (update_next_balance)
 */
FOLLOWED_ONCE u32 bring_forward(u32 cpu)
{
	u32 level = is_domain(LEVEL_CORE, cpu) ? LEVEL_CORE : level_above(LEVEL_CORE, cpu);
	struct cpu_balance *b = balance_of(cpu);
	const struct domain *d = domain_of(level, cpu);

	if (level < NR_LEVELS)
		b->next = min_s64(b->next, d->last + interval_of(d, false) - tick_ns / 2);
	return 0;
}

/*
 * For a CPU with nothing to do, and for one that was woken up to balance. Without the lock. In its
 * caller: a verifier allows eight calls, and the bench of decisions needs one of them.
 */
__kinline void pull_when_idle_in_domains(u32 cpu, u64 now)
{
	struct cpu_balance *b = balance_of(cpu);

	b->was_kicked = b->kicked;
	b->kicked = false;
	if (!b->idle_since)
		b->idle_since = now;
	if (are_unequal())
		note_misfit(0, cpu, now);
	if (!b->was_kicked && !overloaded && !(are_unequal() && nr_misfits))
		bring_forward(cpu);
	else if (balance_levels(cpu, now, true, !b->was_kicked))
		b->idle_since = 0;
}

/* Does more than this CPU work in the cache? Then there may be better places. (nr_busy_cpus) */
static bool others_work(u32 cpu)
{
	const struct span *s = span_of(LEVEL_LLC, cpu);
	u32 n, busy = fresh_start();

	for (n = fresh_start(); n < s->weight && busy < 2 && can_loop(); n++)
		busy += !idles(cpu_at(s->first + n));
	return busy > 1;
}

/*
 * May there be a better place for the task that runs alone? On CPUs of unequal capacity, if it does
 * not fit. (nohz_balancer_kick)
 */
static bool wants_better(u32 cpu)
{
	if (has_packing() && preferred_one_idles(cpu))
		return true;
	if (are_unequal() && capacity_level[INDEX(cpu, MAX_CPUS)] < NR_LEVELS)
		return ability_of(cpu)->misfit;
	return others_work(cpu);
}

/*
 * Idle CPUs balance, each for itself; in the kernel one does it for all of them. Without the
 * lock. (nohz_balancer_kick, _nohz_idle_balance)
 */
FOLLOWED_ONCE u32 kick_to_balance_domains(u32 cpu, u64 now)
{
	u32 n, other, first = fresh_start();

	if (now < next_kick || (queue_of(cpu)->nr < 2 && !wants_better(cpu)))
		return 0;
	for (n = fresh_start(); n < nr_places && !idles(cpu_at(n)) && can_loop(); n++)
		first = n + 1;
	/* The first one would do it for the others, and for itself at the end. */
	for (n = fresh_start(); n < nr_places && can_loop(); n++) {
		first = is_less(first + 1, nr_places) * (first + 1);
		other = cpu_at(first);
		if (!idles(other) || now < balance_of(other)->next)
			continue;
		next_kick = now + tick_ns / 2;
		/* Its mark as idle stays, or it would look again as one that becomes idle. */
		balance_of(other)->kicked = true;
		scx_bpf_kick_cpu(other, KICK_IDLE);
	}
	return 0;
}

/* The running task has to leave for an idle CPU. (active_load_balance_cpu_stop) */
static bool must_leave(u32 cpu, u32 slot)
{
	u32 to = push_of(cpu)->to;

	return to && slot && slot_may_use(slot, to - 1);
}

/* It goes there. */
static __attribute__((noinline)) void push_away(u32 slot, u32 cpu, u64 now)
{
	u32 to = push_of(cpu)->to - 1, level;

	push_of(cpu)->to = 0;
	if (!slot_may_use(slot, to) || client_at(slot)->home != cpu + 1)
		return;
	age(to, now);
	attach(slot, to, now);
	stop_waiting(slot);
	leave(slot, false);
	join(slot, to);
	start_waiting(slot);
	stats.pulls++;
	push_of(cpu)->call = to + 1;
	for (level = fresh_start(); level < NR_LEVELS && can_loop_afresh(); level++) {
		if (!is_domain(level, to) || !spans_cpu(level, to, cpu))
			continue;
		domain_of(level, to)->failed = 0;
		break;
	}
}

/* What was decided under the lock, for another CPU. */
static void call_others(u32 cpu)
{
	struct push *p = push_of(cpu);
	u32 from = p->from, to = p->call;

	p->from = p->call = 0;
	if (from)
		scx_bpf_kick_cpu(from - 1, KICK_PREEMPT);
	if (to) {
		scx_bpf_test_and_clear_cpu_idle(to - 1);
		scx_bpf_kick_cpu(to - 1, KICK_PLAIN);
	}
}

/* For ops.init: as domains that were just built, but for what the CPUs did before. (sd_init) */
FOLLOWED_ONCE u32 begin_balancing(u32 cpu, u64 now)
{
	struct domain *d;
	u64 cost = 0;
	u32 level;

	balance_of(cpu)->next = 0;
	for (level = fresh_start(); level < NR_LEVELS && can_loop_afresh(); level++) {
		d = domain_of(level, cpu);
		d->interval_ms = span_of(level, cpu)->weight;
		if (seed)
			d->last = now - interval_of(d, true) / DICE * (draw() % DICE);
		begin_newidle(&d->newidle, cost_at(level), now);
		cost += is_domain(level, cpu) ? cost_at(level) : 0;
	}
	balance_of(cpu)->most_cost = max_s64(MIGRATION_COST_NS, cost);
	return 0;
}

#endif
