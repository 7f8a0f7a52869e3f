/* SPDX-License-Identifier: GPL-2.0-only */
/* Sockets as far as `rota boost` looks into them, and what role an end has. */
#ifndef ROTA_BOOST_SOCKETS_BPF_H
#define ROTA_BOOST_SOCKETS_BPF_H

#include "boost.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net_device {
	unsigned int flags;
};

struct dst_entry {
	struct net_device *dev;
};

struct unix_address {
	refcount_t refcnt;
};

#pragma clang attribute pop

__kinline bool is_unix(const struct sock *sk)
{
	return sk->__sk_common.skc_family == AF_UNIX;
}

__kinline bool is_socket_of_interest(const struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family;

	return family == AF_UNIX || family == AF_INET || family == AF_INET6;
}

/* Of every relevant socket of this machine that was connected while we looked, TCP's role was
 * noted then; of older ones the port decides. */
__kinline u8 tcp_role(const struct sock *sk)
{
	u16 port = sk->__sk_common.skc_num;

	return bpf_map_lookup_elem(&listened, &port) ? SERVER : CLIENT;
}

/*
 * The accepted end of a UNIX connection has the address of the listener, by reference. An end
 * that connected has none, or one that it bound itself and shares with nobody; so an end whose
 * peer has an address too must share its own.
 */
__kinline u8 unix_role(const struct unix_sock *u)
{
	struct unix_address *own = u->addr, *other = NULL;
	struct sock *peer = u->peer;
	int shared = 0;

	if (!own)
		return PAIR; /* or a client's: neither has customers by default */
	if (peer)
		read_field(&other, ((struct unix_sock *)peer)->addr);
	if (!other)
		return SERVER;
	read_field(&shared, own->refcnt.refs.counter);
	return shared > 1 ? SERVER : CLIENT;
}

__kinline void path_of(const struct sock *sk, struct path_key *key)
{
	const struct sock_common *c = &sk->__sk_common;

	__builtin_memset(key, 0, sizeof(*key));
	/* A kernel may have been built without IPv6. */
	if (c->skc_family == AF_INET6 && __builtin_preserve_field_info(c->skc_v6_daddr, 2)) {
		for (int i = 0; i < 4; i++) {
			key->local[i] = c->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			key->remote[i] = c->skc_v6_daddr.in6_u.u6_addr32[i];
		}
	} else {
		key->local[2] = key->remote[2] = __builtin_bswap32(0xffff);
		key->local[3] = c->skc_rcv_saddr;
		key->remote[3] = c->skc_daddr;
	}
	key->local_port = c->skc_num;
	key->remote_port = __builtin_bswap16(c->skc_dport);
	key->protocol = sk->sk_protocol;
}

/* The same connection from its other end. */
__kinline void turn(struct path_key *key)
{
	u16 port = key->local_port;

	for (int i = 0; i < 4; i++) {
		u32 part = key->local[i];

		key->local[i] = key->remote[i];
		key->remote[i] = part;
	}
	key->local_port = key->remote_port;
	key->remote_port = port;
}

/* Does what it sends stay on this machine? */
__kinline bool is_loopback(const struct sock *sk)
{
	struct net_device *dev = NULL;
	u32 flags = 0;

	read_field(&dev, sk->sk_dst_cache->dev);
	if (dev)
		read_field(&flags, dev->flags);
	return !dev || flags & IFF_LOOPBACK;
}

#endif
