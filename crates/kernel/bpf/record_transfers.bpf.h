/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bytes that tasks put into pipes and connections of this machine, and take out of them. A task's
 * calls of one direction are told together, once it does the opposite or leaves its CPU.
 */
#ifndef ROTA_RECORD_TRANSFERS_BPF_H
#define ROTA_RECORD_TRANSFERS_BPF_H

#include "record_calls.bpf.h"

#define MOST_STREAMS 32 /* a power of two */
#define PAGE_BYTES   4096
#define MSG_PEEK     2
#define AF_UNIX	     1
#define AF_INET	     2
#define AF_INET6     10
#define SOCK_STREAM  1
#define IPPROTO_TCP  6
#define S_IFMT	     0170000
#define S_IFIFO	     0010000

enum stream_kind {
	STREAM_PIPE,
	STREAM_UNIX,
	STREAM_TCP,
};

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

struct pipe_inode_info___io {
	unsigned int max_usage; /* buffers of a page each */
} __attribute__((preserve_access_index));

/* Calls at one stream. */
struct transfers {
	u64 stream;
	u64 bytes;
	u64 first_ns;
	u64 last_ns;
	u32 calls;
	u32 buffer;
	u32 kind;
	u32 fd; /* and 1, of the last call, if it is known */
};

/* Those that a task made and that are not told yet, all of one direction. */
struct untold {
	u32 count;
	u32 last; /* where the last call went */
	u32 put;
	struct transfers of[MOST_STREAMS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct untold);
} untold SEC(".maps");

__kinline void tell_one(const struct transfers *of, u32 pid, u32 put)
{
	struct transfer_record *r = reserve(sizeof(*r));

	if (!r)
		return;
	fill(&r->head, REC_TRANSFER, put ? IS_PUT : 0, pid, of->calls, of->stream);
	r->first_ns = of->first_ns;
	r->last_ns = of->last_ns;
	r->bytes = of->bytes;
	r->buffer = of->buffer;
	r->stream_kind = of->kind;
	submit(r);
}

__kinline void tell_all(struct untold *all, struct task_struct *p)
{
	u32 i, count = all->count, pid = p->pid;

	all->count = all->last = 0;
	/* The reader has no name in the recording. */
	if (!bpf_task_storage_get(&tasks, p, NULL, 0))
		return;
	for (i = 0; i < MOST_STREAMS && i < count; i++)
		tell_one(&all->of[i], pid, all->put);
}

/* The task leaves its CPU. */
__kinline void tell_transfers(struct task_struct *p)
{
	struct untold *all;

	if (!config.transfers)
		return;
	all = bpf_task_storage_get(&untold, p, NULL, 0);
	if (all && all->count)
		tell_all(all, p);
}

/* Where calls at the stream are counted: a task goes on where it was, or at the next. */
__kinline struct transfers *place_of(struct untold *all, u64 stream)
{
	u32 i, at = all->last;

	for (i = 0; i < MOST_STREAMS && i < all->count; i++, at++) {
		if (at >= all->count)
			at = 0;
		if (all->of[at & (MOST_STREAMS - 1)].stream == stream) {
			all->last = at;
			return &all->of[at & (MOST_STREAMS - 1)];
		}
	}
	return NULL;
}

/* Bytes that are under way at most, as the kernel counts them. */
__kinline u32 buffer_of(u32 kind, void *object)
{
	const struct pipe_inode_info___io *pipe = object;
	const struct sock *sk = object;
	int sent = 0, received = 0;
	u32 pages = 0;

	if (kind == STREAM_PIPE) {
		read_field(&pages, pipe->max_usage);
		return pages * PAGE_BYTES;
	}
	read_field(&sent, sk->sk_sndbuf);
	read_field(&received, sk->sk_rcvbuf);
	return kind == STREAM_UNIX ? sent : sent + received;
}

/* What the programs here took of calls that moved bytes. */
struct spent {
	u64 calls;
	u64 ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct spent);
} spent SEC(".maps");

/* @begin_ns: when the program began. */
__kinline void add_call(struct transfers *of, long bytes, u64 begin_ns)
{
	u64 now = bpf_ktime_get_ns();
	struct spent *all;
	u32 zero = 0;

	of->bytes += bytes;
	of->calls++;
	of->last_ns = now;
	all = bpf_map_lookup_elem(&spent, &zero);
	if (all) {
		all->calls++;
		all->ns += now - begin_ns;
	}
}

/* Whether the reader finds out what its programs cost. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} measuring SEC(".maps");

__kinline bool measures(const struct task_struct *p)
{
	u32 zero = 0, *on = bpf_map_lookup_elem(&measuring, &zero);

	return on && *on && (u32)p->tgid == reader_process;
}

/* A call moved bytes; @object: the pipe, or the socket of who puts or takes. */
__kinline struct transfers *moved(u64 stream, long bytes, u32 kind, void *object, u32 put,
				  u64 begin_ns)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct transfers *of;
	struct untold *all;
	u32 at;

	if (bytes <= 0 || !stream)
		return NULL;
	all = bpf_task_storage_get(&untold, p, NULL, 0);
	if (!all) {
		if (!find(p) && !measures(p))
			return NULL;
		all = bpf_task_storage_get(&untold, p, NULL, CREATE);
		if (!all)
			return NULL;
	}
	of = all->put == put ? place_of(all, stream) : NULL;
	if (!of) {
		if (all->put != put || all->count >= MOST_STREAMS)
			tell_all(all, p);
		all->put = put;
		at = all->count & (MOST_STREAMS - 1);
		all->last = at;
		all->count = at + 1;
		of = &all->of[at];
		of->stream = stream;
		of->bytes = 0;
		of->calls = 0;
		of->fd = 0;
		of->first_ns = begin_ns;
		of->kind = kind;
		of->buffer = buffer_of(kind, object);
	}
	add_call(of, bytes, begin_ns);
	return of;
}

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
	struct transfers *of;
	u32 i, at = all->last;

	if (all->put != put)
		return false;
	for (i = 0; i < MOST_STREAMS && i < all->count; i++, at++) {
		if (at >= all->count)
			at = 0;
		of = &all->of[at & (MOST_STREAMS - 1)];
		if (of->fd == fd + 1) {
			all->last = at;
			add_call(of, bytes, begin_ns);
			return true;
		}
	}
	return false;
}

__kinline void forget_files(struct task_struct *p)
{
	struct untold *all = bpf_task_storage_get(&untold, p, NULL, 0);
	u32 i;

	for (i = 0; all && i < MOST_STREAMS && i < all->count; i++)
		all->of[i].fd = 0;
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
	if (bytes <= 0 || (!put && call != config.read_call && call != config.readv_call))
		return 0;
	begin = bpf_ktime_get_ns();
	fd = first_argument(p);
	all = bpf_task_storage_get(&untold, p, NULL, 0);
	if (all && moved_again(all, fd, bytes, put, begin))
		return 0;
	pipe = pipe_of(p, fd);
	if (!pipe)
		return 0;
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
