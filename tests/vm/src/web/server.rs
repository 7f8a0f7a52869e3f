// SPDX-License-Identifier: MIT OR Apache-2.0
//! Apache in a machine: its files, and the job of its clients.

use crate::guest::Guest;
use crate::initramfs::Initramfs;
use crate::kernel::Role;
use crate::plan::Boot;
use crate::qemu::Pace;
use anyhow::{ensure, Context, Result};
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rota_guest::job::Job;
use rota_guest::span::Span;
use rota_guest::step::{Command, Step};
use rota_guest::visits::Visits;
use std::path::Path;

/// The server.
pub const PROGRAM: &str = "/usr/sbin/apache2";
const MODULES: [&str; 3] = ["mod_mpm_prefork.so", "mod_authz_core.so", "mod_cgi.so"];
const CONTENT_BYTES: usize = 64 << 10;
/// Of the guest's time: nobody waits for so long.
const WITHIN_MS: u64 = 180_000;

/// Puts the server and its pages into the guest. `tests` is this crate's folder.
pub fn add(files: &mut Initramfs, tests: &Path) -> Result<()> {
    ensure!(Path::new(PROGRAM).is_file(), "there is no '{PROGRAM}' (Debian package apache2-bin)");
    files.program(Path::new(PROGRAM), PROGRAM)?;
    for module in MODULES {
        let path = format!("/usr/lib/apache2/modules/{module}");
        files.program(Path::new(&path), &path)?;
    }
    files.file(&tests.join("web/apache2.conf"), "etc/apache2.conf");
    files.executable(&tests.join("web/page"), "www/cgi-bin/page");
    let mut content = vec![0; CONTENT_BYTES];
    ChaCha8Rng::seed_from_u64(1).fill_bytes(&mut content);
    files.text(content, "www/content");
    Ok(())
}

/// Puts there what clients do.
pub fn add_visits(files: &mut Initramfs, name: &str, visits: &Visits) -> Result<()> {
    let path = format!("visits/{name}.json");
    files.text(serde_json::to_vec(visits).with_context(|| path.clone())?, &path);
    Ok(())
}

/// The server has a CPU of its own, and its clients have the other.
pub fn boot(part: usize, jobs: Vec<Job>) -> Boot {
    let (kernel, guest, pace) = (Role::Newest, Guest::Bare, Pace::Counted);
    Boot { kernel, cpus: 2, guest, pace, part, jobs }
}

/// Path of a page of so many bytes that a program makes, and how it begins.
pub fn made(bytes: u64) -> (String, String) {
    (format!("/cgi-bin/page?bytes={bytes}"), format!("{bytes} bytes, "))
}

/// Under a policy, or the kernel's own scheduler: these steps, and the visits of that name.
pub fn job(
    name: String,
    (policy, set): (Option<&str>, Vec<String>),
    steps: impl IntoIterator<Item = Step>,
    visits: &str,
) -> Job {
    job_of(name, (policy, set), steps, visit(visits))
}

/// The same with a step that measures.
pub fn job_of(
    name: String,
    (policy, set): (Option<&str>, Vec<String>),
    steps: impl IntoIterator<Item = Step>,
    measures: Step,
) -> Job {
    let load = policy.map(|_| Step::Load { policy: None, with: Vec::new(), wait: true });
    let steps = load.into_iter().chain(steps).chain([measures]).collect();
    Job { name, policy: policy.map(str::to_owned), set, steps }
}

fn visit(name: &str) -> Step {
    let visit = ["/bin/rota-guest", "visit", &format!("/visits/{name}.json")];
    Step::Run(Command::measuring(visit, Span::from_ms(WITHIN_MS)))
}
