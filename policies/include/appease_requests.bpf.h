/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which requests there are: derived from sockets and wakeups [CAS §2.1].
 *
 *  - Data that becomes ready at a server's end is a request; at a client's it is the answer to one.
 *    A task that is woken at the same moment, and has read from sockets before, is taken to serve
 *    it, until it sleeps again.
 *  - A task that reads from the socket holds the request; one that writes to it answers.
 *  - A task that sends a request while it holds one does so on behalf of that one. Threads that a
 *    holder wakes in its own process do, too, until they sleep.
 *  - Others that ask from this machine count as customers by the tunable customers.
 *  - A request is over when its holder takes another one instead of answering, or when it is
 *    forget_ns old: it needed no answer.
 */
#ifndef ROTA_APPEASE_REQUESTS_BPF_H
#define ROTA_APPEASE_REQUESTS_BPF_H

#include "appease_queue.bpf.h"
#include "sockets.bpf.h"

#define PF_KTHREAD   0x00200000
#define PIDTYPE_SID  3
#define WOKEN_WITHIN 50000 /* ns */

static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
enum mode { MODE_UNHAPPINESS, MODE_RBPE };
enum customers { FROM_ELSEWHERE, FROM_OTHER_SESSIONS, FROM_OTHER_PROCESSES };

const volatile u32 mode
	help_text("which tasks go first: by waiting [CAS §4], or by elevation [CAS §5]")
	values("unhappiness|rbpe") = MODE_UNHAPPINESS;
const volatile u32 customers
	help_text("what counts as a customer: other machines, and sessions, or "
		  "processes, of this one") values("remote|other_session|other_process") =
		FROM_OTHER_SESSIONS;
const volatile u32 weight_remote help_text("weight of customers at other machines")
range(1, 10000) = 100;
const volatile u32 weight_local help_text("weight of customers at this machine") range(1, 10000) =
	100;
const volatile bool no_pools help_text("wakeups hand no request on within a process");

struct arrival {
	u64 at;
	u32 request;
};

struct arrival arrivals[MAX_CPUS]; /* the last one on each CPU */

/* The task that does something; slot 0: none that counts. */
struct actor {
	u32 slot;
	u32 tgid;
	u32 session;
};

static u32 session_of(const struct task_struct *p)
{
	const struct signal_struct *signal = p->signal;
	const struct pid *pid = (void *)address_at(&signal->pids[PIDTYPE_SID]);
	u32 session = 0;

	bpf_probe_read_kernel(&session, sizeof(session), &pid->numbers[0].nr);
	return session;
}

__kinline struct actor actor_of(struct task_struct *p)
{
	struct actor actor = {};
	struct slot_ref *ref;

	/* There is a current task always, but in the decision-cost bench, which has none. */
	if (!p)
		return actor;
	ref = bpf_task_storage_get(&slot_refs, p, NULL, 0);
	actor.slot = ref ? ref->slot & SLOT_MASK : 0;
	if (!actor.slot || p->flags & PF_KTHREAD)
		return (struct actor){};
	actor.tgid = p->tgid;
	actor.session = session_of(p);
	return actor;
}

/* Whether the sender is a customer to appease, if @a serves. */
static bool is_customer(const struct request *r, const struct actor *a)
{
	if (r->parent || !r->local || !r->asker_tgid)
		return true;
	if (customers == FROM_ELSEWHERE || r->asker_tgid == a->tgid)
		return false;
	return customers == FROM_OTHER_PROCESSES || r->asker_session != a->session;
}

static void request_weigh(struct request *r, u32 slot)
{
	u32 customer = r->local ? weight_local : weight_remote;

	uneven_requests -= r->weight != PLAIN;
	if (!r->parent)
		r->weight = customer * client_at(slot)->share;
	uneven_requests += r->weight != PLAIN;
}

