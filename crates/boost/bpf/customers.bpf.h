/* SPDX-License-Identifier: GPL-2.0-only */
/* Who writes, and where they stand to the one who reads: nobody shall be their own customer. */
#ifndef ROTA_BOOST_CUSTOMERS_BPF_H
#define ROTA_BOOST_CUSTOMERS_BPF_H

#include "sockets.bpf.h"

__kinline u32 session_of(struct task_struct *p)
{
	struct pid *session = NULL;
	int nr = 0;

	read_field(&session, p->signal->pids[PIDTYPE_SID]);
	if (session)
		read_field(&nr, session->numbers[0].nr);
	return nr;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Kernels may be built without: then there is one, and nothing above it. */
struct user_namespace___here {
	struct user_namespace___here *parent;
	kuid_t owner;
};

struct cred___here {
	struct user_namespace___here *user_ns;
};

#pragma clang attribute pop

/*
 * Who answers for what a task does: its user, but in user namespaces whoever made the outermost
 * one. Inside, one user is as many as they like.
 */
__kinline u32 user_of(const struct cred *cred)
{
	struct user_namespace___here *ns = NULL, *above = NULL;
	u32 uid = 0, owner = 0, found = 0;

	if (!cred)
		return 0;
	read_field(&uid, cred->uid.val);
	read_field(&ns, ((const struct cred___here *)cred)->user_ns);
	for (int i = 0; i < MOST_NAMESPACES; i++) {
		above = NULL;
		if (ns)
			read_field(&above, ns->parent);
		if (!above)
			break;
		read_field(&owner, ns->owner.val);
		/* In what root made, each user is one. */
		found = owner ?: found;
		ns = above;
	}
	return found ?: uid;
}

__kinline void describe(struct writer *w, struct task_struct *p)
{
	struct task_struct *above = p->real_parent;

	w->tid = p->pid;
	w->tgid = p->tgid;
	w->uid = user_of(p->cred);
	w->session = session_of(p);
	w->cgroup = bpf_get_current_cgroup_id();
	w->at_jiffies = bpf_jiffies64();
	for (int i = 0; i < ANCESTORS; i++) {
		u32 tgid = 0;

		if (above) {
			read_field(&tgid, above->tgid);
			read_field(&above, above->real_parent);
		}
		/* Everything comes from init. */
		w->ancestors[i] = tgid > 1 ? tgid : 0;
	}
}

/* Notes who sends from this end; cheap if nothing is new. */
__kinline void note_writer(struct conversation *c, struct sock *sk, struct task_struct *p)
{
	struct path_key key;

	if (c->writer.tid == (u32)p->pid && bpf_jiffies64() - c->writer.at_jiffies < WRITER_JIFFIES)
		return;
	describe(&c->writer, p);
	if (is_unix(sk))
		return;
	path_of(sk, &key);
	bpf_map_update_elem(&writers, &key, &c->writer, 0);
}

/* Fills in what is known of who is at the other end: false if it is not of this machine. */
__kinline bool find_writer(struct sock *sk, struct writer *w, bool *known)
{
	struct conversation *theirs;
	struct unix_sock *u;
	struct writer *noted;
	struct path_key key;
	struct pid *pid = NULL;
	const struct cred *cred = NULL;

	*known = false;
	if (!is_unix(sk)) {
		path_of(sk, &key);
		turn(&key);
		noted = bpf_map_lookup_elem(&writers, &key);
		if (noted) {
			*w = *noted;
			*known = true;
		}
		return noted || !key.local_port || is_loopback(sk);
	}
	u = bpf_skc_to_unix_sock(sk);
	if (!u || !u->peer)
		return true;
	theirs = bpf_sk_storage_get(&conversations, u->peer, NULL, 0);
	if (theirs && theirs->writer.tid) {
		*w = theirs->writer;
		*known = true;
		return true;
	}
	/* It has not been seen to send yet: who connected. */
	pid = sk->sk_peer_pid;
	cred = sk->sk_peer_cred;
	if (!pid || !cred)
		return true;
	read_field(&w->tgid, pid->numbers[0].nr);
	w->uid = user_of(cred);
	*known = true;
	return true;
}

__kinline u32 relation_to(struct task_struct *me, const struct writer *w)
{
	struct worker *theirs = w->tid ? find_worker(w->tid) : NULL;
	struct task_struct *above = me->real_parent;
	u32 relation = 0, tgid = me->tgid;

	if (w->tgid == tgid)
		relation |= SAME_PROCESS;
	for (int i = 0; i < ANCESTORS; i++) {
		u32 ancestor = 0;

		if (above) {
			read_field(&ancestor, above->tgid);
			read_field(&above, above->real_parent);
		}
		if (ancestor > 1 && ancestor == w->tgid)
			relation |= FAMILY;
		if (w->ancestors[i] == tgid)
			relation |= FAMILY;
	}
	/* What is not known of the writer is the same. */
	if (!w->session || w->session == session_of(me))
		relation |= SAME_SESSION;
	if (w->uid == user_of(me->cred))
		relation |= SAME_USER;
	if (!w->cgroup || w->cgroup == bpf_get_current_cgroup_id())
		relation |= SAME_CGROUP;
	if (theirs && theirs->open && !(relation & (SAME_PROCESS | FAMILY)))
		relation |= ON_BEHALF;
	return relation;
}

__kinline u8 role_of(struct sock *sk, struct conversation *c)
{
	struct unix_sock *u;

	if (c->role)
		return c->role;
	/* Nothing was sent yet. */
	if (sk->sk_type == SOCK_DGRAM)
		return SERVER;
	if (!is_unix(sk))
		return tcp_role(sk);
	u = bpf_skc_to_unix_sock(sk);
	return u ? unix_role(u) : PAIR;
}

/* Is the end that receives one of these? */
__kinline bool has_role(const struct conversation *c, u32 roles)
{
	return roles >> c->role & 1;
}

/* Is a customer at the other end? The answer is kept for a while. */
__kinline bool has_customer(struct conversation *c, struct sock *sk, struct task_struct *me,
			    u64 now)
{
	struct writer w = {};
	bool known;
	u32 relation;

	if (c->judged_ns && now - c->judged_ns < VERDICT_NS)
		return c->accepted;
	if (!find_writer(sk, &w, &known))
		/* A socket of this machine that is not connected leaves no trace either, and in a
		 * network namespace that anybody may make its datagrams do not come by loopback. */
		relation = sk->sk_type == SOCK_DGRAM && c->role == SERVER ? UNKNOWN : REMOTE;
	else
		relation = known ? relation_to(me, &w) : UNKNOWN;
	c->relation = relation;
	c->writer_tgid = w.tgid;
	c->accepted = config.accept[relation >> 6 & 3] >> (relation & 63) & 1;
	/* Who wrote may become known any moment. */
	c->judged_ns = relation == UNKNOWN ? 0 : now;
	return c->accepted;
}

#endif
