/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs of `rota boost` share: helpers, maps, and the layouts that
 * crates/boost/src/record.rs reads too.
 */
#ifndef ROTA_BOOST_BPF_H
#define ROTA_BOOST_BPF_H

#include "kernel.bpf.h"

/* Helpers, by their number in the kernel's ABI. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
					 u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_jiffies64)(void) = (void *)118; /* inlined: no call */
static void *(*const bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static long (*const bpf_probe_read_kernel)(void *dst, u32 size, const void *src) = (void *)113;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static struct unix_sock *(*const bpf_skc_to_unix_sock)(void *sk) = (void *)178;
static u64 (*const bpf_get_current_cgroup_id)(void) = (void *)80;

/* Reads a field through a pointer that the verifier knows nothing about. */
#define read_field(dst, field) \
	bpf_probe_read_kernel(dst, sizeof(*(dst)), __builtin_preserve_access_index(&(field)))

/* Kernels may be built without autogroups: then nobody is in one. */
struct autogroup___here {
	unsigned long id;
} __attribute__((preserve_access_index));

struct task_group___here {
	struct autogroup___here *autogroup;
} __attribute__((preserve_access_index));

/* Or without groups of tasks. */
struct cfs_rq___here {
	struct rq *rq;
} __attribute__((preserve_access_index));

struct sched_entity___here {
	struct cfs_rq___here *cfs_rq;
} __attribute__((preserve_access_index));

#define AF_UNIX	     1
#define AF_INET	     2
#define AF_INET6     10
#define SOCK_DGRAM   2
#define IPPROTO_TCP  6
#define IFF_LOOPBACK 8
#define MSG_PEEK     2
#define PF_KTHREAD   0x00200000
#define PIDTYPE_SID  3
#define NSEC_PER_MS  1000000ULL
#define CREATE	     1 /* BPF_SK_STORAGE_GET_F_CREATE */

/* A verdict on who is at the other end holds for this long. */
#define VERDICT_NS (50 * NSEC_PER_MS)
/* Times of activity are kept no more exactly than this. */
#define SEEN_NS (10 * NSEC_PER_MS)
/* A note of who writes is made again after this time: 0.25 to 2.5 s. */
#define WRITER_JIFFIES 250
/* Who was not seen for this time makes room for another thread. */
#define STALE_NS (10000 * NSEC_PER_MS)
/* Events of one user in an interval: more threads than a server begins to use at once. */
#define USER_EVENTS 128
/* Threads are kept by the last bits of their ids. */
#define WORKERS	  (1 << 16)
#define ANCESTORS 6
/* As many as there can be within each other: kernel/user_namespace.c, create_user_ns(). */
#define MOST_NAMESPACES 33

/* Where the other end stands to the one that received: bits. crates/boost/src/customers.rs */
enum relation {
	REMOTE = 1,  /* another machine, or what looks like it */
	UNKNOWN = 2, /* this machine, but who? */
	SAME_PROCESS = 4,
	FAMILY = 8, /* parent, child, or further up or down */
	SAME_SESSION = 16,
	SAME_USER = 32,
	SAME_CGROUP = 64,
	ON_BEHALF = 128, /* it has a request of a customer itself */
};

/* Of the end that received. */
enum role {
	ROLE_UNKNOWN = 0,
	SERVER = 1, /* the side that accepted */
	CLIENT = 2, /* the side that connected: what it receives are answers */
	PAIR = 3,   /* neither: socketpair(2), or datagrams where this end asks */
};

enum family { UNIX = 0, NETWORK = 1 };
enum kind { REQUEST = 1, HANDED_ON = 2, ANSWER = 3, ANSWERS_FOR = 4 };

/* What is done for a thread: of more than that no events are needed. */
enum level { WAITS = 1, ELEVATED = 2 };

struct config {
	u64 accept[4]; /* bit r: relation r makes a customer */
	u32 roles;     /* bit r: role r has customers */
	u32 waiters;   /* bit r: role r waits for answers */
	u32 self;      /* the daemon's process */
	u32 pad;
};
const volatile struct config config;

/* What user space changes while the programs run. */
struct live {
	u64 interval_ns; /* between two events of a thread */
	u32 active;	 /* 0: the load is so low that nobody is elevated */
	u32 pad;
};

/* A thread that receives from customers, or works for one that does. */
struct worker {
	u64 recv_ns;
	u64 send_ns;
	u64 event_ns;
	u64 helped_ns;	/* when one with an open request last woke it, or it answered for one */
	u32 open;	/* sockets on which something was received and nothing sent yet */
	u32 generation; /* user space starts a new one to forget what is open */
	u32 via;	/* whom it helps */
	u32 answers;
	u64 opened_ns;	    /* since when something is open */
	u64 served_ns;	    /* how long something was open before that, without waits for a CPU */
	u32 tid;	    /* 0: nobody */
	u32 running;	    /* tasks that wanted its CPU when it last received, itself included */
	u64 opened_wait_ns; /* how long it had waited for a CPU when it was opened */
	u64 answer_ns;	    /* when it last got an answer */
	u64 ended_cpu_ns;   /* CPU time of the last that ended here, up to its last tick */
	u32 ended_tid;
	u32 running_jiffies; /* when that was looked at */
};

/* Who wrote. */
struct writer {
	u32 tid, tgid, uid, session;
	u32 ancestors[ANCESTORS];
	u64 cgroup;
	u64 at_jiffies;
};

/* One end of a connection. */
struct conversation {
	struct writer writer; /* who sent from this end */
	u64 judged_ns;
	u64 seen_ns;
	u32 open_tid; /* who has a request open here; 0: nobody */
	u32 generation;
	u32 last_tid;
	u32 writer_tgid; /* of the verdict */
	u16 relation;
	u8 accepted;
	u8 role;
	u64 answer_jiffies;
};

struct event {
	u64 time_ns;
	u32 kind;
	u32 family;
	u32 tid, tgid, uid;
	u32 relation;
	u32 peer; /* process at the other end; or the thread that has received the request */
	u32 role;
	u32 autogroup; /* in which the thread competes now; 0: in none */
	u32 pad;
};

/* An address pair as one end sees it; IPv4 as a mapped IPv6 address. */
struct path_key {
	u32 local[4], remote[4];
	u16 local_port, remote_port;
	u32 protocol;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct live);
} live SEC(".maps");

