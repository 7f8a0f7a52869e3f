/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time: service divided by share [VTRR §2.4 eq. 3], in integers.
 *
 * A value is whole nanoseconds, a 32-bit binary fraction of one, and what the
 * divisions left over. As the remainder is carried on, nothing is lost however
 * often a value advances: it is always floor(service × 2^32 / share), and the
 * same service and share give the same value, in one step or in a thousand.
 *
 * How exact are comparisons? Equal rationals have equal floors. Two different
 * ones, W_a/S_a and W_b/S_b with W in nanoseconds, lie at least 1/(S_a × S_b)
 * apart, so that for S_a × S_b < 2^32 (shares up to 65535) their floors differ
 * and order as they do. Where one of the S is a sum over all clients (VTRR), all
 * W are multiples of the quantum Q, and S_a × S_b < Q × 2^32 is enough: true for
 * more than 6000 clients of the largest share at the smallest quantum. When a
 * share changes, the remainder, less than 2^-32 ns, is dropped.
 *
 * A year of service at share 1 needs 55 of the 64 bits.
 */
#ifndef ROTA_VIRTUAL_TIME_BPF_H
#define ROTA_VIRTUAL_TIME_BPF_H

struct virt {
	u64 ns;
	u32 frac;
	u32 rem; /* below the share it was advanced with */
};

/* @v += @service_ns / @share; @share must be the one of the last call, or v->rem 0. */
__kinline void virt_advance(struct virt *v, u64 service_ns, u32 share)
{
	/* At most (share - 1) × 2^32 + share - 1: fits. */
	u64 low = ((service_ns % share) << 32) + v->rem;
	u64 frac = v->frac + low / share;

	v->ns += service_ns / share + (frac >> 32);
	v->frac = frac;
	v->rem = low % share;
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
__kinline struct virt virt_finish(const struct virt *done, u64 quantum, u32 share)
{
	struct virt finish = *done;

	virt_advance(&finish, quantum, share);
	return finish;
}

/*
 * What a client's virtual time is worth under another share: its finishing time
 * stays, so the time moves by the difference of the quanta; never below 0.
 */
__kinline void virt_reshare(struct virt *v, u64 quantum, u32 old_share, u32 new_share)
{
	struct virt finish = virt_finish(v, quantum, old_share);
	struct virt zero = {}, step = virt_finish(&zero, quantum, new_share);

	*v = zero;
	if (!virt_before(&step, &finish))
		return;
	v->ns = finish.ns - step.ns - (finish.frac < step.frac);
	v->frac = finish.frac - step.frac;
}

#endif
