// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leaving, and saying why: `scx_bpf_error()`, `scx_bpf_exit()`, `scx_bpf_dump()`.

use super::{allow, row};
use crate::exit::ExitKind;
use crate::system::System;
use rota_vm::format::bstr;
use rota_vm::table::Kfunc;

pub(super) fn rows() -> Vec<Kfunc<System>> {
    vec![
        row("scx_bpf_error_bstr", 3, allow::ANY, 100, |system, _, a| {
            let text = bstr(&system.guest.mem, a[0], a[1], a[2] & 0xffff_ffff)?;
            system.error(ExitKind::ErrorBpf, text);
            Ok(0)
        }),
        row("scx_bpf_exit_bstr", 4, allow::ANY, 100, |system, _, a| {
            let text = bstr(&system.guest.mem, a[1], a[2], a[3] & 0xffff_ffff)?;
            system.exit_with(ExitKind::UnregBpf, a[0] as i64, text);
            Ok(0)
        }),
        row("scx_bpf_dump_bstr", 3, allow::ANY, 100, |system, _, a| {
            let text = bstr(&system.guest.mem, a[0], a[1], a[2] & 0xffff_ffff)?;
            match &mut system.hosted.dump {
                Some(dump) => dump.scheduler_text(&text),
                None => system.error(
                    ExitKind::Error,
                    "scx_bpf_dump() must only be called from ops.dump() and friends".into(),
                ),
            }
            Ok(0)
        }),
    ]
}
