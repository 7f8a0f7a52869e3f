/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time: service divided by share [VTRR §2.4 eq. 3], in integers.
 *
 * A value is whole nanoseconds, a 58-bit binary fraction of one, and what the
 * divisions left over. As the remainder is carried on, nothing is lost however
 * often a value advances: it is always floor(service × 2^58 / share), and the
 * same service and share give the same value, in one step or in a thousand.
 *
 * How exact are comparisons? Equal rationals have equal floors. Two different
 * ones, W_a/S_a and W_b/S_b with W in nanoseconds, lie at least 1/(S_a × S_b)
 * apart, so that for S_a × S_b <= 2^58 their floors differ and order as they do.
 * A share is up to 10^6, below 2^20; a sum of 32767 shares (VTRR) is below 2^35.
 * When a share changes, the remainder, less than 2^-58 ns, is dropped.
 *
 * A year of service at share 1 needs 55 of the 64 bits.
 */
#ifndef ROTA_VIRTUAL_TIME_BPF_H
#define ROTA_VIRTUAL_TIME_BPF_H

/* The fraction comes from two divisions: a remainder below 2^35 has room for 29 bits more. */
#define VIRT_STEP_BITS 29
#define VIRT_FRAC_BITS (2 * VIRT_STEP_BITS)
#define VIRT_FRAC_MASK ((1ull << VIRT_FRAC_BITS) - 1)

struct virt {
	u64 ns;
	u64 frac;
	u64 rem; /* below the share it was advanced with */
};

/* @v += what three divisions by @share gave. */
__kinline void virt_add(struct virt *v, u64 ns, u64 frac, u64 rem, u64 share)
{
	frac += v->frac;
	rem += v->rem;
	if (rem >= share) {
		rem -= share;
		frac++;
	}
	v->ns += ns + (frac >> VIRT_FRAC_BITS);
	v->frac = frac & VIRT_FRAC_MASK;
	v->rem = rem;
}

/* @v += @service_ns / @share, below 2^35: that of the last call, or v->rem is 0. */
__kinline void virt_advance(struct virt *v, u64 service_ns, u64 share)
{
	u64 ns = service_ns / share;
	u64 high = (service_ns - ns * share) << VIRT_STEP_BITS;
	u64 upper = high / share;
	u64 low = (high - upper * share) << VIRT_STEP_BITS;
	u64 lower = low / share;

	virt_add(v, ns, (upper << VIRT_STEP_BITS) + lower, low - lower * share, share);
}

/* The step of virtual time that a service makes, for those that make it again and again. */
struct virt_step {
	struct virt by;
	u64 service_ns; /* 0: none is known */
};

__kinline void virt_step_of(struct virt_step *step, u64 service_ns, u64 share)
{
	step->by = (struct virt){};
	step->service_ns = service_ns;
	virt_advance(&step->by, service_ns, share);
}

/* As virt_advance(), without a division where the step is that of @service_ns, which is not 0. */
__kinline void virt_advance_by(struct virt *v, const struct virt_step *step, u64 service_ns,
			       u64 share)
{
	if (service_ns == step->service_ns)
		virt_add(v, step->by.ns, step->by.frac, step->by.rem, share);
	else
		virt_advance(v, service_ns, share);
}

__kinline bool virt_before(const struct virt *a, const struct virt *b)
{
	return a->ns < b->ns || (a->ns == b->ns && a->frac < b->frac);
}

__kinline bool virt_equal(const struct virt *a, const struct virt *b)
{
	return a->ns == b->ns && a->frac == b->frac;
}

/* The later of both, without a remainder if that is @b. */
__kinline void virt_at_least(struct virt *a, const struct virt *b)
{
	if (!virt_before(a, b))
		return;
	a->ns = b->ns;
	a->frac = b->frac;
	a->rem = 0;
}

/* A client's virtual finishing time: where it will be after a quantum. */
__kinline struct virt virt_finish(const struct virt *done, u64 quantum, u64 share)
{
	struct virt finish = *done;

	virt_advance(&finish, quantum, share);
	return finish;
}

/*
 * What a client's virtual time is worth under another share: its finishing time
 * stays, so the time moves by the difference of the quanta; never below 0.
 */
__kinline void virt_reshare(struct virt *v, u64 quantum, u64 old_share, u64 new_share)
{
	struct virt finish = virt_finish(v, quantum, old_share);
	struct virt zero = {}, step = virt_finish(&zero, quantum, new_share);

	*v = zero;
	if (!virt_before(&step, &finish))
		return;
	v->ns = finish.ns - step.ns - (finish.frac < step.frac);
	v->frac = (finish.frac - step.frac) & VIRT_FRAC_MASK;
}

#endif
