/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callbacks of fair schedulers of Linux, but for their rules, which the policy that
 * includes this defines after it:
 *  - ask(slot, p): reads what the task asks for;
 *  - revive(slot): one that slept and took part still is awake;
 *  - lies_down(slot): one that took part sleeps;
 *  - pick(cpu, prev): the client to run next, in the tree or @prev (0: none); 0: nobody;
 *  - begin(slot, again): it was picked, again or to get the CPU;
 *  - time_left(slot): CPU time until the next decision is due;
 *  - is_over(slot): that is at this tick;
 *  - notices(cpu): who runs there was just charged, as somebody comes: it has to give way;
 *  - preempts(cpu, slot, comes_first_time): whether it takes the CPU from who runs there;
 *  - is_lazy(): who runs on another CPU gives way at its next tick, not at once.
 */
#ifndef ROTA_FAIR_OPS_BPF_H
#define ROTA_FAIR_OPS_BPF_H

#define DEQ_SLEEP kernel_value(scx_deq_flags, SCX_DEQ_SLEEP)

static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;

static void ask(u32 slot, struct task_struct *p);
static void revive(u32 slot);
static void lies_down(u32 slot);
static u32 pick(u32 cpu, u32 prev);
static void begin(u32 slot, bool again);
static u64 time_left(u32 slot);
static bool is_over(u32 slot);
static bool notices(u32 cpu);
static bool preempts(u32 cpu, u32 slot, bool comes_first_time);
static bool is_lazy(void);

/* The client waits for @cpu from here on. Does it preempt who runs there? */
static bool enter(struct task_struct *p, u32 slot, u32 cpu, u64 now)
{
	struct client *c = client_at(slot);
	struct cpu_queue *q = queue_of(cpu);
	bool first_time = !c->known, comes = c->delayed || c->home != cpu + 1;

	charge_clock(q->running, now);
	/* Kept in memory, of which the verifier assumes nothing: see fair_enqueue(). */
	q->noticed = q->running && q->running != slot && notices(cpu);
	if (c->delayed && c->home == cpu + 1) {
		stop_waiting(slot);
		ask(slot, p);
		revive(slot);
	} else {
		take_out(slot, c->delayed);
		ask(slot, p);
		join(slot, cpu);
	}
	start_waiting(slot);
	if (!comes || !q->running || q->running == slot)
		return false;
	return preempts(cpu, slot, first_time) || q->noticed;
}

/* No direct dispatch: of several that wake up at once the first must win. */
static void fair_enqueue(struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p), weight = weight_of(p);
	u64 now = bpf_ktime_get_ns();
	struct client *c = client_at(slot);
	u32 here = bpf_get_smp_processor_id();
	bool preempt = false;

	bpf_spin_lock(&lock);
	set_weight(slot, weight);
	if (c->home == cpu + 1 && !c->delayed)
		start_waiting(slot); /* it is back from the CPU */
	else
		preempt = enter(p, slot, cpu, now);
	stats.preemptions += preempt;
	/* Compared here and not before: the verifier would go through everything twice. */
	if (is_lazy() && cpu != here) {
		queue_of(cpu)->gives_way |= preempt;
		preempt = false;
	}
	bpf_spin_unlock(&lock);
	if (!call_idle_cpu(p, slot) && preempt)
		scx_bpf_kick_cpu(cpu, KICK_PREEMPT);
}

static void fair_dispatch(s32 cpu, struct task_struct *prev)
{
	u32 prev_slot = prev && is_runnable(prev) ? slot_of(prev) : 0, slot, in_vain;
	u64 used_ns = prev_slot ? prev->se.sum_exec_runtime : 0, now = bpf_ktime_get_ns();
	u32 weight = prev_slot ? weight_of(prev) : 0;
	const struct client *vain;
	struct decision d;

	bpf_spin_lock(&lock);
	if (prev_slot) {
		charge_used(prev_slot, used_ns);
		begin_charging(client_at(prev_slot), now, used_ns);
		set_weight(prev_slot, weight);
		move_in(prev_slot, cpu);
	}
	slot = pick(cpu, prev_slot);
	if (!slot)
		slot = pull_one(cpu);
	stats.picks += slot != 0;
	stats.kept += slot && slot == prev_slot;
	if (slot) {
		stop_waiting(slot);
		begin(slot, slot == prev_slot);
	}
	in_vain = who_waits_in_vain(cpu, slot);
	vain = client_at(in_vain);
	decide(&d, slot, slot ? time_left(slot) : 0, in_vain, vain->waits && !vain->delayed);
	bpf_spin_unlock(&lock);
	carry_out(&d, cpu, prev, prev_slot);
}

static void fair_running(struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 used_ns = p->se.sum_exec_runtime, now = bpf_ktime_get_ns(), slice_ns;
	struct client *c = client_at(slot);

	bpf_spin_lock(&lock);
	/* It waits, or takes part elsewhere, if the kernel did not ask or a change raced. */
	stop_waiting(slot);
	if (c->delayed)
		take_out(slot, true);
	move_in(slot, cpu);
	ask(slot, p);
	begin_charging(c, now, used_ns);
	queue_of(cpu)->running = slot;
	queue_of(cpu)->gives_way = false;
	begin(slot, false); /* anew: others may have come, and who ran before waits now */
	slice_ns = time_left(slot);
	bpf_spin_unlock(&lock);
	task_set_slice(p, slice_ns);
}

static void fair_stopping(struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p);
	u64 used_ns = p->se.sum_exec_runtime;
	struct cpu_queue *q = queue_of(cpu);

	bpf_spin_lock(&lock);
	charge_used(slot, used_ns);
	q->running = 0;
	bpf_spin_unlock(&lock);
}

static void fair_tick(struct task_struct *p)
{
	u32 slot = slot_of(p), cpu = scx_bpf_task_cpu(p), pulled;
	u64 used_ns = p->se.sum_exec_runtime, now = bpf_ktime_get_ns();
	bool over;

	bpf_spin_lock(&lock);
	charge_used(slot, used_ns);
	over = queue_of(cpu)->gives_way || (queue_of(cpu)->nr > 1 && is_over(slot));
	pulled = balance(cpu, now);
	over = over || (pulled && preempts(cpu, pulled, false));
	bpf_spin_unlock(&lock);
	if (over)
		task_set_slice(p, 0);
}

static void fair_quiescent(struct task_struct *p, u64 deq_flags)
{
	u32 slot = slot_of(p);
	bool sleeps = deq_flags & DEQ_SLEEP;
	struct client *c = client_at(slot);

	bpf_spin_lock(&lock);
	stop_waiting(slot);
	if (sleeps && c->home)
		lies_down(slot);
	else
		take_out(slot, false);
	bpf_spin_unlock(&lock);
}

static void fair_set_weight(struct task_struct *p)
{
	u32 slot = slot_of(p), weight = weight_of(p);

	bpf_spin_lock(&lock);
	set_weight(slot, weight);
	bpf_spin_unlock(&lock);
}

/* It is not ours any more. */
static void fair_disable(struct task_struct *p)
{
	u32 slot = slot_of(p);

	bpf_spin_lock(&lock);
	take_out(slot, true);
	bpf_spin_unlock(&lock);
}

static s32 fair_init_task(struct task_struct *p)
{
	u32 slot = slot_take(p), weight = weight_of(p);

	if (!slot)
		return -ENOMEM;
	clients[slot] = (struct client){.weight = weight};
	return 0;
}

static void fair_exit_task(struct task_struct *p)
{
	fair_disable(p);
	forget_share_of(p);
	slot_give_back(slot_of(p));
}

#endif
