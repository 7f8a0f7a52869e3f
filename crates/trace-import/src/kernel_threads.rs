// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel threads, told by their names where a trace says nothing better.

/// Names that kernel threads have alone, and begins of such names.
const NAMES: &[&str] = &["kthreadd", "kswapd0", "khugepaged", "kcompactd0", "ksmd", "khungtaskd"];
const BEGINS: &[&str] = &[
    "kworker/",
    "ksoftirqd/",
    "migration/",
    "cpuhp/",
    "rcu_",
    "rcuc/",
    "rcub/",
    "rcuog/",
    "rcuop/",
    "idle_inject/",
    "irq/",
    "jbd2/",
    "kswapd",
    "kcompactd",
    "kthrotld",
    "sched_ext_",
    "scx_enable_h",
];

/// Whether a task of this name is the kernel's.
pub(crate) fn is_name(name: &str) -> bool {
    NAMES.contains(&name) || BEGINS.iter().any(|begin| name.starts_with(begin))
}
