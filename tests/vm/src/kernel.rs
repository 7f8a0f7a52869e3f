// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds kernels to test on: Debian's, downloaded once.
//!
//! For each role there is a list of series (`7.2`, `7.0` …). In each series the newest build of
//! each suite is looked at, and the first one that fits is taken. Builds with malformed kfunc
//! prototypes refuse every scheduler, so they do not fit.

mod image;
pub(crate) mod mirror;
mod packages;
mod version;

pub use packages::newest;

use crate::debian::Package;
use anyhow::{bail, Context, Result};
use rota_object::btf::Btf;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What a kernel is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The newest kernel that policies are made for.
    Newest,
    /// An older one, on which they have to run too.
    Older,
    /// One without sched_ext.
    Plain,
}

impl Role {
    /// As in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Role::Newest => "newest",
            Role::Older => "older",
            Role::Plain => "plain",
        }
    }

    fn series(self) -> &'static [&'static str] {
        match self {
            Role::Newest => &["7.2", "7.3", "7.0", "6.19"],
            Role::Older => &["6.19", "7.0", "6.18", "6.17", "6.16"],
            Role::Plain => &["6.12", "6.1"],
        }
    }

    fn suites(self) -> &'static [&'static str] {
        match self {
            Role::Newest | Role::Older => &["trixie-backports", "forky", "sid", "experimental"],
            Role::Plain => &["trixie", "bookworm"],
        }
    }

    /// Why a kernel does not fit, if it does not.
    fn objection(self, btf: &Btf) -> Option<String> {
        let has_sched_ext = btf.find_struct("sched_ext_ops").is_some();
        match self {
            Role::Plain => has_sched_ext.then(|| "it has sched_ext".into()),
            _ if !has_sched_ext => Some("it has no sched_ext".into()),
            _ => rota_kernel::check::kfuncs_are_broken(btf).map(|broken| {
                format!("its BTF has malformed prototypes: {} and others", broken.names[0])
            }),
        }
    }
}

/// A kernel that fits its role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Package and version, or the file that the user named.
    pub name: String,
    /// Its image.
    pub vmlinuz: PathBuf,
    /// What to boot: the same, decompressed if it can be booted so.
    #[serde(skip)]
    pub boots: PathBuf,
}

/// Where downloaded kernels are kept.
pub struct Cache {
    dir: PathBuf,
    indexes: HashMap<&'static str, (String, String)>,
    /// Look for newer ones although there are some.
    pub refresh: bool,
}

