// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers with their own programs, unmodified, as `tests/third-party/fetch-programs` builds them.

use super::case::Case;
use anyhow::{Context, Result};
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_program::{Launch, Program, Report};
use rota_sim::{Loaded, Policy, Simulation, UserProgram};
use rota_workload::Workload;
use std::ffi::OsString;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Those that cases can name.
pub const NAMES: [&str; 4] = ["scx_simple", "scx_flatcg", "scx_central", "scx_userland"];

/// In real time, from one system call to the next, on a busy computer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Where a program is on this computer.
pub(super) fn find(name: &str) -> Result<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cache = std::env::var_os("ROTA_CACHE").map(PathBuf::from);
    let folder = cache.unwrap_or_else(|| repository.join(".cache")).join("programs");
    let path = folder.join(name);
    let built = "tests/third-party/fetch-programs builds it";
    path.canonicalize().with_context(|| format!("{}: {built}", path.display()))
}

/// Where it is in a guest.
pub(super) fn in_guest(name: &str) -> String {
    format!("programs/{name}")
}

/// A machine with the program of a case, each system call of which takes so long, and what becomes
/// of it.
pub(super) fn load(
    case: &Case,
    workload: &Arc<Workload>,
    config: Config,
    call_ns: u64,
) -> Result<(Loaded, Report)> {
    let kernel = Kernel::default();
    let words = case.set.iter().map(OsString::from);
    let mut program = Program::start(Launch {
        command: iter::once(find(&case.policy)?.into_os_string()).chain(words).collect(),
        topology: config.topology.clone(),
        hardware: None,
        kernel: kernel.clone(),
        groups: workload.groups.clone(),
        call_ns,
        seed: config.seed,
        log: None,
        timeout: TIMEOUT,
    })?;
    let policy = Policy::of_image(program.set_up()?, &kernel);
    let report = program.report();
    let program = UserProgram { name: case.policy.clone(), half: Box::new(program) };
    Ok((Simulation::new(&policy, workload, config).load_by(program)?, report))
}
