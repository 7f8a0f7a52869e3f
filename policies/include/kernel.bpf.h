/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel types, and the section and attribute macros of BPF programs: for programs of every kind.
 */
#ifndef ROTA_KERNEL_BPF_H
#define ROTA_KERNEL_BPF_H

/* Functions are declared by those who call them: weakly where a kernel lacks them. */
#define BPF_NO_KFUNC_PROTOTYPES

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wmissing-declarations"
#include "vmlinux.h"
#pragma clang diagnostic pop

#define SEC(name) __attribute__((section(name), used))
#define __weak	  __attribute__((weak))
#define __ksym	  __attribute__((section(".ksyms")))
#define __kinline static inline __attribute__((always_inline))
#define NULL	  ((void *)0)

/* Map definitions: what BTF says about these members is what the loader creates. */
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

#endif
