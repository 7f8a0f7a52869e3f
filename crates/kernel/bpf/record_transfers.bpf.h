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

/* The compiler keeps the order of what is read and written before and after. */
#define barrier() asm volatile("" ::: "memory")

enum stream_kind {
	STREAM_PIPE,
	STREAM_UNIX,
	STREAM_TCP,
	STREAM_KINDS,
};

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
	u32 counting; /* a call is being added: its task may lose its CPU meanwhile */
	u64 sought;   /* the stream that place_of() looks for */
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

/* A function of its own, which the verifier looks at once. */
__attribute__((noinline)) int tell_each(struct untold *all, u32 pid)
{
	u32 i, count;

	if (!all)
		return 0;
	count = all->count;
	for (i = 0; i < MOST_STREAMS && i < count; i++)
		tell_one(&all->of[i], pid, all->put);
	return 0;
}

__kinline void tell_all(struct untold *all, struct task_struct *p)
{
	/* The reader has no name in the recording. */
	if (bpf_task_storage_get(&tasks, p, NULL, 0))
		tell_each(all, p->pid);
	all->count = all->last = 0;
}

/* The task leaves its CPU. */
__kinline void tell_transfers(struct task_struct *p)
{
	struct untold *all;

	if (!config.transfers)
		return;
	all = bpf_task_storage_get(&untold, p, NULL, 0);
	/* What is half added is told the next time. */
	if (all && all->count && !all->counting)
		tell_all(all, p);
}

/* Between the two tell_transfers() leaves everything as it is. */
__kinline void begin_counting(struct untold *all)
{
	all->counting = 1;
	barrier();
}

__kinline void end_counting(struct untold *all)
{
	barrier();
	all->counting = 0;
}

/*
 * Where calls at the stream that is sought are counted, or with @fd at this file: a task goes on
 * where it was, or at the next. MOST_STREAMS: nowhere yet. For the verifier as tell_each().
 */
__attribute__((noinline)) u32 place_of(struct untold *all, u32 fd)
{
	u32 i, at, count;

	if (!all)
		return MOST_STREAMS;
	at = all->last;
	count = all->count;
	for (i = 0; i < MOST_STREAMS && i < count; i++, at++) {
		if (at >= count)
			at = 0;
		at &= MOST_STREAMS - 1;
		if (fd ? all->of[at].fd == fd : all->of[at].stream == all->sought)
			return at;
	}
	return MOST_STREAMS;
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

/* What the programs here took of calls that moved bytes, by enum stream_kind. */
struct spent {
	u64 calls;
	u64 ns;
	u64 others; /* calls of recorded tasks that moved none, where each call is looked at */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STREAM_KINDS);
	__type(key, u32);
	__type(value, struct spent);
} spent SEC(".maps");

/* @begin_ns: when the program began. */
__kinline void add_call(struct transfers *of, long bytes, u64 begin_ns)
{
	u64 now = bpf_ktime_get_ns();
	u32 kind = of->kind;
	struct spent *all;

	of->bytes += bytes;
	of->calls++;
	of->last_ns = now;
	all = bpf_map_lookup_elem(&spent, &kind);
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

/* A call moved bytes; @object: the pipe, or the socket of the task. */
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
	begin_counting(all);
	/* It may be a pointer, which no other function takes for a number. */
	all->sought = stream;
	at = all->put == put ? place_of(all, 0) : MOST_STREAMS;
	if (at >= MOST_STREAMS) {
		if (all->put != put || all->count >= MOST_STREAMS)
			tell_all(all, p);
		all->put = put;
		at = all->count & (MOST_STREAMS - 1);
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
	all->last = at;
	of = &all->of[at & (MOST_STREAMS - 1)];
	add_call(of, bytes, begin_ns);
	end_counting(all);
	return of;
}

#endif
