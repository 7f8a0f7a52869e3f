/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tells `rota boost` which threads somebody waits for. [CAS §5, §6]
 *
 * A request is open from the moment something is received on a socket until something is sent
 * there. Here only facts are collected: which sockets of a thread are open, when it last
 * received and sent. What follows from them is decided in user space, which gets an event when
 * a thread that is not boosted receives, at most one per thread and interval.
 *
 *   boost.bpf.h      layouts and maps
 *   sockets.bpf.h    roles: who accepted, who connected
 *   customers.bpf.h  who is at the other end, and whether that is a customer
 *
 * Cost: each send and receive looks up the socket's storage; where a request begins or ends,
 * the clock and an array, too. Wakeups within a process cost a look-up, others a comparison.
 * While the load is low everything returns at once.
 *
 * Bad at: datagrams to servers (only a connected socket says who sent them); customers
 * of this machine that come through address translation, who look remote.
 */
#include "customers.bpf.h"

enum { TCP_ESTABLISHED = 1, TCP_SYN_SENT = 2, TCP_SYN_RECV = 3, TCP_CLOSE = 7 };

/*
 * What /proc shows is where the thread's session belongs. The thread is there if it was forked or
 * moved while autogroups were on; it stays where it is when they are switched.
 */
__kinline u32 autogroup_of(struct task_struct *p)
{
	struct task_group___here *group = NULL;
	struct autogroup___here *autogroup = NULL;
	unsigned long id = 0;

	if (!__builtin_preserve_field_info(group->autogroup, 2))
		return 0;
	read_field(&group, p->sched_task_group);
	if (!group)
		return 0;
	read_field(&autogroup, group->autogroup);
	if (autogroup)
		read_field(&id, autogroup->id);
	return id;
}

/* What is done for it already. */
__kinline u32 level_of(struct task_struct *p)
{
	u32 tid = p->pid, *level = bpf_map_lookup_elem(&boosted, &tid);

	return level ? *level : 0;
}

/* May one more event of this user be told in this interval? */
__kinline bool has_events_left(struct live *l, u32 uid, u64 now)
{
	struct told *told = bpf_map_lookup_elem(&users, &uid), first = {now, 1};

	if (!told) {
		bpf_map_update_elem(&users, &uid, &first, 0);
		return true;
	}
	if (now - told->since_ns >= l->interval_ns) {
		told->since_ns = now;
		told->events = 1;
		return true;
	}
	if (told->events >= USER_EVENTS)
		return false;
	__sync_fetch_and_add(&told->events, 1);
	return true;
}

__kinline void tell(struct live *l, struct worker *w, struct task_struct *p, u64 now, u32 kind,
		    u32 family, u32 relation, u32 peer, u32 role)
{
	struct event *e;
	u32 uid;

	if (w->event_ns && now - w->event_ns < l->interval_ns)
		return;
	if (level_of(p) == ELEVATED) {
		w->event_ns = now;
		return;
	}
	/* Told as soon as the next interval begins, if it is still so. */
	uid = user_of(p->cred);
	if (!has_events_left(l, uid, now))
		return;
	w->event_ns = now;
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e) {
		count_lost();
		return;
	}
	e->time_ns = now;
	e->kind = kind;
	e->family = family;
	e->tid = p->pid;
	e->tgid = p->tgid;
	e->uid = uid;
	e->relation = relation;
	e->peer = peer;
	e->role = role;
	e->autogroup = autogroup_of(p);
	e->pad = 0;
	bpf_ringbuf_submit(e, 0);
}

/* How long the current task has waited for a CPU in all: exact while it runs. */
__kinline u64 waited(struct task_struct *me)
{
	bool counted = __builtin_preserve_field_info(me->sched_info.run_delay, 2);

	return counted ? me->sched_info.run_delay : 0;
}

/*
 * Nothing is open here any more; says for whom it was. How long somebody else waited meanwhile
 * is not known here.
 */
