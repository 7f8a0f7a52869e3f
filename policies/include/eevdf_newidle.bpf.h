/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often a CPU that becomes idle looks for work: the less use it was before, the more seldom,
 * at random; as in Linux 7.2, kernel/sched/fair.c, with the functions named. Needs the lock.
 */
#ifndef ROTA_EEVDF_NEWIDLE_BPF_H
#define ROTA_EEVDF_NEWIDLE_BPF_H

#define DICE 1024 /* (NI_RANDOM) */

const volatile bool no_ni_random
	help_text("each CPU that becomes idle pulls, whatever came of that "
		  "before");
const volatile u32 newidle_ratio
	help_text("how often of 1024 times a CPU that becomes idle looks for work, at first")
	range(0, 1024) = 512;

/* Of the last times that it became idle. */
struct newidle {
	u32 calls, good, ratio;
	u64 counted_since;
};

struct newidle newidles[MAX_CPUS];
u32 dice;

static struct newidle *newidle_of(u32 cpu)
{
	return &newidles[cpu % MAX_CPUS];
}

/* As a new domain, but for what the CPUs did before. (sd_init) */
static void begin_newidle(struct newidle *n, u64 now)
{
	n->calls = DICE / 2;
	n->ratio = newidle_ratio;
	n->good = DICE / 4;
	n->counted_since = now;
}

static u32 draw(void)
{
	dice = dice * 1664525 + 1013904223;
	return dice >> 16;
}

static bool is_worth_it(const struct newidle *n)
{
	return no_ni_random || n->ratio >= DICE || draw() % DICE <= 1 + n->ratio;
}

/* What one time counts that was of use. */
static u32 weight_of_dice(const struct newidle *n)
{
	u32 sides = 1 + n->ratio;

	return n->ratio >= DICE ? 1 : (DICE + sides / 2) / sides;
}

/*
 * A CPU that is seldom idle anew tries more often: so many calls in 4 s and more.
 * (update_newidle_stats, NI_RATE)
 */
static void note_newly_idle(struct newidle *n, bool was_of_use, u64 now)
{
	u64 ratio;

	n->calls++;
	n->good += was_of_use ? weight_of_dice(n) : 0;
	if (n->calls < DICE)
		return;
	ratio = ((now - n->counted_since) >> 22) + n->good;
	n->ratio = ratio < DICE ? ratio : DICE;
	n->counted_since = now;
	n->calls /= 2;
	n->good /= 2;
}

#endif
