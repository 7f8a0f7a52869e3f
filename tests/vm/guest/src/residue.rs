// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler could leave behind in the kernel.

use crate::sysfs::{ops, state, wait_until};
use anyhow::{bail, Context, Result};
use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// The kernel frees programs and maps some time after their last user is gone.
const FREED_WITHIN: Duration = Duration::from_secs(5);

/// State of sched_ext, and which BPF objects there are, by their ids.
#[derive(Debug)]
pub(crate) struct Residue {
    state: String,
    ops: String,
    programs: BTreeSet<u32>,
    maps: BTreeSet<u32>,
    links: BTreeSet<u32>,
}

impl Residue {
    pub(crate) fn now() -> Residue {
        let programs = ProgInfoIter::with_query_opts(ProgInfoQueryOptions::default());
        Residue {
            state: state(),
            ops: ops(),
            programs: programs.map(|program| program.id).collect(),
            maps: MapInfoIter::default().map(|map| map.id).collect(),
            links: LinkInfoIter::default().map(|link| link.id).collect(),
        }
    }

    /// Waits until sched_ext is as it was, and no object is there that was not. What was there may
    /// have been freed meanwhile.
    pub(crate) fn wait_for_return(&self) -> Result<()> {
        wait_until("all as before", FREED_WITHIN, || Ok(self.has_all_of(&Residue::now())))
            .with_context(|| format!("was {self:?}, is {:?}", Residue::now()))
    }

    fn has_all_of(&self, later: &Residue) -> bool {
        (&self.state, &self.ops) == (&later.state, &later.ops)
            && later.programs.is_subset(&self.programs)
            && later.maps.is_subset(&self.maps)
            && later.links.is_subset(&self.links)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn with_programs<const N: usize>(ids: [u32; N]) -> Residue {
        Residue {
            state: "disabled".into(),
            ops: String::new(),
            programs: ids.into(),
            maps: BTreeSet::new(),
            links: BTreeSet::new(),
        }
    }

    #[test]
    fn what_is_freed_later_is_no_residue_and_what_is_new_is() {
        let before = with_programs([3, 4]);
        assert!(before.has_all_of(&with_programs([])));
        assert!(before.has_all_of(&with_programs([4])));
        assert!(!before.has_all_of(&with_programs([5])), "as many or fewer, but another");
        let enabled = Residue { state: "enabled".into(), ..with_programs([3, 4]) };
        assert!(!before.has_all_of(&enabled));
    }
}
