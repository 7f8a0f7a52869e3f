/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timers, by their numbers in the kernel's ABI.
 */
#ifndef ROTA_TIMERS_BPF_H
#define ROTA_TIMERS_BPF_H

#include "kernel.bpf.h"

#define CLOCK_MONOTONIC 1 /* ABI */

static long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static long (*const bpf_timer_start)(struct bpf_timer *timer, u64 ns, u64 flags) = (void *)171;

#endif
