/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of several had more than the others, wherever that was: each has a virtual time, and all
 * of them the mean of these by weight. The distance from the mean is its lead. Those that do not
 * want to run weigh nothing.
 */
#ifndef ROTA_LEADS_BPF_H
#define ROTA_LEADS_BPF_H

#define PULL_SHIFT 7 /* weights in the mean are of nice 0 divided by this: 800 */

/* One of them, or what they have all together. */
struct account {
	s64 served; /* virtual time, ns */
	u64 pull;   /* its weight in the mean, 0: does not want to run */
};

/* @value × @part / @whole. BPF divides without sign. */
static s64 scaled_by(s64 value, u64 part, u64 whole)
{
	if (!whole)
		return 0;
	return value < 0 ? -(s64)((u64)-value * part / whole) : (s64)((u64)value * part / whole);
}

/* How far it is ahead of the others. */
static s64 lead_of(const struct account *a, const struct account *all)
{
	return a->served - all->served;
}

static void advance(struct account *a, struct account *all, s64 by_ns)
{
	a->served += by_ns;
	if (a->pull)
		all->served += scaled_by(by_ns, a->pull, all->pull);
}

static void bound_lead(struct account *a, struct account *all, s64 least, s64 most)
{
	s64 lead = lead_of(a, all);

	if (lead < least)
		advance(a, all, least - lead);
	else if (lead > most)
		advance(a, all, most - lead);
}

/* It weighs something else from here on, and is no farther from the mean than that. */
static void set_pull(struct account *a, struct account *all, u64 pull, s64 least, s64 most)
{
	u64 others = all->pull - a->pull;

	if (pull == a->pull)
		return;
	/* The mean without it, then with it. */
	if (a->pull)
		all->served -= scaled_by(lead_of(a, all), a->pull, others);
	a->pull = 0;
	all->pull = others;
	bound_lead(a, all, least, most);
	if (pull)
		all->served += scaled_by(lead_of(a, all), pull, others + pull);
	a->pull = pull;
	all->pull += pull;
}

#endif
