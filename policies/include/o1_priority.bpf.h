/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task of o1.bpf.c by itself: its time slice, how much it sleeps, and the priority that
 * follows from both [O1CFS §2.1]. Part of that policy, split off for length; everything here
 * needs its lock.
 */
#ifndef ROTA_O1_PRIORITY_BPF_H
#define ROTA_O1_PRIORITY_BPF_H

#define NICE_0		120 /* static_prio of nice 0 */
#define MAX_PRIO	140
#define FIRST_PRIO	100 /* those above it are the real-time classes' */
#define MAX_BONUS	10
#define NS_PER_BONUS	100000000ull /* of average sleep */
#define MAX_SLEEP_NS	(MAX_BONUS * NS_PER_BONUS)
#define JIFFY_NS	1000000ull
#define UNINTERRUPTIBLE 2 /* p->__state of a sleep that no signal ends */
#define EXIT_WEIGHT	3

struct client {
	u64 sleep_avg_ns;
	s64 left_ns;	/* of its time slice; negative: overrun */
	u64 charged_at; /* its CPU time when last charged */
	u64 ran_ns;	/* that sleep_avg_ns does not know of yet */
	u64 slept_at;
	u64 came_at;
	u64 stopped_at;
	s64 turn_left;	 /* of its slice when it goes behind those of its priority; 0: at its end */
	u32 cpu;	 /* with the run queue it is in */
	u32 array;	 /* of that run queue, if it waits */
	u32 static_prio; /* 100..139: nice -20..19 */
	u32 prio;	 /* dynamic */
	u32 next, prev;	 /* in the list of its priority */
	u32 parent, parent_life;
	u32 life;	  /* changes when the slot gets another task */
	bool waits;	  /* in a list: can be dispatched */
	bool runs;	  /* was picked, and its place among the others was not decided since */
	bool to_head;	  /* its place is before, not behind, those of its priority */
	bool comes;	  /* became runnable and was not enqueued yet */
	bool yields;	  /* until the next decision */
	bool is_new;	  /* has not been runnable under this policy */
	bool is_forked;	  /* it came into being under this policy */
	bool first_slice; /* has not used up any */
	bool idled;	  /* slept where no signal wakes */
	bool credit;	  /* the time until it runs counts as sleep, in part */
};

struct client clients[NR_SLOTS];

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

static u32 static_prio_of(struct task_struct *p)
{
	s32 prio = p->static_prio;

	return prio < FIRST_PRIO ? FIRST_PRIO : prio >= MAX_PRIO ? MAX_PRIO - 1 : prio;
}

/* The base time slice: 800 ms for nice -20, 100 ms for 0, 5 ms for 19. */
static u64 time_slice(const struct client *c)
{
	u64 of_nice_0 = c->static_prio < NICE_0 ? 4 * timeslice_ns : timeslice_ns;

	return of_nice_0 * (MAX_PRIO - c->static_prio) / (MAX_PRIO - NICE_0);
}

/* 0 to 10; the paper's bonus is that less 5. */
static u32 current_bonus(const struct client *c)
{
	return c->sleep_avg_ns / NS_PER_BONUS;
}

static s32 bonus(const struct client *c)
{
	return no_bonus ? 0 : (s32)current_bonus(c) - MAX_BONUS / 2;
}

static u32 effective_prio(const struct client *c)
{
	s32 prio = (s32)c->static_prio - bonus(c);

	return prio < FIRST_PRIO ? FIRST_PRIO : prio >= MAX_PRIO ? MAX_PRIO - 1 : prio;
}

/* -3 for nice -20, 2 for 0, 6 for 19, which no bonus reaches. */
static s32 interactive_delta(const struct client *c)
{
	return (s32)(c->static_prio / 4) - 28;
}

static bool is_interactive(const struct client *c)
{
	return !no_interactive && bonus(c) >= interactive_delta(c);
}

/* TIMESLICE_GRANULARITY: 10 ms for those that sleep most, up to 5.12 s, for each CPU. */
static u64 granularity(const struct client *c)
{
	u32 bonus = no_bonus ? MAX_BONUS / 2 : current_bonus(c);

	return (granularity_ns << (bonus < MAX_BONUS ? MAX_BONUS - 1 - bonus : 0)) * nr_cpus;
}

