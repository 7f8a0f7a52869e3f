/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where bytes move through pipes and stream sockets of this machine, and which of them.
 */
#ifndef ROTA_RECORD_STREAMS_BPF_H
#define ROTA_RECORD_STREAMS_BPF_H

#include "record_transfers.bpf.h"

#define MSG_PEEK    2
#define AF_UNIX	    1
#define AF_INET	    2
#define AF_INET6    10
#define SOCK_STREAM 1
#define IPPROTO_TCP 6
#define S_IFMT	    0170000
#define S_IFIFO	    0010000

struct inode___io {
	unsigned short i_mode;
	void *i_pipe;
} __attribute__((preserve_access_index));

struct file___io {
	void *private_data;
	struct inode___io *f_inode;
} __attribute__((preserve_access_index));

struct fdtable___io {
	unsigned int max_fds;
	struct file___io **fd;
} __attribute__((preserve_access_index));

struct files_struct___io {
	struct fdtable___io *fdt;
} __attribute__((preserve_access_index));

struct kiocb___io {
	struct file___io *ki_filp;
} __attribute__((preserve_access_index));

__kinline void piped(u64 *ctx, u32 put)
{
	const struct kiocb___io *call = (void *)ctx[0];
	void *pipe = call->ki_filp->private_data;
	u64 bytes = 0, begin = bpf_ktime_get_ns();

	if (!bpf_get_func_ret(ctx, &bytes))
		moved((u64)pipe, bytes, STREAM_PIPE, pipe, put, begin);
}

/* Where functions can be attached to; until 6.14: */
SEC("fexit/pipe_read")
int after_pipe_read(u64 *ctx)
{
	piped(ctx, 0);
	return 0;
}

SEC("fexit/pipe_write")
int after_pipe_write(u64 *ctx)
{
	piped(ctx, 1);
	return 0;
}

SEC("fexit/anon_pipe_read")
int after_anon_pipe_read(u64 *ctx)
{
	piped(ctx, 0);
	return 0;
}

SEC("fexit/anon_pipe_write")
int after_anon_pipe_write(u64 *ctx)
{
	piped(ctx, 1);
	return 0;
}

/* Where they cannot: the file that a call was for, if that is a pipe. */
__kinline void *pipe_of(struct task_struct *p, u32 fd)
{
	struct fdtable___io *table = ((struct files_struct___io *)p->files)->fdt;
	struct inode___io *inode = NULL;
	struct file___io *file = NULL;
	void *pipe = NULL;
	u16 mode = 0;

	if (fd >= table->max_fds)
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	read_field(&inode, file->f_inode);
	read_field(&mode, inode->i_mode);
	if ((mode & S_IFMT) == S_IFIFO)
		read_field(&pipe, inode->i_pipe);
	return pipe;
}

/*
 * Another call at a file where the task moved bytes since it came onto its CPU: that is still the
 * same, as it closed none.
 */
__kinline bool moved_again(struct untold *all, u32 fd, long bytes, u32 put, u64 begin_ns)
{
	u32 at;

	begin_counting(all);
	at = all->put == put ? place_of(all, fd + 1) : MOST_STREAMS;
	if (at < MOST_STREAMS) {
		all->last = at;
		add_call(&all->of[at & (MOST_STREAMS - 1)], bytes, begin_ns);
	}
	end_counting(all);
	return at < MOST_STREAMS;
}

__kinline void forget_files(struct task_struct *p)
{
	struct untold *all = bpf_task_storage_get(&untold, p, NULL, 0);
	u32 i;

	for (i = 0; all && i < MOST_STREAMS && i < all->count; i++)
		all->of[i].fd = 0;
}

__kinline void count_other(struct task_struct *p)
{
	u32 zero = 0;
	struct spent *all = bpf_map_lookup_elem(&spent, &zero);

	if (all && bpf_task_storage_get(&tasks, p, NULL, 0))
		all->others++;
}

SEC("tp_btf/sys_exit")
int on_call_end(u64 *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	u32 call = call_of(p), fd, put;
	struct transfers *of;
	struct untold *all;
	s64 bytes = ctx[1];
	void *pipe;
	u64 begin;

	if (call == config.close_call)
		forget_files(p);
	put = call == config.write_call || call == config.writev_call;
	if (bytes <= 0 || (!put && call != config.read_call && call != config.readv_call)) {
		count_other(p);
		return 0;
	}
	begin = bpf_ktime_get_ns();
	fd = first_argument(p);
	all = bpf_task_storage_get(&untold, p, NULL, 0);
	if (all && moved_again(all, fd, bytes, put, begin))
		return 0;
	pipe = pipe_of(p, fd);
	if (!pipe) {
		count_other(p);
		return 0;
	}
	of = moved((u64)pipe, bytes, STREAM_PIPE, pipe, put, begin);
	if (of)
		of->fd = fd + 1;
	return 0;
}

/* The last 32 bits of an address: enough to tell connections of one machine apart. */
__kinline u64 tcp_stream(const struct sock *sk, u32 put)
{
	u32 here = sk->__sk_common.skc_rcv_saddr, there = sk->__sk_common.skc_daddr;
	u32 own = sk->__sk_common.skc_num;
	u32 other = __builtin_bswap16(sk->__sk_common.skc_dport);
	u64 addresses, ports;

	if (sk->__sk_common.skc_family == AF_INET6) {
		here = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[3];
		there = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[3];
	}
	addresses = put ? (u64)here << 32 | there : (u64)there << 32 | here;
	ports = put ? own << 16 | other : other << 16 | own;
	return (addresses ^ ports * 0x9e3779b97f4a7c15) | 1;
}

/* The stream to a socket has the number of that socket. */
__kinline void at_socket(struct sock *sk, int bytes, u32 put)
{
	u32 family = sk->__sk_common.skc_family;
	u64 begin = bpf_ktime_get_ns();
	struct sock *peer = sk;

	if (sk->sk_type != SOCK_STREAM)
		return;
	if (family == AF_UNIX) {
		if (put)
			read_field(&peer, ((const struct unix_sock *)sk)->peer);
		moved((u64)peer, bytes, STREAM_UNIX, sk, put, begin);
	} else if ((family == AF_INET || family == AF_INET6) && sk->sk_protocol == IPPROTO_TCP) {
		moved(tcp_stream(sk, put), bytes, STREAM_TCP, sk, put, begin);
	}
}

SEC("tp_btf/sock_send_length")
int on_send(u64 *ctx)
{
	at_socket((void *)ctx[0], ctx[1], 1);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int on_receive(u64 *ctx)
{
	if (!(ctx[2] & MSG_PEEK))
		at_socket((void *)ctx[0], ctx[1], 0);
	return 0;
}

#endif
