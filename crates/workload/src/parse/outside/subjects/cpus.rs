// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to a CPU.

use super::super::{time, Known};
use crate::error::WorkloadError;
use crate::events::{Action, ServerOf, ServerParameter};
use crate::json::{Member, Value};
use crate::parse::keys;
use crate::parse::members::Object;
use crate::parse::settings;

/// Keys of what can happen to it.
pub(super) const ACTIONS: &[&str] = &[
    "online",
    "max_frequency",
    "fair_server.runtime",
    "fair_server.period",
    "ext_server.runtime",
    "ext_server.period",
    "read",
];

pub(super) fn read(
    object: &Object<'_>,
    named: &Member,
    action: &Member,
    _: &Known<'_>,
) -> Result<Action, WorkloadError> {
    let scope = object.scope;
    let cpu = scope.integer(named, 0..=settings::MAX_CPU)? as u32;
    let server = |of, parameter| Ok(Action::Server(cpu, of, parameter, time(scope, action)?));
    match (action.key.as_str(), &action.node.value) {
        ("online", Value::Bool(online)) => Ok(Action::Cpu(cpu, *online)),
        ("online", _) => Err(scope.mismatch(action, "true or false")),
        ("fair_server.runtime", _) => server(ServerOf::Fair, ServerParameter::Runtime),
        ("fair_server.period", _) => server(ServerOf::Fair, ServerParameter::Period),
        ("ext_server.runtime", _) => server(ServerOf::Ext, ServerParameter::Runtime),
        ("ext_server.period", _) => server(ServerOf::Ext, ServerParameter::Period),
        ("read", _) => match scope.string(action)? {
            "total_bw" => Ok(Action::ReadBandwidth(cpu)),
            other => {
                let message = keys::unknown("number of a CPU", other, ["total_bw"].into_iter());
                Err(scope.error(action.node.at, message))
            }
        },
        _ => {
            // arch_scale_cpu_capacity(), scx_bpf_cpuperf_cap() with it, does not follow such a
            // limit either: it would show nowhere but in the speed of tasks
            let message = format!(
                "{:?} is not supported yet: simulated CPUs have one speed, and a limit that slows \
                 down no task would only mislead",
                action.key
            );
            Err(scope.error(action.at, message))
        }
    }
}
