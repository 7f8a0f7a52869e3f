/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy that cannot start: ops.init() returns -ENOMEM. No task ever sees it.
 *
 *   kind 1024, "runtime error", "ops.init() failed (-12)"
 */
#include "rota.bpf.h"
#include "exit.bpf.h"

s32 BPF_STRUCT_OPS_SLEEPABLE(bad_init_init)
{
	return -ENOMEM;
}

SCX_OPS_DEFINE(bad_init_ops)
help_text("Cannot start: init returns -ENOMEM") = {
	.init = (void *)bad_init_init,
	.exit = (void *)record_exit,
	.name = "bad_init",
};
