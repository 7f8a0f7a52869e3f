// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that leave, or are ejected for what they do.

use super::BACKGROUND;
use crate::host::Host;
use anyhow::{ensure, Result};
use rota_machine::exit::ExitKind;

fn ejected(host: Host, object: &str) -> Result<()> {
    host.run(&host.policy(object)?, BACKGROUND, 1)?.left_by(ExitKind::Error)
}

pub(crate) fn ddsp_bogus_dsq_fail(host: Host) -> Result<()> {
    ejected(host, "ddsp_bogus_dsq_fail")
}

pub(crate) fn ddsp_vtimelocal_fail(host: Host) -> Result<()> {
    ejected(host, "ddsp_vtimelocal_fail")
}

pub(crate) fn select_cpu_dispatch_bad_dsq(host: Host) -> Result<()> {
    ejected(host, "select_cpu_dispatch_bad_dsq")
}

pub(crate) fn select_cpu_dispatch_dbl_dsp(host: Host) -> Result<()> {
    ejected(host, "select_cpu_dispatch_dbl_dsp")
}

/// `SCX_OPS_ENQ_LAST` without ops.enqueue(): ops.exit() is called all the same.
pub(crate) fn enq_last_no_enq_fails(host: Host) -> Result<()> {
    let mut ended = host.run(&host.policy("enq_last_no_enq_fails")?, BACKGROUND, 1)?;
    ended.left_by(ExitKind::Error)?;
    ensure!(ended.number("exit_kind")? != 0, "ops.exit() was not called");
    Ok(())
}

/// `scx_bpf_exit()` in six callbacks: the code and the message arrive.
pub(crate) fn exit(host: Host) -> Result<()> {
    // the driver leaves ops.select_cpu() out where there is one CPU: it is not called there
    let first = if host.cpus == 1 { 1 } else { 0 };
    for point in first..6 {
        let mut policy = host.policy("exit")?;
        policy.set("exit_point", &point.to_string())?;
        let mut ended = host.run(&policy, BACKGROUND, 1)?;
        ended.left_by(ExitKind::UnregBpf)?;
        ensure!(ended.number("uei.exit_code")? == point, "exit code at point {point}");
        let message = ended.loaded.global("uei.msg")?.text;
        ensure!(message == point.to_string(), "message '{message}' at point {point}");
    }
    Ok(())
}
