// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machines in which a kernel plays the cases.

use super::{side_by_side, VersusArgs};
use anyhow::{Context, Result};
use rota_vm_tests::guest::Sources;
use rota_vm_tests::kernel::{Cache, Role};
use rota_vm_tests::versus::case::Case;
use rota_vm_tests::versus::guest::{self, Boot, Recordings};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// What kernels do with the cases, and what else they have to do, by machine.
pub(super) fn boot(
    machines: &[Vec<&Case>],
    workloads: &BTreeMap<String, String>,
    args: &VersusArgs,
    sources: &Sources,
) -> Result<Vec<Vec<Recordings>>> {
    let vmlinuz = match &args.vmlinuz {
        Some(path) => path.clone(),
        None => {
            let mut say = |text: &str| eprintln!("rota-vm: {text}");
            Cache::of_user()?.find(Role::Newest, &mut say)?.boots
        }
    };
    let mut files = Vec::new();
    rota_vm_tests::guest::initramfs(sources)?.write(&mut files)?;

    let boot = Boot {
        vmlinuz: &vmlinuz,
        files: &files,
        shift: args.shift,
        within: Duration::from_secs(args.within),
        traced: args.traces,
    };
    side_by_side(machines, args.side_by_side, |at, cases| {
        let dir = dir_of(args, at);
        guest::play(cases, workloads, boot, &dir).with_context(|| dir.display().to_string())
    })
}

/// What the machines recorded when the same cases were chosen last.
pub(super) fn recorded(
    machines: &[Vec<&Case>],
    workloads: &BTreeMap<String, String>,
    args: &VersusArgs,
) -> Result<Vec<Vec<Recordings>>> {
    side_by_side(machines, 1, |at, cases| guest::recorded(cases, workloads, &dir_of(args, at)))
}

/// Where the machine with this number keeps its console and records.
fn dir_of(args: &VersusArgs, at: usize) -> PathBuf {
    args.dir.join(at.to_string())
}

/// Cases with the same CPUs, so many that a machine is up for about this long.
pub(super) fn machines(cases: &[Case], seconds: u64) -> Vec<Vec<&Case>> {
    let length = |case: &Case| case.duration_ns * u64::from(case.timings);
    let mut machines: Vec<Vec<&Case>> = Vec::new();
    let mut sorted: Vec<&Case> = cases.iter().collect();
    sorted.sort_by_key(|case| (std::cmp::Reverse(case.cpus), &case.topology));
    for case in sorted {
        let total = |machine: &Vec<&Case>| machine.iter().map(|c| length(c)).sum::<u64>();
        match machines.last_mut() {
            Some(machine)
                if machine[0].machine() == case.machine()
                    && total(machine) + length(case) <= seconds * 1_000_000_000 =>
            {
                machine.push(case)
            }
            _ => machines.push(vec![case]),
        }
    }
    machines
}
