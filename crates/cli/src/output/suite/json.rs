// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON of `rota test`.

use crate::suite::Checked;
use serde::Serialize;

/// One object.
#[derive(Serialize)]
pub(crate) struct Json<'a> {
    schema: &'static str,
    rota: &'static str,
    suite: &'a str,
    failed: usize,
    expectations: Vec<Expectation<'a>>,
}

#[derive(Serialize)]
struct Expectation<'a> {
    test: &'a str,
    line: usize,
    workload: &'a str,
    machine: Option<&'a str>,
    cpus: u32,
    policy: &'a str,
    condition: &'a str,
    failed: bool,
    seen: &'a str,
    command: &'a str,
    kept: &'a [String],
}

impl<'a> Json<'a> {
    pub(crate) fn new(suite: &'a str, all: &'a [Checked]) -> Self {
        let one = |checked: &'a Checked| Expectation {
            test: &checked.test,
            line: checked.line,
            workload: &checked.workload,
            machine: checked.machine.as_deref(),
            cpus: checked.cpus,
            policy: &checked.policy,
            condition: &checked.condition,
            failed: checked.failed,
            seen: &checked.seen,
            command: &checked.command,
            kept: &checked.kept,
        };
        Json {
            schema: "rota.test/1",
            rota: env!("CARGO_PKG_VERSION"),
            suite,
            failed: all.iter().filter(|checked| checked.failed).count(),
            expectations: all.iter().map(one).collect(),
        }
    }
}
