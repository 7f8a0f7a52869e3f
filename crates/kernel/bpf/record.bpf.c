/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records what the scheduler does: each event is one reservation in a ring buffer.
 *
 * sched_switch has most of it. What it cannot tell: who woke a task (sched_waking knows the
 * waker, sched_wakeup when the task became runnable), and that a CPU begins another slice
 * of the task that it runs already (only sched_ext's pick knows).
 *
 * Bad at: tasks that are renamed or change their pid while a thread other than the first
 * calls exec(); the events around such a change do not fit each other.
 */
#include "record.bpf.h"

/* Set before loading; `configure()` in attach.rs has the same layout. */
const volatile struct {
	u32 only_tree; /* record only `tasks` and what they fork */
	u32 no_kthreads;
	u32 root_pid;	    /* the tree of this process, as our reader's namespace numbers it */
	u32 spawn;	    /* the tree of what our reader's first thread forks */
	u32 interrupt_mask; /* bits of the preemption count that say: not in a task */
	u32 dispatch_task;  /* which argument of the hooked function is the task … */
	u32 dispatch_queue; /* … and which the queue, or its id */
	u32 queue_is_id;
	u32 move_task; /* the same for the function that moves to the CPU's own queue */
} config = {};

/* The reader. */
u32 reader_process;
u32 reader_thread;

/* What the pick under way on a CPU found, and the last task that lost the CPU with slice left. */
struct cpu_state {
	u64 slice_before;
	u64 runtime_before;
	u64 slice_left;
	u32 armed;
	u32 owner_of_left;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

extern const int __preempt_count __ksym __weak;

/* Until 6.14. */
struct pcpu_hot___old {
	int preempt_count;
} __attribute__((preserve_access_index));
extern const struct pcpu_hot___old pcpu_hot __ksym __weak;

#define TASK_DEAD      0x80 /* of __state, and of sched_switch's prev_state */
#define PF_KTHREAD     0x00200000
#define TASK_QUEUED    1		     /* p->scx.flags: it is sched_ext's */
#define DSQ_LOCAL      0x8000000000000002ULL /* SCX_DSQ_LOCAL */
#define LOAD_SHIFT     10		     /* scale_load() of 64-bit kernels */
#define MOST_ANCESTORS 64

/* What is neither an interrupt nor a softirq runs for the current task. */
__kinline bool in_interrupt(void)
{
	const struct pcpu_hot___old *hot;

	if (&__preempt_count) {
		const int *count = bpf_this_cpu_ptr(&__preempt_count);

		return *count & config.interrupt_mask;
	}
	if (!&pcpu_hot)
		return false;
	hot = bpf_this_cpu_ptr(&pcpu_hot);
	return hot->preempt_count & config.interrupt_mask;
}

__kinline bool is_ext(const struct task_struct *p)
{
	return has_field(p->scx.flags) && p->scx.flags & TASK_QUEUED;
}

/* As sched_ext counts it: 100 is nice 0. */
__kinline u32 weight_of(const struct task_struct *p)
{
	u64 weight;

	if (is_ext(p) && p->scx.weight)
		return p->scx.weight;
	weight = ((p->se.load.weight >> LOAD_SHIFT) * 100 + 512) >> LOAD_SHIFT;
	return weight < 1 ? 1 : weight > 10000 ? 10000 : weight;
}

/* What is left of its turn, as far as its class has turns. */
__kinline u64 slice_of(const struct task_struct *p)
{
	if (is_ext(p))
		return p->scx.slice;
	return has_field(p->se.slice) ? p->se.slice : 0;
}

__kinline bool wanted(const struct task_struct *p)
{
	if (!p->pid || (u32)p->tgid == reader_process)
		return false;
	return !(config.no_kthreads && p->flags & PF_KTHREAD);
}

__kinline void emit_task(const struct task_struct *p, u16 flags, u32 cpu, const char *comm)
{
	struct task_record *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	unsigned long cpus = 0;

	if (!r) {
		count_lost();
		return;
	}
	if (p->flags & PF_KTHREAD)
		flags |= IS_KTHREAD;
	read_field(&cpus, p->cpus_mask.bits[0]);
	fill(&r->head, REC_TASK, flags, p->pid, p->tgid, cpus);
	r->head.cpu = cpu;
	r->weight = weight_of(p);
	r->nr_cpus_allowed = p->nr_cpus_allowed;
	if (bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), comm) < 0)
		r->comm[0] = 0;
	submit(r);
}

