// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota-vm encoders`: a real encoder in a kernel, under the schedulers of the VTRR paper.

use anyhow::{Context, Result};
use rota_vm::encoders::{jobs, numbers, show};
use rota_vm::guest::{self, Guest, Sources};
use rota_vm::kernel::{Cache, Role};
use rota_vm::run::{self, Repeated, Setup};
use rota_vm::{page, verdict};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Runs five copies of lame on one CPU of a machine, and counts their frames.
#[derive(Debug, clap::Args)]
pub(crate) struct EncodersArgs {
    /// Put the table into docs/reproduce/vtrr.md, and pictures into docs/images
    #[arg(long)]
    write: bool,

    /// Run the machine so often; two runs or more are compared
    #[arg(long, default_value_t = 2)]
    runs: usize,

    /// Host seconds after which the machine is stopped
    #[arg(long, default_value_t = 900)]
    within: u64,

    /// The `rota` command [default: next to this program]
    #[arg(long)]
    pub(crate) rota: Option<PathBuf>,

    /// Where the machine keeps its console and records
    #[arg(long, default_value = ".cache/vm/encoders")]
    dir: PathBuf,
}

/// Whether all is as the paper says.
pub(crate) fn run(args: &EncodersArgs, sources: &Sources) -> Result<bool> {
    let kernel = Cache::of_user()?.find(Role::Newest, &mut crate::say)?;
    let name = kernel.name.clone();
    let mut files = guest::initramfs(sources)?;
    jobs::add_encoder(&mut files)?;
    let boot = jobs::boot();
    let setup = Setup {
        kernels: &BTreeMap::from([(Role::Newest, kernel)]),
        files: &BTreeMap::from([(Guest::Bare, files)]),
        dir: &args.dir,
        side_by_side: 2,
        runs: args.runs.max(1),
        repeated: Repeated::All,
        within: Duration::from_secs(args.within),
    };
    let outcomes = run::all(std::slice::from_ref(&boot), &setup, &mut crate::print)?;
    if outcomes.iter().any(|outcome| !outcome.problems.is_empty()) {
        return Ok(false);
    }
    let records = args.dir.join(boot.name()).join("1/records");
    let records = fs::read_to_string(&records).with_context(|| records.display().to_string())?;
    let frames = jobs::frames(&verdict::parse(&records).map_err(anyhow::Error::msg)?)?;
    let text = show::markdown(&name, &encoder()?, &frames);
    println!("{text}");
    if args.write {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        page::write(&docs.join("reproduce/vtrr.md"), "rota-vm encoders --write", &text)?;
        for (entry, frames) in jobs::ENTRIES.iter().zip(&frames) {
            let path = docs.join(format!("images/encoders-{}.svg", entry.policy));
            fs::write(&path, show::picture(entry, frames))
                .with_context(|| path.display().to_string())?;
        }
    }
    let problems = numbers::problems(&frames);
    problems.iter().for_each(|problem| eprintln!("rota-vm: encoders: {problem}"));
    Ok(problems.is_empty())
}

/// The encoder and its version, as it says it.
fn encoder() -> Result<String> {
    let output = Command::new("lame").arg("--version").output().context("cannot start lame")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = said.split_whitespace().skip_while(|word| *word != "version").nth(1);
    Ok(format!("lame {}", version.unwrap_or("of an unknown version")))
}