impl Cache {
    /// `$XDG_CACHE_HOME/rota/kernels` or `~/.cache/rota/kernels`.
    pub fn of_user() -> Result<Cache> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let base = set("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")))
            .context("neither XDG_CACHE_HOME nor HOME is set: where should kernels be kept?")?;
        Ok(Cache { dir: base.join("rota/kernels"), indexes: HashMap::new(), refresh: false })
    }

    /// Where unpacked systems for guests are kept: beside the kernels.
    pub fn guests(&self) -> PathBuf {
        self.dir.with_file_name("guests")
    }

    /// A kernel for a role: `ROTA_VM_KERNEL` for the newest, else the one that was taken before,
    /// else the first that fits. `say` hears what is looked at, and why it is not taken.
    pub fn find(&mut self, role: Role, say: &mut dyn FnMut(&str)) -> Result<Kernel> {
        let mut kernel = self.choose(role, say)?;
        kernel.boots = image::decompressed(&kernel.vmlinuz, &self.dir.join("decompressed"))?;
        Ok(kernel)
    }

    fn choose(&mut self, role: Role, say: &mut dyn FnMut(&str)) -> Result<Kernel> {
        if let (Role::Newest, Some(path)) = (role, std::env::var_os("ROTA_VM_KERNEL")) {
            return named_by_user(Path::new(&path));
        }
        let choice = self.dir.join(format!("{}.json", role.name()));
        let known = fs::read(&choice).ok().and_then(|text| serde_json::from_slice(&text).ok());
        if let Some(known) = known.filter(|k: &Kernel| k.vmlinuz.is_file() && !self.refresh) {
            return Ok(known);
        }
        let kernel = self.search(role, say)?;
        fs::write(&choice, serde_json::to_vec(&kernel)?).context(choice.display().to_string())?;
        Ok(kernel)
    }

    fn search(&mut self, role: Role, say: &mut dyn FnMut(&str)) -> Result<Kernel> {
        fs::create_dir_all(&self.dir).with_context(|| self.dir.display().to_string())?;
        let mut reasons: Vec<String> = Vec::new();
        for series in role.series() {
            for suite in role.suites() {
                let tried = self.newest(series, suite).and_then(|found| match found {
                    Some((base, package)) => self.try_package(role, &base, &package).map(Some),
                    None => Ok(None),
                });
                match tried {
                    Ok(Some(Ok(kernel))) => {
                        say(&format!("{}: taking {} of {suite}", role.name(), kernel.name));
                        return Ok(kernel);
                    }
                    Ok(Some(Err(objection))) => {
                        say(&format!("{}: not {objection} ({suite})", role.name()));
                        reasons.push(objection);
                    }
                    Ok(None) => {}
                    Err(error) => {
                        let reason = format!("{error:#}");
                        if !reasons.contains(&reason) {
                            say(&format!("{}: {reason}", role.name()));
                            reasons.push(reason);
                        }
                    }
                }
            }
        }
        bail!(
            "found no kernel to test on (series {} of Debian's {}). Is there a network? \
             ROTA_VM_KERNEL=path/to/vmlinuz names one. What was tried:\n  {}",
            role.series().join(", "),
            role.suites().join(", "),
            reasons.join("\n  ")
        )
    }

    /// The mirror's base and the newest package of a series in a suite.
    fn newest(&mut self, series: &str, suite: &'static str) -> Result<Option<(String, Package)>> {
        if !self.indexes.contains_key(suite) {
            let entry = fetch_index(suite)?;
            self.indexes.insert(suite, entry);
        }
        let (base, index) = &self.indexes[suite];
        Ok(newest(index, series).map(|package| (base.clone(), package)))
    }

    /// The kernel, or the reason why not this one.
    fn try_package(
        &self,
        role: Role,
        base: &str,
        package: &Package,
    ) -> Result<Result<Kernel, String>> {
        let name = format!("{} {}", package.name, package.version);
        let dir = self.dir.join(format!("{}_{}", package.name, package.version));
        let vmlinuz = dir.join("vmlinuz");
        if !vmlinuz.is_file() {
            fs::create_dir_all(&dir)?;
            let download = tempfile::Builder::new().suffix(".deb").tempfile_in(&dir)?;
            mirror::file(&format!("{base}/{}", package.path), &package.sha256, download.path())?;
            // Renamed when complete: an interrupted copy must not pass for a kernel.
            let partial = dir.join("vmlinuz.partial");
            image::unpack(download.path(), &partial)?;
            fs::rename(partial, &vmlinuz)?;
        }
        match role.objection(&image::btf(&vmlinuz)?) {
            Some(objection) => Ok(Err(format!("{name}: {objection}"))),
            None => Ok(Ok(Kernel { name, vmlinuz, boots: PathBuf::new() })),
        }
    }
}

fn named_by_user(path: &Path) -> Result<Kernel> {
    let vmlinuz = path.canonicalize().with_context(|| format!("ROTA_VM_KERNEL={path:?}"))?;
    if let Some(objection) = Role::Newest.objection(&image::btf(&vmlinuz)?) {
        bail!("ROTA_VM_KERNEL={}: {objection}", path.display());
    }
    Ok(Kernel { name: path.display().to_string(), vmlinuz, boots: PathBuf::new() })
}

/// The first mirror that has the suite, and its index.
pub(crate) fn fetch_index(suite: &str) -> Result<(String, String)> {
    let mut last = None;
    for base in mirror::bases() {
        match mirror::index(&base, suite) {
            Ok(index) => return Ok((base, index)),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| anyhow::anyhow!("there is no mirror to ask for {suite}")))
}