/* A client that may serve a request is found: it holds it, or there is none. */
static void request_to(u32 request, const struct actor *a, u64 now)
{
	struct request *r = request_at(request);

	if (!is_customer(r, a)) {
		stats.refused++;
		request_end(request, now);
	} else if (r->holder != a->slot) {
		request_let_go(request, now);
		request_weigh(r, a->slot);
		request_hold(request, a->slot, now);
	}
}

/* It reads, or sleeps: what it was woken for is left to others if it is not that. */
static void expect_no_more(u32 slot, u64 now)
{
	struct client *c = client_at(slot);
	const struct request *r = request_at(c->expects);

	if (c->expects && r->holder == slot && !r->taken)
		request_let_go(c->expects, now);
	c->expects = 0;
}

static void request_forget(u32 request, u64 now)
{
	stats.forgotten++;
	request_end(request, now);
}

/* A request arrives from @a, or from an unknown sender, at the end of a server. */
static u32 request_arrives(const struct end *end, const struct actor *a, u64 now)
{
	u32 parent = a->slot ? request_to_serve(a->slot, now) : 0, request;
	struct request *r;

	request = request_begin(end->key, parent, parent ? request_at(parent)->weight : PLAIN, now);
	if (!request) {
		stats.no_room++;
		return 0;
	}
	r = request_at(request);
	r->local = end->local;
	r->asker_tgid = a->tgid;
	r->asker_session = a->session;
	stats.requests++;
	stats.services += parent != 0;
	return request;
}

static void request_answered(u32 request, u64 now)
{
	bool of_customer = !request_at(request)->parent;
	u64 waited = request_end(request, now);

	stats.answered++;
	stats.waited_ns += of_customer ? waited : 0;
}

int BPF_TRACEPOINT(sk_data_ready, const struct sock *sk)
{
	struct end end = end_of(sk);
	struct actor a = {};
	u64 now = bpf_ktime_get_ns();
	u32 cpu = bpf_get_smp_processor_id() % MAX_CPUS, request;

	if (mode != MODE_UNHAPPINESS || !end.key)
		return 0;
	/* That of the others comes in an interrupt. */
	if (end.named)
		a = actor_of(bpf_get_current_task_btf());
	bpf_spin_lock(&lock);
	request = request_find(end.key);
	if (end.side == SIDE_UNKNOWN && request && request_at(request)->holder == a.slot)
		end.side = SIDE_CLIENT; /* the server sends */
	if (end.side == SIDE_CLIENT) {
		if (request && request_at(request)->holder)
			request_answered(request, now);
		request = 0;
	} else if (request && !request_at(request)->holder) {
		request_at(request)->touched_at = now; /* more of the same */
	} else {
		/* Instead of an answer its holder gets another one. */
		if (request)
			request_forget(request, now);
		request = request_arrives(&end, &a, now);
	}
	arrivals[cpu] = (struct arrival){.at = now, .request = request};
	bpf_spin_unlock(&lock);
	return 0;
}

int BPF_TRACEPOINT(sock_recv_length, const struct sock *sk, int ret, int flags)
{
	struct actor a = actor_of(bpf_get_current_task_btf());
	struct end end = end_of(sk);
	u64 now = bpf_ktime_get_ns();
	u32 request;

	if (ret <= 0 || flags & MSG_PEEK || !end.key || !a.slot)
		return 0;
	bpf_spin_lock(&lock);
	if (mode == MODE_RBPE) {
		elevate(&client_at(a.slot)->elevation, end.named, now);
		bpf_spin_unlock(&lock);
		return 0;
	}
	request = end.side == SIDE_CLIENT ? 0 : request_find(end.key);
	if (request) {
		struct client *c = client_at(a.slot);

		c->serves = true;
		c->tgid = a.tgid;
		c->session = a.session;
		request_at(request)->touched_at = now;
		request_to(request, &a, now);
		request_at(request)->taken = true;
		expect_no_more(a.slot, now);
		rank_anew(a.slot, now);
		c->runs_as = c->rank;
	}
	bpf_spin_unlock(&lock);
	return 0;
}

