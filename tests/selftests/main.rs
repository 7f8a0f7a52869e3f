// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's own tests of sched_ext (`tools/testing/selftests/sched_ext` of Linux 7.2): their
//! programs, unmodified, and what their drivers check, in the simulated machine.
//! `third-party/fetch` brings and compiles them.
//!
//! Each test runs on 1, 2, 4 and 8 CPUs where its driver allows it, with and without shuffled ties.

mod cases;
mod host;
mod list;

use anyhow::Result;
use host::Host;
use list::{Test, Verdict, TESTS};
use rota_e2e::command::root;

/// What went wrong on any machine.
fn failures(test: &Test) -> Vec<String> {
    let machines = test.cpus.iter().flat_map(|&cpus| {
        let nodes = if cpus >= 4 { vec![cpus, cpus / 2] } else { vec![cpus] };
        nodes
            .into_iter()
            .flat_map(move |node| [false, true].map(|shuffled| Host { cpus, node, shuffled }))
    });
    machines.filter_map(|host| Some(format!("{host}: {:#}", (test.run)(host).err()?))).collect()
}

fn check(name: &str) {
    let test = TESTS.iter().find(|test| test.name == name).expect("it is listed");
    let failures = failures(test);
    assert!(failures.is_empty(), "{name}:\n{}", failures.join("\n"));
}

macro_rules! tests {
    ($($name:ident)*) => { $(#[test] fn $name() { check(stringify!($name)); })* };
}

tests! {
    allowed_cpus create_dsq cyclic_kick_wait ddsp_bogus_dsq_fail ddsp_vtimelocal_fail dequeue
    dsp_local_on enq_last_no_enq_fails enq_select_cpu exit hotplug init_enable_count maximal
    maybe_null minimal nohz_tick non_scx_kfunc_deny numa peek_dsq prog_run reload_loop rt_stall
    select_cpu_dfl select_cpu_dfl_nodispatch select_cpu_dispatch select_cpu_dispatch_bad_dsq
    select_cpu_dispatch_dbl_dsp select_cpu_vtime total_bw
}

#[test]
fn the_list_has_every_test_of_the_kernel() -> Result<()> {
    let mut of_kernel = host::listed_by_the_kernel()?;
    of_kernel.sort_unstable();
    let mut listed: Vec<_> = TESTS.iter().map(|test| test.name).collect();
    listed.sort_unstable();
    assert_eq!(listed, of_kernel);
    Ok(())
}

/// The table of the documentation: name, number of CPUs, verdict; and the verdict on all of them.
#[test]
fn the_documentation_says_what_this_suite_says() -> Result<()> {
    let text = std::fs::read_to_string(root().join("docs/selftests.md"))?;
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<_> = TESTS.iter().map(Test::row).collect();
    assert_eq!(rows, expected, "expected:\n{}", expected.join("\n"));
    let passes = TESTS.iter().filter(|test| matches!(test.verdict, Verdict::Passes)).count();
    let all = TESTS.len();
    let verdict = format!(
        "passes {passes} of the {all} sched_ext tests of Linux 7.2; the other does not apply."
    );
    assert_eq!(passes + 1, all);
    assert!(text.contains(&verdict), "expected: {verdict}");
    Ok(())
}
