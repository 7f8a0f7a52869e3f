/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Conversations: which two sockets exchange data, and which of them asks.
 *
 * The kernel reports when data is ready at a socket, and when a task read from one or wrote to one.
 * Both ends of a conversation on this machine have the same key here. The server is
 *  - of AF_UNIX: the end that is bound to a name; of a pair without names, it is not known;
 *  - of AF_INET and AF_INET6: the end with the lower port, as clients have ephemeral ones.
 */
#ifndef ROTA_SOCKETS_BPF_H
#define ROTA_SOCKETS_BPF_H

#include "rota.bpf.h"

#define AF_UNIX	 1
#define AF_INET	 2
#define AF_INET6 10
#define MSG_PEEK 2

/* A program at a tracepoint of the kernel: int BPF_TRACEPOINT(sk_data_ready, …) { … } */
#define BPF_TRACEPOINT(name, args...) OPS_CALLBACK_("tp_btf/", name, ##args)

static long (*const bpf_probe_read_kernel)(void *dst, u32 size, const void *from) = (void *)113;

void *bpf_rdonly_cast(const void *object, u32 btf_id) __ksym;

enum side { SIDE_UNKNOWN, SIDE_SERVER, SIDE_CLIENT };

struct end {
	u64 key;    /* 0: no conversation that is followed */
	u32 side;   /* enum side */
	bool local; /* both ends are on this machine */
	bool named; /* of AF_UNIX: the sender is the current task when data is ready */
};

__kinline const struct unix_sock *as_unix(const void *sk)
{
	return bpf_rdonly_cast(sk, __builtin_btf_type_id(*(struct unix_sock *)0, 1));
}

/* The pointer at @field as a number, which a verifier does not let a cast make of it. */
__kinline u64 address_at(const void *field)
{
	u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), field);
	return address;
}

/* Without a peer, as for a receiver of datagrams from all senders, there is no conversation. */
__kinline struct end unix_end(const struct sock *sk)
{
	const struct unix_sock *here = as_unix(sk), *there = as_unix(here->peer);
	u64 self = address_at(&there->peer), peer = address_at(&here->peer);
	bool bound = here->addr, peer_bound = there->addr;
	struct end end = {.side = SIDE_UNKNOWN, .local = true, .named = true};

	if (!peer || !self)
		return end;
	end.key = self < peer ? self : peer;
	if (bound != peer_bound) {
		end.side = bound ? SIDE_SERVER : SIDE_CLIENT;
		end.key = bound ? self : peer;
	}
	return end;
}

/* Of IPv4, or in a kernel that was built without the other. */
__kinline bool is_ipv4(const struct sock_common *common)
{
	return common->skc_daddr || common->skc_family == AF_INET ||
	       !kernel_has_field(common->skc_v6_daddr);
}

/* The same for both addresses, whichever is the local one. */
__kinline u64 addresses_of(const struct sock *sk)
{
	const struct sock_common *common = &sk->__sk_common;

	if (is_ipv4(common))
		return (u64)common->skc_daddr ^ common->skc_rcv_saddr;
	return (u64)(common->skc_v6_daddr.in6_u.u6_addr32[3] ^
		     common->skc_v6_rcv_saddr.in6_u.u6_addr32[3])
		       << 32 |
	       (common->skc_v6_daddr.in6_u.u6_addr32[2] ^
		common->skc_v6_rcv_saddr.in6_u.u6_addr32[2]);
}

__kinline bool stays_here(const struct sock *sk)
{
	const struct sock_common *common = &sk->__sk_common;

	if (is_ipv4(common))
		return (common->skc_daddr & 0xff) == 127 ||
		       common->skc_daddr == common->skc_rcv_saddr;
	return !addresses_of(sk) && common->skc_v6_daddr.in6_u.u6_addr32[0] ==
					    common->skc_v6_rcv_saddr.in6_u.u6_addr32[0];
}

__kinline struct end inet_end(const struct sock *sk)
{
	u32 here = sk->__sk_common.skc_num;
	u32 there = __builtin_bswap16(sk->__sk_common.skc_dport);
	u32 low = here < there ? here : there, high = here < there ? there : here;
	struct end end = {.local = stays_here(sk)};

	if (!there)
		return end; /* it listens: no conversation yet */
	end.side = here < there ? SIDE_SERVER : SIDE_CLIENT;
	end.key = (addresses_of(sk) * 0x9e3779b97f4a7c15) ^ (low << 16 | high) ^ 1ull << 63;
	return end;
}

__kinline struct end end_of(const struct sock *sk)
{
	u32 family = sk->__sk_common.skc_family;

	if (family == AF_UNIX)
		return unix_end(sk);
	if (family == AF_INET || family == AF_INET6)
		return inet_end(sk);
	return (struct end){};
}

#endif
