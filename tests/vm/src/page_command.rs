// SPDX-License-Identifier: MIT OR Apache-2.0
//! What commands have in common that boot one machine and write a part of a page.

use anyhow::{Context, Result};
use rota_guest::record::Record;
use rota_vm_tests::initramfs::Initramfs;
use rota_vm_tests::kernel::{Cache, Role};
use rota_vm_tests::plan::Boot;
use rota_vm_tests::run::{self, Repeated, Setup};
use rota_vm_tests::verdict;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct PageArgs {
    /// Put the tables into their page in docs, and pictures into docs/images
    #[arg(long)]
    pub(crate) write: bool,

    /// Run the machine so often; two runs or more are compared
    #[arg(long, default_value_t = 2)]
    runs: usize,

    /// Host seconds after which the machine is stopped
    #[arg(long, default_value_t = 900)]
    within: u64,

    /// The `rota` command [default: next to this program]
    #[arg(long)]
    pub(crate) rota: Option<PathBuf>,

    /// Where machines keep their consoles and records
    #[arg(long, default_value = ".cache/vm")]
    dir: PathBuf,
}

/// What a machine did.
pub(crate) struct Ran {
    /// Its kernel.
    pub(crate) kernel: String,
    pub(crate) records: Vec<Record>,
}

impl PageArgs {
    /// Boots it, in the folder of a command. None: it had problems, which were printed.
    pub(crate) fn run(&self, command: &str, boot: &Boot, files: Initramfs) -> Result<Option<Ran>> {
        let kernel = Cache::of_user()?.find(Role::Newest, &mut crate::say)?;
        let (name, dir) = (kernel.name.clone(), self.dir.join(command));
        let setup = Setup {
            kernels: &BTreeMap::from([(boot.kernel, kernel)]),
            files: &BTreeMap::from([(boot.guest, files)]),
            dir: &dir,
            side_by_side: 2,
            runs: self.runs.max(1),
            repeated: Repeated::All,
            within: Duration::from_secs(self.within),
        };
        let outcomes = run::all(std::slice::from_ref(boot), &setup, &mut crate::print)?;
        if outcomes.iter().any(|outcome| !outcome.problems.is_empty()) {
            return Ok(None);
        }
        let path = dir.join(boot.name()).join("1/records");
        let records = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let records = verdict::parse(&records).map_err(anyhow::Error::msg)?;
        Ok(Some(Ran { kernel: name, records }))
    }
}

/// `docs` of this checkout.
pub(crate) fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Puts a picture there.
pub(crate) fn draw(name: &str, svg: &str) -> Result<()> {
    let path = docs().join("images").join(name);
    fs::write(&path, svg).with_context(|| path.display().to_string())
}

/// Whether there are none; they are printed.
pub(crate) fn none(command: &str, problems: &[String]) -> bool {
    problems.iter().for_each(|problem| eprintln!("rota-vm: {command}: {problem}"));
    problems.is_empty()
}
