/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unhappiness: for how long a customer has waited for what a task is about to do [CAS §2].
 *
 * A request is from a customer, or from a task on behalf of a request that it holds itself (its
 * parent). It waits in its socket, then it is held by the task (slot) that took it. Its
 * unhappiness grows with time but for the time in which its holder has a CPU [§2.2, 1 and 2].
 * A holder that blocks for a service hands on 1 - alpha of it [eq. 1], and what is left to it
 * stays as it is [4]; with the answer it gets all of it back [eq. 2].
 *
 * A wait counts once. From when a holder asks until it blocks both its request and the one to the
 * service grow, with the same time: as the second is joined to the first, there or as it ends, the
 * CPU time that it had meanwhile is taken off, and nothing added. A request that was handed on
 * stands still, whatever its holder does until it has the answer.
 *
 * All requests of one holder grow alike, by the holder's clock: no event costs more where
 * more requests are open. The total of a request [eq. 3] is that of the one being served and
 * what is left to those that wait for it: of several at once on behalf of one, each counts for
 * itself.
 *
 * As this has it unhappiness is never below 0, and hands on what it has, to the nanosecond.
 * Everything here needs the lock. The policy that includes this defines holder_changed(slot): what
 * that task holds, or waits for, is not what it was; and stats.open.
 */
#ifndef ROTA_UNHAPPINESS_BPF_H
#define ROTA_UNHAPPINESS_BPF_H

#include "slots.bpf.h"

#define NR_REQUESTS NR_SLOTS
#define LINK_MASK   (NR_REQUESTS + NR_SLOTS - 1)
#define MOST_HELD   32 /* of a holder's requests that are looked at, the oldest */
#define ALPHA_ONE   1000
#define PLAIN	    10000 /* weight of a request of a customer and a server that count for 100 */

const volatile u32 alpha help_text("part of its unhappiness that a task keeps when it asks another")
scale(1000) range(0, 0.499) = 0;
const volatile bool falls
	help_text("unhappiness falls while it is served, as CAS §3 counts, not as §2.2 defines it");
const volatile u64 forget_ns help_text("a request that was not answered for this time is forgotten")
unit(ns) range(1000000, 1000000000000) = 10000000000;

struct request {
	u64 key;	/* of its conversation; 0: it came by a wakeup */
	u64 carried;	/* its unhappiness at @mark */
	u64 mark;	/* on its holder's clock */
	u64 above;	/* unhappiness of all that wait for it, ns */
	u64 touched_at; /* when its holder last received something */
	u64 began_at;
	u64 least;	/* what its parent had then */
	u32 weight;	/* of the customer, times that of the task that serves directly */
	u32 asker_tgid; /* the process that asks; 0: not known, or not on this machine */
	u32 asker_session;
	u32 holder; /* 0: none took it yet */
	u32 parent, child;
	u32 in_bucket;	/* the next one there, or of the free ones */
	u32 before;	/* the one that it follows in its bucket */
	bool local;	/* the sender is on this machine */
	bool taken;	/* its holder has read it, and is not just expected to */
	bool handed_on; /* its holder waits for the child, which has the unhappiness */
};

/* How fast a client's clock goes. */
#define PACE_WAITS  1
#define PACE_STILL  0
#define PACE_SERVED (falls ? -1 : 0)

struct holder {
	u64 clock; /* ns of waiting, at @since */
	u64 since;
	s64 pace;
};

/* A circle for each holder, of what it holds, from the oldest on. */
struct link {
	u32 older, newer;
};

struct request requests[NR_REQUESTS]; /* 0: none */
struct holder holders[NR_SLOTS];      /* 0: none, with the time as its clock */
struct link links[NR_REQUESTS + NR_SLOTS];
u32 conversations[NR_REQUESTS]; /* buckets of requests by key */
u32 requests_used, free_request;
u32 uneven_requests; /* that weigh other than PLAIN */

static void holder_changed(u32 slot);

static struct request *request_at(u32 request)
{
	return &requests[request & SLOT_MASK];
}

static struct holder *holder_at(u32 slot)
{
	return &holders[slot & SLOT_MASK];
}

static struct link *link_at(u32 link)
{
	return &links[link & LINK_MASK];
}

