/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The priority of a task [PBS eq. 2], with what is added to it [§5.1 to §5.3].
 *
 * It is in units of 2^-32 / 10000: logarithms have 32 bits of fraction, and alpha four decimals.
 * A logarithm is below 64, so that alpha = 100 makes 59 bits of it.
 */
#ifndef ROTA_PBS_PRIORITY_BPF_H
#define ROTA_PBS_PRIORITY_BPF_H

#include "pbs_session.bpf.h"
#include "slots.bpf.h"

#define ENDLESS	  (1ll << 61) /* the priority of a task not served yet */
#define MAX_ALPHA (100 * SCALE)
#define MAX_GAMMA (100 * SCALE)

volatile s64 alpha help_text("0: first come first served, 1: equal slowdowns, large: least service")
scale(10000) range(-100, 100) = 10000;
volatile s64 beta help_text("session threshold in mean inactive periods; negative: T without these")
scale(10000) range(-100, 100) or_infinite = -30000;
volatile s64 gamma help_text("bonus of the running task") scale(10000) range(0, 100) = 0;
volatile u64 switch_interval
	help_text("if not 0, instead of gamma: time between switches, in terms of service")
	scale(1000000) range(0, 100) = 0;
const volatile u64 alpha_min help_text("least size of alpha, to prevent starvation") scale(10000)
range(0, 100) = 100;
const volatile u64 alpha_max help_text("greatest size of alpha, to prevent starvation") scale(10000)
range(0, 100) = 1000000;
const volatile s64 epsilon help_text("favour of tasks that are served little") scale(10000)
range(0, 10) = 0;
const volatile u64 epsilon_alpha help_text("alpha of that") scale(10000) range(0, 100) = 10000;
const volatile s64 epsilon_beta help_text("session threshold of that") scale(10000)
range(-100, 100) or_infinite = PLUS_INFINITY;

struct client {
	struct session session;
	struct session interactive; /* that of epsilon */
	struct inactivity inactivity;
	u64 inactive_since;
	u64 charged_at; /* its CPU time when last charged */
	u64 charged_ns; /* the time then */
	u64 last_look;	/* by which decision, with mode=constant */
	u32 weight;
	u32 got_cpu;   /* which it got last */
	bool known;    /* it was active before */
	bool inactive; /* it sleeps */
	bool comes;    /* became active and was not enqueued yet */
	bool waits;
};

struct client clients[NR_SLOTS];

/* The tunables as one decision sees them. Not on the stack, where a verifier tells them apart. */
struct knobs {
	u64 alpha; /* its size */
	u64 quantum_ns;
	s64 gamma; /* as a priority */
	s64 beta;
	s64 negative; /* all ones if alpha is, else 0 */
};

struct knobs knobs;

/* Needs the lock. */
static void read_knobs(void)
{
	s64 a = alpha, bonus = gamma;
	u64 interval = switch_interval, size = a < 0 ? -a : a;

	if (size < alpha_min)
		size = alpha_min;
	if (size > alpha_max || size > MAX_ALPHA)
		size = alpha_max < MAX_ALPHA ? alpha_max : MAX_ALPHA;
	if (interval > 100000000)
		interval = 100000000;
	if (bonus < 0 || bonus > MAX_GAMMA)
		bonus = bonus < 0 ? 0 : MAX_GAMMA;
	bonus <<= LOG2_BITS;
	/* log2(1 + interval) */
	if (interval)
		bonus = (s64)size * (log2_of(1000000 + interval) - log2_of(1000000));
	knobs.alpha = size;
	knobs.negative = a >> 63;
	knobs.gamma = bonus;
	knobs.beta = beta;
	knobs.quantum_ns = quantum_now();
	/* Or the compiler would keep them in registers all the same. */
	asm volatile("" : : : "memory");
}

static struct client *client_at(u32 slot)
{
	return &clients[slot & SLOT_MASK];
}

struct logs {
	s64 sojourn;
	s64 served;
	bool is_served; /* at all */
};

/* @ran_ns: what it ran since it was charged. */
static struct logs logs_of(const struct session *s, s64 threshold, u64 now, u64 ran_ns, u32 weight)
{
	struct logs logs = {.served = s->log_served};

	logs.sojourn = log2_of(session_sojourn(s, threshold, now));
	logs.is_served = ran_ns || session_is_served(s);
	if (ran_ns)
		logs.served = log2_of(s->served_ns + virtual_ns(ran_ns, weight));
	return logs;
}

static s64 priority(const struct client *c, u64 now, u64 ran_ns)
{
	struct logs logs = logs_of(&c->session, knobs.beta, now, ran_ns, c->weight);
	s64 sojourn = SCALE * logs.sojourn, p;

	if (knobs.alpha && !logs.is_served)
		return ENDLESS;
	p = ((sojourn ^ knobs.negative) - knobs.negative) - (s64)knobs.alpha * logs.served;
	if (!epsilon)
		return p;
	logs = logs_of(&c->interactive, epsilon_beta, now, ran_ns, c->weight);
	if (epsilon_alpha && !logs.is_served)
		return ENDLESS;
	return p + epsilon * (logs.sojourn - (s64)(epsilon_alpha * logs.served / SCALE));
}

/* Is @a, of priority @p, to run before @b, of priority @q? */
static bool beats(s64 p, u32 a, s64 q, u32 b)
{
	u64 came = client_at(a)->session.began, other = client_at(b)->session.began;

	if (p != q)
		return p > q;
	if (came != other)
		return knobs.negative ? came > other : came < other;
	return pid_of[a & SLOT_MASK] < pid_of[b & SLOT_MASK];
}

#endif