__kinline struct worker *close_request(struct conversation *c, struct task_struct *me, u64 now)
{
	u32 tid = c->open_tid;
	struct worker *w = tid ? find_worker(tid) : NULL;
	u64 open_ns, wait_ns;

	c->open_tid = 0;
	if (!w || w->generation != c->generation)
		return NULL;
	if (w->open) {
		__sync_fetch_and_add(&w->open, -1);
		if (!w->open) {
			open_ns = now - w->opened_ns;
			wait_ns = tid == (u32)me->pid ? waited(me) - w->opened_wait_ns : 0;
			w->served_ns += wait_ns < open_ns ? open_ns - wait_ns : 0;
		}
	}
	return w;
}

/* How many tasks want the CPU of the current one; 0 where that is not known. */
__kinline u32 running_beside(struct task_struct *me)
{
	struct sched_entity___here *se = (void *)&me->se;
	struct cfs_rq___here *queue = NULL;
	struct rq *rq = NULL;
	u32 running = 0;

	if (!__builtin_preserve_field_info(se->cfs_rq, 2))
		return 0;
	read_field(&queue, se->cfs_rq);
	if (queue)
		read_field(&rq, queue->rq);
	if (rq)
		read_field(&running, rq->nr_running);
	return running;
}

/* Looks how many that are, once a tick. */
__kinline void note_running(struct worker *w, struct task_struct *me)
{
	u32 jiffies = bpf_jiffies64();

	if (w->running && w->running_jiffies == jiffies)
		return;
	w->running = running_beside(me);
	w->running_jiffies = jiffies;
}

/* The current task got what it waited for. */
__kinline void note_answer(struct live *l, struct conversation *c, struct sock *sk,
			   struct task_struct *me)
{
	u64 jiffies = bpf_jiffies64(), now;
	struct worker *w;

	/* Once a tick is enough: the clock costs more. */
	if (c->answer_jiffies == jiffies)
		return;
	c->answer_jiffies = jiffies;
	now = bpf_ktime_get_ns();
	if (!has_customer(c, sk, me, now))
		return;
	w = make_worker(me->pid, now);
	if (!w)
		return;
	w->answer_ns = now;
	note_running(w, me);
	if (level_of(me))
		return;
	tell(l,
	     w,
	     me,
	     now,
	     ANSWER,
	     is_unix(sk) ? UNIX : NETWORK,
	     c->relation,
	     c->writer_tgid,
	     c->role);
}

SEC("tp_btf/sock_recv_length")
int on_receive(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int ret = ctx[1], flags = ctx[2];
	struct task_struct *me = bpf_get_current_task_btf();
	struct conversation *c;
	struct worker *w;
	struct live *l;
	u32 tid;
	u64 now;

	if (ret <= 0 || flags & MSG_PEEK || me->flags & PF_KTHREAD)
		return 0;
	l = when_active();
	if (!l || !is_socket_of_interest(sk) || (u32)me->tgid == config.self)
		return 0;
	c = bpf_sk_storage_get(&conversations, sk, NULL, CREATE);
	if (!c)
		return 0;
	c->role = role_of(sk, c);
	if (!has_role(c, config.roles)) {
		if (has_role(c, config.waiters))
			note_answer(l, c, sk, me);
		return 0;
	}
	tid = me->pid;
	now = bpf_ktime_get_ns();
	if (!has_customer(c, sk, me, now))
		return 0;
	/* More of the same request. */
	if (c->open_tid == tid && now - c->seen_ns < SEEN_NS)
		return 0;
	w = make_worker(tid, now);
	if (!w)
		return 0;
	if (c->open_tid != tid || c->generation != w->generation) {
		close_request(c, me, now);
		c->generation = w->generation;
		c->open_tid = c->last_tid = tid;
		if (!w->open) {
			w->opened_ns = now;
			w->opened_wait_ns = waited(me);
		}
		__sync_fetch_and_add(&w->open, 1);
	}
	c->seen_ns = w->recv_ns = now;
	note_running(w, me);
	tell(l,
	     w,
	     me,
	     now,
	     REQUEST,
	     is_unix(sk) ? UNIX : NETWORK,
	     c->relation,
	     c->writer_tgid,
	     c->role);
	return 0;
}

/* Another thread of a pool answers. It need not have been woken: one that never sleeps between
 * two requests is found by this alone. */
__kinline void note_helper(struct live *l, struct conversation *c, struct sock *sk,
			   struct task_struct *me, u32 via, u64 now)
{
	struct worker *helper = make_worker(me->pid, now);

