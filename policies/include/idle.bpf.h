/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Idle CPUs: no task shall wait in a queue while a CPU that could run it is idle.
 *
 * The kernel marks idle CPUs, and the enqueue of a task looks for a mark. Three
 * things that this alone does not cover:
 * - When a policy is loaded, every CPU is marked, also those that are busy. A task that
 *   is sent to such a CPU waits there for the end of a slice.
 * - A CPU that found the queues empty is marked a moment later. A task that is enqueued in
 *   between finds no mark.
 * - A CPU that was woken up for a task can take another one, or be on its way out
 *   (hotplug) and take none. Its mark is spent.
 * A CPU that runs a task of a higher class has no mark. The task that such a one replaced stays
 * there, or comes back into a queue with put_aside().
 */
#ifndef ROTA_IDLE_BPF_H
#define ROTA_IDLE_BPF_H

bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
const struct cpumask *scx_bpf_get_idle_cpumask(void) __ksym;
void scx_bpf_put_idle_cpumask(const struct cpumask *mask) __ksym;
bool bpf_cpumask_empty(const struct cpumask *mask) __ksym;
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;

#define WAKE_SYNC kernel_value(scx_wake_flags, SCX_WAKE_SYNC)

/*
 * For ops.select_cpu: an idle CPU if there is one. Where the waker said that it sleeps soon, as
 * pipes and sockets do, the kernel would give the waker's CPU and call it idle: the task would wait
 * there, in front of those in the queues, while another CPU idles.
 */
__kinline s32 find_idle_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *is_idle)
{
	return scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags & ~WAKE_SYNC, is_idle);
}

/*
 * For ops.init: takes all marks off. Those that are idle get theirs when loading ends,
 * as the kernel then sends every CPU through its scheduler.
 */
__kinline void forget_idle_marks(void)
{
	u32 cpu, cpus = scx_bpf_nr_cpu_ids();

	for (cpu = loop_start; cpu < cpus && can_loop(); cpu++)
		scx_bpf_test_and_clear_cpu_idle(cpu);
}

/*
 * For ops.update_idle of a CPU that becomes idle: it is marked now, so an enqueue of
 * a task from here on finds it; for those before, it checks the queues again.
 * Older kernels (6.12) call the op first and set the mark then: look in any case.
 *
 * And for ops.dispatch that found nothing for an idle CPU, which would go on idling
 * unseen: if it has no mark, as it was woken up, it checks again with one.
 */
__kinline void look_again(s32 cpu, bool somebody_waits)
{
	const struct cpumask *marks;
	bool marked;

	if (!somebody_waits) {
		marks = scx_bpf_get_idle_cpumask();
		marked = bpf_cpumask_test_cpu(cpu, marks);
		scx_bpf_put_idle_cpumask(marks);
		if (marked)
			return;
	}
	scx_bpf_kick_cpu(cpu, KICK_PLAIN);
}

/*
 * For ops.stopping: does a higher class take the CPU from @p? If @p has time left, the kernel
 * keeps it in the CPU's local queue, where no other CPU finds it. Without, it is enqueued, and has
 * lost its turn unless the policy goes on with it there.
 */
__kinline bool put_aside(struct task_struct *p, bool runnable)
{
	if (!runnable || !p->scx.slice)
		return false;
	task_set_slice(p, 0);
	return true;
}

/* Wakes up an idle CPU for one of those that wait in a queue, if there is one. */
__kinline void wake_idle_cpu_for_queue(u64 dsq_id)
{
	struct bpf_iter_scx_dsq it;
	const struct cpumask *marks;
	struct task_struct *p;
	bool none_idle;
	s32 cpu;

	if (!scx_bpf_dsq_nr_queued(dsq_id))
		return;
	marks = scx_bpf_get_idle_cpumask();
	none_idle = bpf_cpumask_empty(marks);
	scx_bpf_put_idle_cpumask(marks);
	if (none_idle)
		return;
	bpf_iter_scx_dsq_new(&it, dsq_id, 0);
	while ((p = bpf_iter_scx_dsq_next(&it))) {
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
		if (cpu >= 0) {
			scx_bpf_kick_cpu(cpu, KICK_IDLE);
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
}

#endif