__kinline struct known *introduce(const struct task_struct *p, u32 pid)
{
	struct known known = {.weight = weight_of(p)};

	emit_task(p, 0, bpf_get_smp_processor_id(), p->comm);
	bpf_map_update_elem(&tasks, &pid, &known, BPF_NOEXIST);
	return bpf_map_lookup_elem(&tasks, &pid);
}

/* The entry of a task that is recorded; it is introduced if that was not done yet. */
__kinline struct known *find(const struct task_struct *p)
{
	u32 pid = p->pid;
	struct known *known;

	if (!pid)
		return NULL;
	known = bpf_map_lookup_elem(&tasks, &pid);
	if (known || config.only_tree || !wanted(p))
		return known;
	return introduce(p, pid);
}

__kinline void update_weight(struct known *known, const struct task_struct *p)
{
	u32 weight = weight_of(p);

	if (known->weight == weight)
		return;
	known->weight = weight;
	emit_task(p, 0, bpf_get_smp_processor_id(), p->comm);
}

/*
 * A task that was put aside with slice left, by a higher class, and comes back with just that
 * goes on with its slice.
 */
__kinline bool begins_slice(const struct task_struct *next)
{
	u32 zero = 0;
	struct cpu_state *cpu = bpf_map_lookup_elem(&cpus, &zero);

	if (!cpu || !is_ext(next))
		return true;
	return cpu->owner_of_left != (u32)next->pid || !cpu->slice_left ||
	       cpu->slice_left != next->scx.slice;
}

/*
 * Only for a higher class does sched_ext put a task aside that has slice left. Fair tasks are of
 * one, where a policy schedules SCHED_EXT tasks only.
 */
__kinline void note_left(const struct task_struct *prev, const struct task_struct *next,
			 bool sleeps)
{
	u32 zero = 0, pid = prev->pid;
	struct cpu_state *cpu = bpf_map_lookup_elem(&cpus, &zero);

	if (!cpu)
		return;
	cpu->armed = 0;
	/* It was not put aside but queued again, with a new slice, if another one comes first. */
	if (is_ext(next) && cpu->owner_of_left != (u32)next->pid)
		cpu->owner_of_left = 0;
	if (is_ext(prev) && !sleeps && !is_ext(next)) {
		cpu->owner_of_left = pid;
		cpu->slice_left = prev->scx.slice;
	} else if (cpu->owner_of_left == pid) {
		cpu->owner_of_left = 0;
	}
}

SEC("tp_btf/sched_switch")
int on_switch(u64 *ctx)
{
	bool preempt = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 prev_state = ctx[3], prev_pid = prev->pid;
	struct known *old = find(prev), *new = find(next);
	u32 from = old ? prev_pid : 0, to = new ? next->pid : 0;
	u16 flags = 0;

	if (new)
		update_weight(new, next);
	/* Some kernels report the state of a task that a signal kept from sleeping. */
	if (!preempt && prev_state & TASK_DEAD)
		flags = OFF_EXIT;
	else if (!preempt && prev_state && prev->__state)
		flags = OFF_SLEEP;
	if (to && begins_slice(next))
		flags |= NEW_SLICE;
	note_left(prev, next, flags & (OFF_SLEEP | OFF_EXIT));
	if (from | to)
		emit(REC_SWITCH, flags, from, to, slice_of(next));
	if (old)
		old->off_ns = bpf_ktime_get_ns(); /* not before the record */
	if (from && flags & OFF_EXIT)
		bpf_map_delete_elem(&tasks, &prev_pid);
	return 0;
}

__kinline void note_waker(struct task_struct *p, u32 waker)
{
	struct known *known = find(p);

	if (known) {
		known->waker = waker;
		known->waking_cpu = bpf_get_smp_processor_id();
		known->waking_ns = bpf_ktime_get_ns();
	}
}

