/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sessions [PBS §4.1]: since when a task's sojourn time and service count.
 *
 * When a task becomes active again, a new session begins if it was inactive for at least
 * |beta| times the mean of its inactive periods before, of its whole life. After its first
 * inactive period there is no mean: then one begins unless beta is infinite.
 */
#ifndef ROTA_PBS_SESSION_BPF_H
#define ROTA_PBS_SESSION_BPF_H

#include "log2.bpf.h"
#include "weights.bpf.h"

#define SCALE	       10000 /* of tunables with decimals */
#define PLUS_INFINITY  0x7fffffffffffffffll
#define MINUS_INFINITY (-PLUS_INFINITY - 1)
#define MAX_BETA       (100 * SCALE)

/*
 * Service counts in terms of the client's weight: kappa times as much if it has kappa times
 * the share of nice 0, with the priority offset delta = alpha log(kappa) [PBS eq. 6], as then
 * log(T) - alpha log(S) + delta = log(T) - alpha log(S / kappa). A year of it at the least
 * weight needs 64 bits.
 */
struct session {
	u64 began;
	u64 inactive_ns; /* that it was inactive since */
	u64 served_ns;	 /* S / kappa, rounded down */
	u64 rem;	 /* what was rounded off, below the weight */
	s64 log_served;
};

/* Inactive periods of a client's life. */
struct inactivity {
	u64 total_ns;
	u64 periods;
};

static void session_begin(struct session *s, u64 now)
{
	*s = (struct session){.began = now};
}

static void session_serve(struct session *s, u64 ran_ns, u64 weight)
{
	u64 scaled = ran_ns * NICE_0_WEIGHT + s->rem;

	s->served_ns += scaled / weight;
	s->rem = scaled % weight;
	s->log_served = log2_of(s->served_ns);
}

static bool session_is_served(const struct session *s)
{
	return s->served_ns || s->rem;
}

/* Sojourn time, with inactive periods if @beta is positive. */
static u64 session_sojourn(const struct session *s, s64 beta, u64 now)
{
	s64 sojourn = now - s->began - (s->inactive_ns & beta >> 63);

	return sojourn & ~(sojourn >> 63);
}

static bool session_is_over(const struct inactivity *before, s64 beta, u64 inactive_ns)
{
	u64 factor = beta < 0 ? -beta : beta, mean;

	if (beta == PLUS_INFINITY || beta == MINUS_INFINITY)
		return false;
	if (!before->periods || !factor)
		return true;
	if (factor > MAX_BETA)
		factor = MAX_BETA;
	mean = before->total_ns / before->periods;
	return inactive_ns >= mean / SCALE * factor + mean % SCALE * factor / SCALE;
}

/* The client is active again. True: in a new session. */
static bool session_go_on(struct session *s, const struct inactivity *before, s64 beta,
			  u64 inactive_ns, u64 now)
{
	if (!session_is_over(before, beta, inactive_ns)) {
		s->inactive_ns += inactive_ns;
		return false;
	}
	session_begin(s, now);
	return true;
}

#endif
