/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A scheduler that has nothing of its own: the tests of libraries are linked to it. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

SEC(".struct_ops.link") struct sched_ext_ops host_ops = {.name = "host"};
