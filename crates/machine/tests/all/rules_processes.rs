// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads and the process that they belong to.

use crate::common::{ideal, shared_fifo, Tape};
use rota_machine::run::Machine;

#[test]
fn a_thread_that_is_forked_before_its_leader_starts_is_an_error() {
    let load = r#"{"tasks": {
        "forker": {"loop": 1, "run": 1000, "fork": "worker"},
        "worker": {"instance": 0, "thread_of": "leader", "loop": 1, "run": 1000},
        "leader": {"delay": 5000, "loop": 1, "run": 1000}}}"#;
    let workload = rota_workload::parse("w.json", load).unwrap().into();
    let btf = rota_object::btf::reference();
    let mut machine = Machine::new(ideal(1, 10_000_000), workload, &btf).unwrap();
    let error = machine.run(&mut shared_fifo(), &mut Tape::default()).unwrap_err().to_string();
    let expected = r#"task "worker-2-0000": is forked as a thread of "leader-1""#;
    assert!(error.starts_with(expected), "{error}");
    assert!(error.ends_with("which has not started"), "{error}");
}