/*
 * What the client may have left when it goes behind those of its priority, within its time
 * slice; 0: at its end only. Each @granularity of a slice, while as much is left.
 */
static u64 left_at_turn(const struct client *c)
{
	u64 slice = time_slice(c), each = granularity(c), used, turn;

	if (no_granularity || !is_interactive(c) || c->left_ns <= 0 || (u64)c->left_ns > slice)
		return 0;
	used = slice - c->left_ns;
	turn = (used / each + 1) * each;
	return turn + each <= slice ? slice - turn : 0;
}

/*
 * A sleep raises the average by its length. A long one does not make a task more than just
 * interactive, and no sleep does that could not be interrupted.
 */
static void slept(struct client *c, u64 ns)
{
	u64 ceiling = (MAX_BONUS / 2 + 1 + interactive_delta(c)) * NS_PER_BONUS - JIFFY_NS;

	if (!no_sleep_ceiling && ns > ceiling && c->sleep_avg_ns < ceiling) {
		c->sleep_avg_ns = ceiling;
		c->credit = false;
	} else if (!no_sleep_ceiling && c->idled && c->sleep_avg_ns + ns >= ceiling) {
		if (c->sleep_avg_ns < ceiling)
			c->sleep_avg_ns = ceiling;
	} else {
		c->sleep_avg_ns += ns;
	}
	if (c->sleep_avg_ns > MAX_SLEEP_NS)
		c->sleep_avg_ns = MAX_SLEEP_NS;
	c->prio = effective_prio(c);
}

static void woken(struct client *c, u64 now)
{
	c->came_at = now;
	c->credit = !c->idled;
	slept(c, now - c->slept_at);
}

/* Long sleepers lose their average more slowly. Changes no priority: the next event does. */
static void count_run(struct client *c)
{
	u32 bonus = current_bonus(c);
	u64 ran = c->ran_ns < MAX_SLEEP_NS ? c->ran_ns : MAX_SLEEP_NS;

	if (!no_slow_decay && bonus)
		ran /= bonus;
	c->sleep_avg_ns -= ran < c->sleep_avg_ns ? ran : c->sleep_avg_ns;
	c->ran_ns = 0;
}

/* The next slice; what the last one was too long is taken off. */
static void refill(struct client *c)
{
	c->left_ns += time_slice(c);
	if (c->left_ns <= 0)
		c->left_ns = 1;
	c->first_slice = false;
}

static void charge(struct client *c, u64 cpu_time)
{
	u64 used = cpu_time - c->charged_at;

	c->charged_at = cpu_time;
	c->left_ns -= used;
	c->ran_ns += used;
}

/*
 * A new client halves the time slice of the one that forks it, and both sleep less. Returns
 * for how long the parent runs on.
 */
static s64 forked(struct client *c, u32 parent, u64 parent_cpu_time)
{
	struct client *from = client_at(parent);

	charge(from, parent_cpu_time);
	c->parent = parent;
	c->parent_life = from->life;
	c->first_slice = true;
	c->sleep_avg_ns = current_bonus(from) * child_penalty / 100 * NS_PER_BONUS;
	c->prio = effective_prio(c);
	from->sleep_avg_ns = current_bonus(from) * NS_PER_BONUS;
	if (!no_fork_split && from->left_ns > 1) {
		c->left_ns = (u64)(from->left_ns + 1) / 2;
		from->left_ns = (u64)from->left_ns / 2;
		from->turn_left = left_at_turn(from);
	}
	return from->left_ns - from->turn_left;
}

/* One that ends gives back what is left of its first slice, and marks its parent. */
static void exited(struct client *c)
{
	struct client *parent = client_at(c->parent);
	s64 most = time_slice(parent);

	if (!c->parent || parent->life != c->parent_life)
		return;
	if (!no_fork_split && c->first_slice && c->cpu == parent->cpu && c->left_ns > 0) {
		parent->left_ns += c->left_ns;
		if (parent->left_ns > most)
			parent->left_ns = most;
	}
	if (c->sleep_avg_ns < parent->sleep_avg_ns)
		parent->sleep_avg_ns = parent->sleep_avg_ns / (EXIT_WEIGHT + 1) * EXIT_WEIGHT +
				       c->sleep_avg_ns / (EXIT_WEIGHT + 1);
}

#endif
