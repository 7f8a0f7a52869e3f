// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every test of the kernel's, and what it gives here: the one place that says so.

use crate::cases::{exits, load, outside, queues, select, waits};
use crate::host::Host;
use anyhow::Result;

/// What a test gives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Passes,
    /// There is nothing to run, and why.
    NotApplicable(&'static str),
}

/// A test of the kernel's.
#[derive(Clone, Copy)]
pub(crate) struct Test {
    pub(crate) name: &'static str,
    /// Numbers of CPUs of the machines.
    pub(crate) cpus: &'static [u32],
    pub(crate) verdict: Verdict,
    pub(crate) run: fn(Host) -> Result<()>,
}

impl Test {
    /// Its row in the documentation.
    pub(crate) fn row(&self) -> String {
        let cpus: Vec<_> = self.cpus.iter().map(u32::to_string).collect();
        let cpus = if cpus.is_empty() { "–".into() } else { cpus.join(", ") };
        let verdict = match self.verdict {
            Verdict::Passes => "passes".into(),
            Verdict::NotApplicable(why) => format!("not applicable: {why}"),
        };
        format!("| `{}` | {cpus} | {verdict} |", self.name)
    }
}

const ALL: &[u32] = &[1, 2, 4, 8];
/// On one CPU the kernel does not call ops.select_cpu(), and the drivers wait for that.
const FROM_TWO: &[u32] = &[2, 4, 8];
const FROM_THREE: &[u32] = &[4, 8];

const fn passes(name: &'static str, cpus: &'static [u32], run: fn(Host) -> Result<()>) -> Test {
    Test { name, cpus, verdict: Verdict::Passes, run }
}

pub(crate) const TESTS: &[Test] = &[
    passes("allowed_cpus", ALL, select::allowed_cpus),
    passes("create_dsq", ALL, load::create_dsq),
    passes("cyclic_kick_wait", FROM_THREE, waits::cyclic_kick_wait),
    passes("ddsp_bogus_dsq_fail", FROM_TWO, exits::ddsp_bogus_dsq_fail),
    passes("ddsp_vtimelocal_fail", FROM_TWO, exits::ddsp_vtimelocal_fail),
    passes("dequeue", FROM_TWO, queues::dequeue),
    passes("dsp_local_on", ALL, queues::dsp_local_on),
    passes("enq_last_no_enq_fails", ALL, exits::enq_last_no_enq_fails),
    passes("enq_select_cpu", ALL, select::enq_select_cpu),
    passes("exit", ALL, exits::exit),
    passes("hotplug", FROM_TWO, outside::hotplug),
    passes("init_enable_count", ALL, outside::init_enable_count),
    passes("maximal", ALL, load::maximal),
    passes("maybe_null", ALL, load::maybe_null),
    passes("minimal", ALL, load::minimal),
    passes("nohz_tick", FROM_TWO, waits::nohz_tick),
    passes("non_scx_kfunc_deny", ALL, load::non_scx_kfunc_deny),
    passes("numa", ALL, select::numa),
    passes("peek_dsq", ALL, queues::peek_dsq),
    passes("prog_run", ALL, outside::prog_run),
    passes("reload_loop", ALL, outside::reload_loop),
    passes("rt_stall", ALL, waits::rt_stall),
    passes("select_cpu_dfl", ALL, select::select_cpu_dfl),
    passes("select_cpu_dfl_nodispatch", FROM_TWO, select::select_cpu_dfl_nodispatch),
    passes("select_cpu_dispatch", ALL, select::select_cpu_dispatch),
    passes("select_cpu_dispatch_bad_dsq", FROM_TWO, exits::select_cpu_dispatch_bad_dsq),
    passes("select_cpu_dispatch_dbl_dsp", FROM_TWO, exits::select_cpu_dispatch_dbl_dsp),
    passes("select_cpu_vtime", FROM_TWO, select::select_cpu_vtime),
    Test {
        name: "test_example",
        cpus: &[],
        verdict: Verdict::NotApplicable("no scheduler: it tests the kernel's own test runner"),
        run: |_| Ok(()),
    },
    passes("total_bw", ALL, waits::total_bw),
];
