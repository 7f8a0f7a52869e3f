// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is in every guest.

use crate::initramfs::Initramfs;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Programs of the host that scenarios use, with the Debian packages that have them.
const TOOLS: [(&str, &str); 4] = [
    ("chrt", "util-linux"),
    ("busybox", "busybox-static"),
    ("hackbench", "rt-tests"),
    ("rt-app", "rt-app"),
];

/// What a machine boots into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guest {
    /// The guest's own program and little else.
    Bare,
    /// A small Debian with systemd, and Rota's package to install there.
    Systemd,
}

/// Where things are in this repository.
#[derive(Clone, Debug)]
pub struct Sources {
    /// `tests/vm`: its `bugs` are compiled to `/bugs`, its `loads` are copied to `/loads`.
    pub tests: PathBuf,
    /// The `rota` command.
    pub rota: PathBuf,
    /// The guest's own program.
    pub guest: PathBuf,
    /// The Debian package.
    pub package: PathBuf,
}

/// All files but the jobs.
pub fn initramfs(sources: &Sources) -> Result<Initramfs> {
    let mut all = Initramfs::default();
    all.program(&sources.rota, "bin/rota")?;
    all.program(&sources.guest, "bin/rota-guest")?;
    all.link("bin/rota-guest", "init");
    for (tool, package) in TOOLS {
        add_tool(&mut all, tool, package)?;
    }
    all.link("/usr/bin/busybox", "bin/busybox");
    all.link("/usr/bin/busybox", "bin/sh");
    all.text("root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n", "etc/passwd");
    for folder in ["proc", "sys", "dev", "tmp", "run"] {
        all.folder(folder);
    }
    bugs(&mut all, &sources.tests)?;
    for load in files(&sources.tests.join("loads"), ".json")? {
        let name = load.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.file(&load, &format!("loads/{name}"));
    }
    Ok(all)
}

/// A program of the host, which a Debian package has.
pub(crate) fn add_tool(all: &mut Initramfs, tool: &str, package: &str) -> Result<()> {
    all.program(&find(tool, package)?, &format!("usr/bin/{tool}"))
}

/// Policies with planted bugs, as objects in `/bugs`.
pub(crate) fn bugs(all: &mut Initramfs, tests: &Path) -> Result<()> {
    for source in files(&tests.join("bugs"), ".bpf.c")? {
        let object = rota_catalog::compile(&source, &[], &[])?;
        let name = source.file_name().unwrap_or_default().to_string_lossy().replace(".c", ".o");
        all.text(object, &format!("bugs/{name}"));
    }
    Ok(())
}

fn find(tool: &str, package: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(tool))
        .find(|file| file.is_file())
        .with_context(|| format!("there is no '{tool}' (Debian package {package})"))
}

/// Files of a folder with this ending, by name.
fn files(dir: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