/* The link of a holder in its own circle. */
static u32 circle_of(u32 slot)
{
	return NR_REQUESTS + (slot & SLOT_MASK);
}

/* A request's link, else 0. What compilers know of its size they would use to drop masks. */
static u32 request_of(u32 link)
{
	link = link < NR_REQUESTS ? link : 0;
	asm volatile("" : "+r"(link));
	return link;
}

/* 0: it holds none. */
static u32 oldest_of(u32 slot)
{
	return request_of(link_at(circle_of(slot))->newer);
}

static u32 newer_than(u32 request)
{
	return request_of(link_at(request)->newer);
}

static u64 clock_of(const struct holder *h, u64 now)
{
	return h->clock + h->pace * (now - h->since);
}

/* The unhappiness of one request at one process, u in [§2.1]. No branch: verifiers follow both. */
static u64 unhappiness_of(const struct request *r, u64 now)
{
	u64 grown = clock_of(holder_at(r->holder), now) - r->mark;
	s64 u = r->carried + grown * !r->handed_on;

	return u & ~(u >> 63);
}

/* All that the customer has waited for it, by weight: U in [eq. 3], in us of PLAIN weight. */
static u64 total_of(const struct request *r, u64 now)
{
	return (unhappiness_of(r, now) + r->above) / 1000 * r->weight;
}

/* From now on its unhappiness is @u. */
static void settle(struct request *r, u64 u, u64 now)
{
	r->carried = u;
	r->mark = clock_of(holder_at(r->holder), now);
}

static void set_pace(u32 slot, s64 pace, u64 now)
{
	struct holder *h = holder_at(slot);
	u32 request, n;

	h->clock = clock_of(h, now);
	h->since = now;
	/* No request has a debt from having been served for longer than it waited. */
	request = falls ? oldest_of(slot) : 0;
	for (n = loop_start; request && n < MOST_HELD && can_loop(); n++) {
		struct request *r = request_at(request);

		settle(r, unhappiness_of(r, now), now);
		request = newer_than(request);
	}
	h->pace = pace;
}

static void holder_begin(u32 slot, u64 now)
{
	u32 circle = circle_of(slot);

	*holder_at(slot) = (struct holder){.since = now};
	*link_at(circle) = (struct link){circle, circle};
}

/* By multiplicative hashing. */
static u32 bucket_of(u64 key)
{
	return key * 0x9e3779b97f4a7c15 >> 49 & SLOT_MASK;
}

static u32 request_find(u64 key)
{
	u32 request = conversations[bucket_of(key)];

	while (request && request_at(request)->key != key && can_loop())
		request = request_at(request)->in_bucket;
	return request;
}

/* It is on behalf of @parent. */
static void request_serves(u32 request, u32 parent, u64 now)
{
	struct request *r = request_at(request);

	r->parent = parent;
	r->least = falls ? 0 : unhappiness_of(request_at(parent), now);
	/* That of request 0, none, does not matter. */
	request_at(parent)->child = request;
}

/* A request begins; 0: there is no room. */
static u32 request_begin(u64 key, u32 parent, u32 weight, u64 now)
{
	u32 request = free_request, bucket = bucket_of(key);
	struct request *r;

	if (request)
		free_request = request_at(request)->in_bucket;
	else if (requests_used < NR_REQUESTS - 1)
		request = ++requests_used;
	else
		return 0;
	r = request_at(request);
	*r = (struct request){
		.key = key, .weight = weight, .mark = now, .touched_at = now, .began_at = now};
	request_serves(request, parent, now);
	if (key) {
		r->in_bucket = conversations[bucket];
		/* That of request 0 does not matter either. */
		request_at(r->in_bucket)->before = request;
		conversations[bucket] = request;
	}
	uneven_requests += weight != PLAIN;
	stats.open++;
	return request;
}

static void request_hold(u32 request, u32 slot, u64 now)
{
	struct request *r = request_at(request);
	u64 u = unhappiness_of(r, now);
	u32 circle = circle_of(slot), newest = link_at(circle)->older;

	r->holder = slot;
	*link_at(request) = (struct link){newest, circle};
	link_at(newest)->newer = request;
	link_at(circle)->older = request;
	settle(r, u, now);
	holder_changed(slot);
}

