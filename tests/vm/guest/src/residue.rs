// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler could leave behind in the kernel.

use crate::machine::{ops, state, wait_until};
use anyhow::{bail, Context, Result};
use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use serde::Serialize;
use std::fs;
use std::time::Duration;

/// The kernel frees programs and maps some time after their last user is gone.
const FREED_WITHIN: Duration = Duration::from_secs(5);

/// State of sched_ext, and how many BPF objects there are.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Residue {
    state: String,
    ops: String,
    programs: usize,
    maps: usize,
    links: usize,
}

impl Residue {
    pub(crate) fn now() -> Residue {
        Residue {
            state: state(),
            ops: ops(),
            programs: ProgInfoIter::with_query_opts(ProgInfoQueryOptions::default()).count(),
            maps: MapInfoIter::default().count(),
            links: LinkInfoIter::default().count(),
        }
    }

    /// Waits until everything is as it was.
    pub(crate) fn wait_for_return(&self) -> Result<()> {
        wait_until("all as before", FREED_WITHIN, || Ok(Residue::now() == *self))
            .with_context(|| format!("was {self:?}, is {:?}", Residue::now()))
    }
}

/// Kernel memory that cannot be reclaimed, in kB: slabs, per-CPU memory, and what vmalloc gave.
pub(crate) fn kernel_memory_kb() -> Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let mut sum = 0;
    for key in ["SUnreclaim:", "Percpu:", "VmallocUsed:"] {
        let Some(line) = text.lines().find(|line| line.starts_with(key)) else {
            bail!("/proc/meminfo has no '{key}'");
        };
        let number = line[key.len()..].trim().trim_end_matches(" kB");
        sum += number.parse::<u64>().with_context(|| line.to_owned())?;
    }
    Ok(sum)
}