SEC("tp_btf/sched_waking")
int on_waking(u64 *ctx)
{
	note_waker((void *)ctx[0], in_interrupt() ? 0 : (u32)bpf_get_current_pid_tgid());
	return 0;
}

/* Where the preemption count cannot be read. */
SEC("tp_btf/sched_waking")
int on_waking_blindly(u64 *ctx)
{
	note_waker((void *)ctx[0], (u32)bpf_get_current_pid_tgid());
	return 0;
}

/*
 * The task is on a run queue now. That may be on the CPU that will run it, after an interrupt
 * from the waker's, and the policy has heard of it before: the event has the time and place
 * where the wakeup began, but not before the task had left its CPU. One that was woken before
 * it did so simply goes on.
 */
SEC("tp_btf/sched_wakeup")
int on_wakeup(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct known *known = find(p);
	struct record *r;

	if (!known || read_int(p->on_cpu))
		return 0;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		count_lost();
		return 0;
	}
	fill(r, REC_WAKEUP, 0, p->pid, 0, 0);
	if (known->waking_ns) {
		r->b = known->waker;
		r->cpu = known->waking_cpu;
		r->time_ns = known->waking_ns > known->off_ns ? known->waking_ns : known->off_ns;
	}
	known->waking_ns = 0;
	submit(r);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int on_wakeup_new(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	if (find(p))
		emit(REC_WAKEUP, 0, p->pid, (u32)bpf_get_current_pid_tgid(), 0);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int on_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 parent_pid = parent->pid;
	bool ours = !config.only_tree && wanted(child);

	if (config.only_tree)
		ours = bpf_map_lookup_elem(&tasks, &parent_pid) ||
		       (config.spawn && parent_pid == reader_thread);
	if (!ours)
		return 0;
	introduce(child, child->pid);
	emit(REC_FORK, 0, child->pid, parent_pid, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	if (find(p))
		emit(REC_EXIT, 0, p->pid, 0, 0);
	return 0;
}

SEC("tp_btf/task_rename")
int on_rename(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	/* The task still has its old name. */
	if (find(p))
		emit_task(p, 0, bpf_get_smp_processor_id(), (const char *)ctx[1]);
	return 0;
}

SEC("fexit/set_user_nice")
int after_nice(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct known *known = find(p);

	if (known)
		update_weight(known, p);
	return 0;
}

__kinline void arm(bool again)
{
	struct task_struct *curr = bpf_get_current_task_btf();
	u32 zero = 0;
	struct cpu_state *cpu = bpf_map_lookup_elem(&cpus, &zero);

	if (!cpu || (cpu->armed && !again))
		return;
	cpu->armed = is_ext(curr);
	cpu->slice_before = slice_of(curr);
	cpu->runtime_before = curr->se.sum_exec_runtime;
}

/*
 * A pick that ends with the task that runs already begins a slice of it if the old one, less
 * what the pick charged for, was used up.
 */
__kinline void picked(u64 *ctx)
{
	struct task_struct *curr = bpf_get_current_task_btf();
	u32 zero = 0, pid = curr->pid;
	struct cpu_state *cpu = bpf_map_lookup_elem(&cpus, &zero);
	u64 found = 0;

	if (!cpu || !cpu->armed || bpf_get_func_ret(ctx, &found))
		return;
	/* RETRY_TASK: the same pick begins anew. */
	if (found == (u64)-1)
		return;
	cpu->armed = 0;
	if (found != (u64)curr || !bpf_map_lookup_elem(&tasks, &pid))
		return;
	if (cpu->slice_before <= curr->se.sum_exec_runtime - cpu->runtime_before)
		emit(REC_PICK, 0, pid, 0, slice_of(curr));
}

/* Until 6.18 the policy's dispatch is called here, before the pick. */
SEC("fentry/balance_scx")
int before_balance(u64 *ctx)
{
	arm(true);
	return 0;
}

SEC("fentry/pick_task_scx")
int before_pick(u64 *ctx)
{
	arm(false);
	return 0;
}

SEC("fexit/pick_task_scx")
int after_pick(u64 *ctx)
{
	picked(ctx);
	return 0;
}

/* From 7.0 on, also called for the deadline server. */
SEC("fentry/do_pick_task_scx")
int before_do_pick(u64 *ctx)
{
	arm(false);
	return 0;
}

SEC("fexit/do_pick_task_scx")
int after_do_pick(u64 *ctx)
{
	picked(ctx);
	return 0;
}

/* A task enters a queue. */
SEC("fentry")
int on_dispatch(u64 *ctx)
{
	u64 task = 0, queue = 0;
	u32 pid = 0;

	if (bpf_get_func_arg(ctx, config.dispatch_task, &task) ||
	    bpf_get_func_arg(ctx, config.dispatch_queue, &queue))
		return 0;
	read_field(&pid, ((struct task_struct *)task)->pid);
	if (!config.queue_is_id && has_field(((struct scx_dispatch_q *)0)->id))
		read_field(&queue, ((struct scx_dispatch_q *)queue)->id);
	if (bpf_map_lookup_elem(&tasks, &pid))
		emit(REC_DISPATCH, 0, pid, 0, queue);
	return 0;
}

/* A task moves from a queue to this CPU's own one. */
SEC("fentry/move_local_task_to_local_dsq")
int on_move(u64 *ctx)
{
	u64 task = 0;
	u32 pid = 0;

	if (bpf_get_func_arg(ctx, config.move_task, &task))
		return 0;
	read_field(&pid, ((struct task_struct *)task)->pid);
	if (bpf_map_lookup_elem(&tasks, &pid))
		emit(REC_DISPATCH, 0, pid, 0, DSQ_LOCAL);
	return 0;
}

/* A process's number as the reader's pid namespace has it; 0: it is not in there. */
__kinline u32 number_of(struct task_struct *p)
{
	struct task_struct *reader = bpf_get_current_task_btf();
	struct pid *ours = NULL, *its = NULL;
	struct pid_namespace *our_ns = NULL, *its_ns = NULL;
	u32 level = 0, its_level = 0;
	u32 nr = 0;

	read_field(&ours, reader->thread_pid);
	read_field(&its, p->thread_pid);
	if (!ours || !its)
		return 0;
	read_field(&level, ours->level);
	read_field(&its_level, its->level);
	if (its_level < level)
		return 0;
	read_field(&our_ns, ours->numbers[level].ns);
	read_field(&its_ns, its->numbers[level].ns);
	if (our_ns == its_ns)
		read_field(&nr, its->numbers[level].nr);
	return nr;
}

__kinline bool descends(struct task_struct *p)
{
	for (int i = 0; i < MOST_ANCESTORS; i++) {
		struct task_struct *parent = NULL, *leader = NULL;

		read_field(&leader, p->group_leader);
		if (!leader)
			return false;
		if (number_of(leader) == config.root_pid)
			return true;
		read_field(&parent, leader->real_parent);
		if (!parent || parent == leader)
			return false;
		p = parent;
	}
	return false;
}

/*
 * What all tasks do at the beginning. A task that has changed since has told so before: the
 * time is taken after its state is read.
 */
SEC("iter/task")
int snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct known known = {};
	u16 state = WAS_SLEEPING;
	u32 pid;

	if (!p || !wanted(p))
		return 0;
	if (config.only_tree && (!config.root_pid || !descends(p)))
		return 0;
	if (read_int(p->on_cpu))
		state = WAS_RUNNING;
	else if (read_int(p->on_rq) && !read_int(p->se.sched_delayed))
		state = WAS_RUNNABLE;
	pid = p->pid;
	known.weight = weight_of(p);
	bpf_map_update_elem(&tasks, &pid, &known, BPF_NOEXIST);
	emit_task(p, state, p->thread_info.cpu, p->comm);
	return 0;
}

/* Run by the reader before anything is attached. */
SEC("syscall")
int begin(void *ctx)
{
	u64 id = bpf_get_current_pid_tgid();

	reader_process = id >> 32;
	reader_thread = id;
	return 0;
}
