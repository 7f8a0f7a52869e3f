// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small Debian with systemd, for guests: its packages are downloaded and unpacked once.

mod closure;

pub use closure::{closure, Package};

use crate::kernel::{fetch_index, mirror};
use anyhow::{bail, Context, Result};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is in it, besides what these need. perl-base and init-system-helpers have the
/// programs that packages' own scripts call.
const PACKAGES: [&str; 9] = [
    "busybox-static",
    "dash",
    "dpkg",
    "init-system-helpers",
    "libc-bin",
    "perl-base",
    "systemd",
    "usr-is-merged",
    "util-linux",
];

/// Left out: what nobody reads in a guest, and what would only slow its boot down.
const LEFT_OUT: [&str; 10] = [
    "./lib/systemd/system-generators/*",
    "./lib/systemd/systemd-networkd*",
    "./lib/udev/*",
    "./usr/lib/systemd/catalog/*",
    "./usr/lib/systemd/system-environment-generators/*",
    "./usr/lib/systemd/user*",
    "./usr/lib/tmpfiles.d/*",
    "./usr/lib/*/gconv/*",
    "./usr/share/*",
    "./var/cache/*",
];

/// Folders that lead to their namesake in `usr`, as packages expect.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// The folder with the unpacked system, below `cache`. It is of this machine's Debian, for
/// the programs built here to run in it; where this is none, of Debian 12.
pub fn system(cache: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf> {
    let suite = suite(&fs::read_to_string("/etc/os-release").unwrap_or_default());
    let root = cache.join(&suite);
    let contents = format!("{PACKAGES:?} without {LEFT_OUT:?}\n");
    let stamp = cache.join(format!("{suite}.contents"));
    if fs::read_to_string(&stamp).is_ok_and(|known| known == contents) {
        return Ok(root);
    }
    say(&format!("unpacking packages of Debian {suite} for guests with systemd"));
    let partial = cache.join(format!("{suite}.partial"));
    let _ = fs::remove_file(&stamp);
    for old in [&root, &partial] {
        if old.exists() {
            fs::remove_dir_all(old).with_context(|| old.display().to_string())?;
        }
    }
    fs::create_dir_all(&partial).with_context(|| partial.display().to_string())?;
    build(&suite, &partial)?;
    fs::rename(&partial, &root)?;
    fs::write(&stamp, contents)?;
    Ok(root)
}

fn suite(os_release: &str) -> String {
    let get = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    let codename = get("VERSION_CODENAME").filter(|_| get("ID").as_deref() == Some("debian"));
    codename.unwrap_or_else(|| "bookworm".to_owned())
}

fn build(suite: &str, root: &Path) -> Result<()> {
    let (base, index) = fetch_index(suite)?;
    let packages = closure(&index, &PACKAGES)?;
    for folder in MERGED {
        fs::create_dir_all(root.join("usr").join(folder))?;
        symlink(format!("usr/{folder}"), root.join(folder))?;
    }
    for package in &packages {
        let file = tempfile::Builder::new().suffix(".deb").tempfile_in(root)?;
        mirror::file(&format!("{base}/{}", package.path), &package.sha256, file.path())?;
        unpack(file.path(), root).with_context(|| package.name.clone())?;
    }
    link_applets(root)?;
    write_status(&packages, root)
}

fn unpack(package: &Path, root: &Path) -> Result<()> {
    let mut left_out: Vec<String> =
        LEFT_OUT.iter().map(|what| format!("--exclude={what}")).collect();
    left_out.extend(["--keep-directory-symlink", "--no-same-owner", "-x", "-C"].map(str::to_owned));
    let script = "set -o pipefail; deb=$1; shift; dpkg-deb --fsys-tarfile \"$deb\" | tar \"$@\"";
    let output = Command::new("bash")
        .args(["-c", script, "unpack"])
        .arg(package)
        .args(&left_out)
        .arg(root)
        .output()
        .context("cannot start bash")?;
    if !output.status.success() {
        bail!("cannot unpack it: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Busybox stands in for whatever has no package here.
fn link_applets(root: &Path) -> Result<()> {
    let busybox = root.join("usr/bin/busybox");
    let output = Command::new(&busybox).arg("--list").output();
    let output = output.with_context(|| format!("cannot start {}", busybox.display()))?;
    for applet in String::from_utf8_lossy(&output.stdout).lines() {
        let is_there = |folder: &str| root.join(folder).join(applet).symlink_metadata().is_ok();
        if !is_there("usr/bin") && !is_there("usr/sbin") {
            symlink("busybox", root.join("usr/bin").join(applet))?;
        }
    }
    Ok(())
}

/// What dpkg reads to know what is installed.
fn write_status(packages: &[Package], root: &Path) -> Result<()> {
    let dpkg = root.join("var/lib/dpkg");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(dpkg.join(folder))?;
    }
    let mut status = String::new();
    for Package { name, version, .. } in packages {
        status += &format!(
            "Package: {name}\nStatus: install ok installed\nMaintainer: Debian\n\
             Architecture: amd64\nVersion: {version}\nDescription: {name}\n\n"
        );
        fs::write(dpkg.join(format!("info/{name}.list")), "")?;
    }
    fs::write(dpkg.join("status"), status)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_are_of_the_hosts_debian_or_of_debian_12() {
        let trixie = "ID=debian\nVERSION_CODENAME=trixie\n";
        assert_eq!(suite(trixie), "trixie");
        assert_eq!(suite("ID=ubuntu\nVERSION_CODENAME=noble\n"), "bookworm");
        assert_eq!(suite(""), "bookworm");
    }
}
