// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that only have to be loaded and attached, or refused.

use super::BACKGROUND;
use crate::host::Host;
use anyhow::{ensure, Result};

pub(crate) fn minimal(host: Host) -> Result<()> {
    host.run(&host.policy("minimal")?, BACKGROUND, 1)?.stayed()
}

pub(crate) fn maximal(host: Host) -> Result<()> {
    host.run(&host.policy("maximal")?, BACKGROUND, 1)?.stayed()
}

/// A thousand queues of its own, and one for each task.
pub(crate) fn create_dsq(host: Host) -> Result<()> {
    host.run(&host.policy("create_dsq")?, BACKGROUND, 1)?.stayed()
}

/// A task argument that may be NULL: a scheduler that does not look is refused when it is loaded.
pub(crate) fn maybe_null(host: Host) -> Result<()> {
    host.load(&host.policy("maybe_null")?)?;
    for name in ["maybe_null_fail_dsp", "maybe_null_fail_yld"] {
        ensure!(host.load(&host.policy(name)?).is_err(), "{name} was loaded");
    }
    Ok(())
}

/// A program of TCP that calls a function of sched_ext: refused for that call.
pub(crate) fn non_scx_kfunc_deny(host: Host) -> Result<()> {
    let refused = host.policy("non_scx_kfunc_deny").and_then(|policy| host.load(&policy));
    let Err(error) = refused else { anyhow::bail!("a program of TCP was loaded") };
    let text = format!("{error:#}");
    ensure!(text.contains("scx_bpf_kick_cpu") && text.contains("tcp_ca_ssthresh"), "{text}");
    Ok(())
}