int BPF_TRACEPOINT(sock_send_length, const struct sock *sk, int ret, int flags)
{
	struct actor a = actor_of(bpf_get_current_task_btf());
	u32 cpu = bpf_get_smp_processor_id(), request;
	struct end end = end_of(sk);
	u64 now = bpf_ktime_get_ns();
	bool gives_way = false;
	struct request *r;

	if (mode != MODE_UNHAPPINESS || ret <= 0 || !end.key)
		return 0;
	bpf_spin_lock(&lock);
	request = request_find(end.key);
	r = request_at(request);
	if (request && end.side == SIDE_CLIENT && !r->asker_tgid && end.local && a.slot) {
		/* Over the network's loopback: only now the sender is known. */
		r->asker_tgid = a.tgid;
		r->asker_session = a.session;
		request_serves(request, request_to_serve(a.slot, now), now);
		a.tgid = client_at(r->holder)->tgid;
		a.session = client_at(r->holder)->session;
		if (r->holder && !is_customer(r, &a)) {
			stats.refused++;
			request_end(request, now);
		}
	} else if (request && end.side != SIDE_CLIENT && r->holder) {
		request_answered(request, now);
	}
	if (a.slot) {
		const struct client *c = client_at(a.slot);
		u32 first = ranked_first();

		rank_anew(a.slot, now);
		gives_way = c->rank == RANK_OTHERS && first &&
			    client_at(first)->rank == RANK_REQUEST && slot_may_use(first, cpu);
	}
	bpf_spin_unlock(&lock);
	if (gives_way)
		scx_bpf_kick_cpu(cpu, KICK_PREEMPT);
	return 0;
}

/* A client is woken as something arrives. */
static void woken_to_serve(u32 request, const struct actor *a, u64 now)
{
	u32 oldest = oldest_of(a->slot);

	/* It is back for more: what it does not wait for others with needed no answer. */
	while (oldest && !request_at(oldest)->child && can_loop()) {
		request_forget(oldest, now);
		oldest = oldest_of(a->slot);
	}
	request_to(request, a, now);
	client_at(a->slot)->expects = request;
}

/* A thread is woken by one that serves a request. */
static void woken_to_help(u32 slot, u32 waker, u64 now)
{
	u32 parent = request_to_serve(waker, now), request;

	if (!parent || oldest_of(slot))
		return;
	request = request_begin(0, parent, request_at(parent)->weight, now);
	if (!request)
		return;
	stats.pooled++;
	request_hold(request, slot, now);
}

static void woken(const struct actor *a, const struct actor *waker, u32 cpu, u64 now)
{
	struct arrival *arrival = &arrivals[cpu % MAX_CPUS];
	u32 request = arrival->request;

	if (request && client_at(a->slot)->serves && now - arrival->at < WOKEN_WITHIN &&
	    request_at(request)->key && !request_at(request)->holder) {
		arrival->request = 0;
		woken_to_serve(request, a, now);
	} else if (!no_pools && waker->slot && waker->slot != a->slot && waker->tgid == a->tgid) {
		woken_to_help(a->slot, waker->slot, now);
	}
}

/*
 * A client sleeps. What it asked others for has its unhappiness meanwhile; what it was woken for
 * and did not take is left to others, and what another thread had it do is done.
 */
static void sleeps(u32 slot, u64 now)
{
	u32 request, n;

	expect_no_more(slot, now);
	request = oldest_of(slot);
	for (n = loop_start; request && n < MOST_HELD && can_loop(); n++) {
		struct request *r = request_at(request);
		u32 newer = newer_than(request);

		if (r->child && !r->handed_on)
			request_hand_on(request, now);
		else if (!r->child && !r->key)
			request_end(request, now);
		else if (!r->child && now - r->touched_at > forget_ns)
			request_forget(request, now);
		request = newer;
	}
}

static void forsake(u32 slot, u64 now)
{
	u32 oldest = oldest_of(slot);

	while (oldest && can_loop()) {
		request_end(oldest, now);
		oldest = oldest_of(slot);
	}
}

#endif
