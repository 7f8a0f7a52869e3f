/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduler without callbacks: the core's own first come, first served. What a
 * decision costs with it is what the bench itself costs.
 */
#include "rota.bpf.h"

SCX_OPS_DEFINE(none_ops) = {
	.name = "none",
};