/* By the last bits of the thread's id: no hash on the way of each message. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WORKERS);
	__type(key, u32);
	__type(value, struct worker);
} workers SEC(".maps");

/* Events of a user since the interval began. */
struct told {
	u64 since_ns;
	u64 events;
};

/* So that no user keeps the daemon busy with ever new threads. Two CPUs that begin an interval at
 * once may miscount by an event. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 12);
	__type(key, u32);
	__type(value, struct told);
} users SEC(".maps");

/* What is done for threads: enum level. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 14);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u32);
} boosted SEC(".maps");

/* Ports that were listened at before the programs were there. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 12);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u16);
	__type(value, u8);
} listened SEC(".maps");

/* Who on this machine writes to a network connection, by the writer's end. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, struct path_key);
	__type(value, struct writer);
} writers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct conversation);
} conversations SEC(".maps");

__kinline void count_lost(void)
{
	u32 zero = 0;
	u64 *count = bpf_map_lookup_elem(&lost, &zero);

	if (count)
		*count += 1;
}

/* The settings, or NULL while nobody would be elevated. */
__kinline struct live *when_active(void)
{
	u32 zero = 0;
	struct live *l = bpf_map_lookup_elem(&live, &zero);

	return l && l->active ? l : NULL;
}

__kinline struct worker *find_worker(u32 tid)
{
	u32 slot = tid & (WORKERS - 1);
	struct worker *w = bpf_map_lookup_elem(&workers, &slot);

	return w && w->tid == tid ? w : NULL;
}

/* Two threads that begin in the same slot at the same time are mixed up until one ends. */
__kinline struct worker *make_worker(u32 tid, u64 now)
{
	u32 slot = tid & (WORKERS - 1);
	struct worker *w = bpf_map_lookup_elem(&workers, &slot);
	u32 generation, ended_tid;
	u64 ended_cpu_ns;

	if (!w || w->tid == tid)
		return w;
	if (w->tid && (now - w->recv_ns < STALE_NS || now - w->helped_ns < STALE_NS ||
		       now - w->answer_ns < STALE_NS)) {
		count_lost();
		return NULL;
	}
	generation = w->generation;
	ended_tid = w->ended_tid;
	ended_cpu_ns = w->ended_cpu_ns;
	__builtin_memset(w, 0, sizeof(*w));
	w->generation = generation + 1;
	w->ended_tid = ended_tid;
	w->ended_cpu_ns = ended_cpu_ns;
	w->tid = tid;
	return w;
}

char _license[] SEC("license") = "GPL";

#endif
