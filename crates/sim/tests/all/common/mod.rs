// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small schedulers in C, compiled and run for a while.

use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_sim::{Policy, SimError, Simulation, Watchers};
use std::sync::Arc;

/// The policy, unless there is no compiler here.
pub(crate) fn compiled(source: &str) -> Option<Policy> {
    let object = object_of(source)?;
    Some(Policy::link("places", &object, &Kernel::default()).expect("links"))
}

/// The object of a source, unless there is no compiler here.
pub(crate) fn object_of(source: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("places.bpf.c");
    std::fs::write(&path, source).expect("written");
    match rota_catalog::compile(&path, &[], &[]) {
        Ok(object) => Some(object),
        Err(rota_catalog::CompileError::NoCompiler { reason, .. }) => {
            eprintln!("skipped: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// How a short run ends, or why it cannot begin.
pub(crate) fn run(policy: &Policy) -> Result<String, SimError> {
    let load = r#"{"tasks": {"t": {"instance": 3, "run": 1000, "yield": 0, "sleep": 1000}}}"#;
    let load = Arc::new(rota_workload::parse("load.json", load).expect("legal"));
    let config = Config::new(Topology::flat(2).expect("CPUs"), 100_000_000);
    let measured = Simulation::new(policy, &load, config).measure(Watchers::default())?;
    Ok(measured.outcome.exit.to_string())
}

/// A scheduler with some members and functions.
pub(crate) fn scheduler(form: &str, functions: &str, members: &str) -> String {
    format!(
        "#include \"rota.bpf.h\"\n{functions}\n\
         SEC(\".struct_ops.link\") struct {form} odd_ops = {{ {members} .name = \"odd\" }};\n"
    )
}
