/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs that count share with their reader: memory that it maps, and looks at a few
 * times a second. crates/kernel/src/counts/raw.rs reads the same layout, word by word: all of it is
 * of u64.
 *
 * Nobody locks. Each word is written as a whole; what is of two words is written in an order in
 * which a reader that comes between counts the rest the next time.
 */
#ifndef ROTA_COUNT_BPF_H
#define ROTA_COUNT_BPF_H

#include "helpers.bpf.h"

static long (*const bpf_map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;
static long (*const bpf_map_pop_elem)(void *map, void *value) = (void *)88;

#define F_MMAPABLE 1024 /* BPF_F_MMAPABLE, ABI */

/* A step of the timeline, and how many are kept: a reader may be late by 2.5 s. */
#define STEP_NS 10000000ULL
#define STEPS	256

/* Set by the reader, but for the first two. */
struct {
	u64 used; /* places that tasks ever had */
	u64 lost; /* tasks without a place, and latencies without room */
	u64 begin_ns;
	u64 half;   /* counts up every five seconds */
	u64 online; /* CPUs that are there, of the first 64 */
	u64 cpus;   /* how many there are */
} shared SEC(".data.shared");

/*
 * How long tasks have been waiting: `word` is their number, in the low bits, and when it last
 * changed; `clock_ns` for how long there was one, up to then.
 */
#define WAITING_BITS 20
#define WAITING_MASK ((1ULL << WAITING_BITS) - 1)
#define TIME_MASK    ((1ULL << (64 - WAITING_BITS)) - 1)

/* The clock at the beginning of a step, which the first change in a step leaves. */
struct mark {
	u64 step;
	u64 clock_ns;
	u64 since_ns; /* nothing had changed since */
	u64 waited;   /* and there was a task that waited */
};

struct waits {
	u64 word;
	u64 clock_ns;
	u64 step; /* of the last mark */
	u64 unused;
	struct mark marks[STEPS];
};

/* 0: of tasks that may use all CPUs; 1 and more: of those that are tied to some, for each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct waits);
} waits SEC(".maps");

/* What runs on a CPU besides tasks that are counted. */
#define IDLE  0
#define OTHER 0xffffffffULL

/* What a CPU did in a step, up to its last switch in that; and what it does since. */
struct cell {
	u64 step;
	u64 busy_ns;
	u64 wasted_ns;
	u64 top_ns;    /* the task that ran longest */
	u64 top;       /* its pid */
	u64 since_ns;  /* the last switch */
	u64 runs;      /* pid of the task that it switched to, … */
	u64 ran_ns;    /* … which had run so long in this step, here */
	u64 untied_ns; /* clocks of waits then, if the CPU is idle since */
	u64 tied_ns;
};

struct cpu {
	u64 step;  /* of the last cell */
	u64 place; /* of the task that runs, by 1 more; 0: none that is counted */
	struct cell cells[STEPS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

/* What a task does: a time, and one of these in the low bits. */
#define SLEEPS	  0
#define WAITS	  1 /* after it lost its CPU */
#define WOKEN	  2 /* after a wakeup */
#define RUNS	  3
#define DOES_BITS 2
#define DOES_MASK 3

/* Flags of a place. */
#define IS_KTHREAD 1
#define HAS_ENDED  2

/* What is counted of a task. */
struct place {
	u64 does;
	u64 run_ns; /* in stretches that are over */
	u64 delay_ns;
	u64 switches;
	/* Of the present half. */
	u64 half;
	u64 wakeups;
	u64 max_ns;
	/* Of the present step on a CPU. */
	u64 step;
	u64 cpu;
	u64 ran_ns;

	u64 waking_ns;	/* the wakeup under way */
	u64 tie;	/* CPUs that it waits for, if not all */
	u64 task_group; /* where `group` is from */
	u64 histogram;	/* which one has its latencies; 0: none */
	u64 about;	/* counts up when something below changes */
	u64 pid;
	u64 flags;
	u64 group;
	char comm[16];

	u64 number;  /* which place this is, by 1 more */
	u64 runs_on; /* the CPU, if it runs */
};

#define MOST_PLACES 65536

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, F_MMAPABLE);
	__uint(max_entries, MOST_PLACES);
	__type(key, u32);
	__type(value, struct place);
} places SEC(".maps");

/* Places that the reader gives back, of tasks that have ended. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, MOST_PLACES);
	__type(value, u32);
} free_places SEC(".maps");

/* Which place it has, by 1 more: with each task that is counted. */
struct known {
	u32 place;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct known);
} tasks SEC(".maps");

/*
 * Latencies as they are, place << LATENCY_BITS | ns: the first ones that a task has in a half, the
 * longest so far, and those of tasks for which there is no histogram.
 */
#define EXACT	     128
#define LATENCY_BITS 44
#define LOGGED	     16384

struct log {
	u64 head;
	u64 tail; /* the reader's */
	u64 entries[LOGGED];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct log);
} logs SEC(".maps");

/*
 * All others: buckets of 1/128 of a value, as an HDR histogram with two digits has them; two counts
 * of 32 bits in a word. Histograms go to those who ask first, and back when a task ends.
 */
#define BUCKETS		4096
#define MOST_HISTOGRAMS 1024

struct histogram {
	u64 least; /* no bucket below was ever used, and none from `most` on */
	u64 most;
	u32 counts[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, F_MMAPABLE);
	__uint(max_entries, MOST_HISTOGRAMS);
	__type(key, u32);
	__type(value, struct histogram);
} histograms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, MOST_HISTOGRAMS);
	__type(value, u32);
} free_histograms SEC(".maps");

__kinline void count_lost(void)
{
	__sync_fetch_and_add(&shared.lost, 1);
}

#endif