/* Back into its socket, or on its way out. */
static void request_let_go(u32 request, u64 now)
{
	struct request *r = request_at(request);
	const struct link *link = link_at(request);
	u64 u = unhappiness_of(r, now);
	u32 slot = r->holder;

	if (!slot)
		return;
	link_at(link->older)->newer = link->newer;
	link_at(link->newer)->older = link->older;
	r->holder = 0;
	r->taken = false;
	settle(r, u, now);
	holder_changed(slot);
}

static void bucket_remove(u32 request)
{
	const struct request *r = request_at(request);

	request_at(r->in_bucket)->before = r->before;
	if (r->before)
		request_at(r->before)->in_bucket = r->in_bucket;
	else
		conversations[bucket_of(r->key)] = r->in_bucket;
}

static void request_free(u32 request, u64 now)
{
	struct request *r = request_at(request);

	request_let_go(request, now);
	if (r->key)
		bucket_remove(request);
	stats.open--;
	uneven_requests -= r->weight != PLAIN;
	r->key = 0;
	r->in_bucket = free_request;
	free_request = request;
}

/*
 * How much a service's request adds to what its customer has waited by the request that it is for:
 * all that it has, if that was handed on; else they waited together, less what the service ran.
 */
static s64 added_by(const struct request *child, const struct request *r, u64 now)
{
	u64 u = unhappiness_of(r, now), own = unhappiness_of(child, now);
	u64 served = now - child->began_at - own;

	if (r->handed_on)
		return own;
	if ((s64)served < 0 || u < child->least)
		return 0;
	return served < u - child->least ? -(s64)served : -(s64)(u - child->least);
}

/* What is done for a request by @child, on behalf of @above, is over: it has all of that. */
static __attribute__((noinline)) void request_regains(u32 request, u32 above, u32 child, u64 now)
{
	struct request *r = request_at(request);
	s64 added = added_by(request_at(child), request_at(above), now);

	settle(r, unhappiness_of(r, now) + added, now);
	request_free(child, now);
}

/*
 * A request is over: what the customer had waited. What it was for gets that back [eq. 2]; what
 * others do for it has none any more that waits for that, and gives it back first.
 *
 * The only loop, and that before anything else: others call this in loops, and until late in 2025
 * the verifier compared the stack here with that of the call before, beyond the end of the smaller.
 */
static u64 request_end(u32 request, u64 now)
{
	struct request *r = request_at(request), *parent = request_at(r->parent);
	u32 child = r->child, above = request;
	u64 u;

	while (child && can_loop()) {
		u32 next = request_at(child)->child;

		request_regains(request, above, child, now);
		above = child;
		child = next;
	}
	u = unhappiness_of(r, now);
	settle(r, u, now);
	r->handed_on = false;
	if (r->parent && parent->child == request) {
		settle(parent, unhappiness_of(parent, now) + added_by(r, parent, now), now);
		parent->child = 0;
		parent->handed_on = false;
		holder_changed(parent->holder);
	}
	request_free(request, now);
	return u;
}

/* Its holder blocks until the child is answered [eq. 1]. */
static void request_hand_on(u32 request, u64 now)
{
	struct request *r = request_at(request), *child = request_at(r->child);
	u64 u = unhappiness_of(r, now) + added_by(child, r, now), kept = u * alpha / ALPHA_ONE;

	settle(r, kept, now);
	settle(child, u - kept, now);
	child->above = r->above + kept;
	r->handed_on = true;
	holder_changed(child->holder);
}

/*
 * The request with the highest total of those that a task holds and does not wait for others
 * else's help with; 0: none.
 */
static u32 request_to_serve(u32 slot, u64 now)
{
	u32 request = oldest_of(slot), best = 0, n;

	for (n = loop_start; request && n < MOST_HELD && can_loop(); n++) {
		const struct request *r = request_at(request);

		if (!r->child && (!best || total_of(r, now) > total_of(request_at(best), now)))
			best = request;
		request = newer_than(request);
	}
	return best;
}

/* For ops.init. */
static void requests_init(void)
{
	holders[0] = (struct holder){.pace = PACE_WAITS};
}

#endif