	if (!helper)
		return;
	helper->send_ns = now;
	helper->answers++;
	note_running(helper, me);
	if (helper->open)
		return;
	helper->via = via;
	helper->helped_ns = now;
	tell(l,
	     helper,
	     me,
	     now,
	     ANSWERS_FOR,
	     is_unix(sk) ? UNIX : NETWORK,
	     c->relation,
	     via,
	     c->role);
}

SEC("tp_btf/sock_send_length")
int on_send(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int ret = ctx[1];
	struct task_struct *me = bpf_get_current_task_btf();
	struct conversation *c;
	struct worker *w;
	struct live *l;
	u64 now;

	if (ret <= 0 || me->flags & PF_KTHREAD)
		return 0;
	l = when_active();
	if (!l || !is_socket_of_interest(sk))
		return 0;
	c = bpf_sk_storage_get(&conversations, sk, NULL, CREATE);
	if (!c)
		return 0;
	note_writer(c, sk, me);
	if (!c->last_tid) {
		/* No request of a customer came before: from here on it gets answers, however many.
		 * What it received may answer what it sent while nobody looked. */
		if (sk->sk_type == SOCK_DGRAM)
			c->role = PAIR;
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (c->open_tid) {
		u32 via = c->open_tid;

		w = close_request(c, me, now);
		if (w) {
			w->send_ns = c->seen_ns = now;
			w->answers++;
		}
		if (w && via != (u32)me->pid)
			note_helper(l, c, sk, me, via, now);
	} else if (now - c->seen_ns >= SEEN_NS) {
		/* An answer in several pieces. */
		c->seen_ns = now;
		w = find_worker(c->last_tid);
		if (w)
			w->send_ns = now;
	}
	return 0;
}

/* One hop: whom a thread with an open request wakes in its own process works for it. */
SEC("tp_btf/sched_waking")
int on_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0], *me = bpf_get_current_task_btf();
	struct worker *w, *helper;
	struct live *l;
	u64 now;

	if (p->tgid != me->tgid || p->pid == me->pid || me->flags & PF_KTHREAD)
		return 0;
	l = when_active();
	if (!l || (u32)me->tgid == config.self)
		return 0;
	w = find_worker(me->pid);
	if (!w || !w->open)
		return 0;
	now = bpf_ktime_get_ns();
	helper = make_worker(p->pid, now);
	if (!helper || helper->open)
		return 0;
	helper->via = me->pid;
	helper->helped_ns = now;
	if (!helper->running)
		helper->running = w->running;
	tell(l, helper, p, now, HANDED_ON, UNIX, 0, me->pid, SERVER);
	return 0;
}

/* Who accepted and who connected, and what a closed connection leaves open. */
SEC("tp_btf/inet_sock_set_state")
int on_state(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int from = ctx[1], to = ctx[2];
	struct conversation *c;
	struct path_key key;

	if (sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (to == TCP_CLOSE) {
		c = bpf_sk_storage_get(&conversations, sk, NULL, 0);
		if (c && c->open_tid)
			close_request(c, bpf_get_current_task_btf(), bpf_ktime_get_ns());
		return 0;
	}
	if (to == TCP_SYN_SENT) {
		c = bpf_sk_storage_get(&conversations, sk, NULL, CREATE);
		if (c) {
			c->role = CLIENT;
			describe(&c->writer, bpf_get_current_task_btf());
		}
	} else if (to == TCP_ESTABLISHED) {
		c = bpf_sk_storage_get(&conversations, sk, NULL, CREATE);
		if (!c)
			return 0;
		if (from == TCP_SYN_RECV) {
			c->role = SERVER;
		} else if (c->writer.tid) {
			/* Its port is known only now. */
			path_of(sk, &key);
			bpf_map_update_elem(&writers, &key, &c->writer, 0);
		}
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct worker *w = find_worker(p->pid);
	u32 tid = p->pid;

	if (!w)
		return 0;
	w->tid = 0;
	w->ended_tid = tid;
	w->ended_cpu_ns = p->se.sum_exec_runtime;
	bpf_map_delete_elem(&boosted, &tid);
	return 0;
}
