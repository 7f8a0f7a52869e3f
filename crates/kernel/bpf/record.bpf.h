/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs of the recorder share: helpers, the layout of records, the maps.
 * crates/kernel/src/events/raw.rs reads the same layout.
 */
#ifndef ROTA_RECORD_BPF_H
#define ROTA_RECORD_BPF_H

#include "helpers.bpf.h"

enum record_kind {
	REC_SWITCH = 1,	      /* a: previous task, b: next task, c: slice of the next */
	REC_WAKEUP = 2,	      /* a: task, b: waker */
	REC_FORK = 3,	      /* a: task, b: parent */
	REC_EXIT = 4,	      /* a: task */
	REC_PICK = 5,	      /* a: task, c: slice: the CPU goes on with its task */
	REC_ENQUEUE = 6,      /* a: task, c: flags */
	REC_DISPATCH = 7,     /* a: task, c: queue */
	REC_OP = 8,	      /* a: task, b: callback, c: nanoseconds */
	REC_TASK = 9,	      /* struct task_record */
	REC_POLICY_EXIT = 10, /* struct exit_record */
	REC_TRANSFER = 11,    /* struct transfer_record */
};

/* Flags of REC_SWITCH. 0 in a or b: idle, or a task that is not recorded. */
#define OFF_SLEEP 1  /* the previous task sleeps */
#define OFF_EXIT  2  /* it is dead */
#define NEW_SLICE 4  /* the next task begins a slice */
#define IDLES	  8  /* the CPU has nothing to run now */
#define OFF_DEEP  16 /* the sleep is uninterruptible */
/* From here on the number of the system call that the previous task is in, and 1 … */
#define OFF_CALL_SHIFT 5
#define OFF_CALL_MOST  1023
/* … and that it sleeps until a time, not for so long. */
#define OFF_UNTIL 0x8000

/* Flags of REC_WAKEUP, of one that no task did. */
#define BY_TIMER     1
#define BY_INTERRUPT 2

/* Flag of REC_TRANSFER. */
#define IS_PUT 1

/* Flags of REC_TASK. */
#define IS_KTHREAD   1
#define WAS_RUNNING  2 /* of a snapshot: what the task does */
#define WAS_RUNNABLE 4
#define WAS_SLEEPING 8

struct record {
	u64 time_ns;
	u16 kind;
	u16 flags;
	u32 cpu;
	u32 a;
	u32 b;
	u64 c;
};

struct task_record {
	struct record head; /* a: pid, b: process, c: CPUs it may use, of the first 64 */
	u32 weight;
	u32 nr_cpus_allowed;
	char comm[16];
	u64 group;   /* inode number of its cgroup; 0: it shares with its session */
	u64 runtime; /* slice that it asks for, or budget of a deadline task; 0: none */
	u64 deadline;
	u64 period;
	u32 session;
	u16 policy;
	s16 priority; /* nice value, or real-time priority */
};

struct transfer_record {
	struct record head; /* a: task, b: calls, c: what the bytes went through */
	u64 first_ns;	    /* when the first of the calls ended, and the last */
	u64 last_ns;
	u64 bytes;
	u32 buffer;
	u32 stream_kind;
};

struct exit_record {
	struct record head; /* a: kind, c: code */
	char reason[64];
	char message[160];
};

/* What is kept of a task that is recorded. */
struct known {
	u64 off_ns;    /* when it last left its CPU */
	u64 waking_ns; /* when the wakeup under way began, where, and by whom; 0: none */
	u32 waking_cpu;
	u32 waker;
	u32 weight;
	u16 waking_flags;
};

/* One for each CPU, which the reader makes: no CPU has to wait for another one. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	struct ring *values[];
} rings SEC(".maps");

/*
 * Pids of the tasks that are recorded, for what knows no more of a task: with detail only.
 * Allocated as needed, as pids go up to four million.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 20);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u32);
} pids SEC(".maps");

/* Records that found no room. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

__kinline void count_lost(void)
{
	u32 zero = 0;
	u64 *count = bpf_map_lookup_elem(&lost, &zero);

	if (count)
		*count += 1;
}

__kinline void fill(struct record *r, u16 kind, u16 flags, u32 a, u32 b, u64 c)
{
	r->time_ns = bpf_ktime_get_ns();
	r->kind = kind;
	r->flags = flags;
	r->cpu = bpf_get_smp_processor_id();
	r->a = a;
	r->b = b;
	r->c = c;
}

/* Room for a record, in the ring of this CPU. */
__kinline void *reserve(u64 size)
{
	u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	void *r = ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;

	if (!r)
		count_lost();
	return r;
}

/* The reader looks at fixed intervals: nobody is woken, or the recorder would record itself. */
__kinline void submit(void *r)
{
	bpf_ringbuf_submit(r, NO_WAKEUP);
}

/* Returns the time of the record; 0: it found no room. */
__kinline u64 emit(u16 kind, u16 flags, u32 a, u32 b, u64 c)
{
	struct record *r = reserve(sizeof(*r));
	u64 now;

	if (!r)
		return 0;
	fill(r, kind, flags, a, b, c);
	now = r->time_ns;
	submit(r);
	return now;
}

#endif
