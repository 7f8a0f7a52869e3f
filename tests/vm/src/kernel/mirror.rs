// SPDX-License-Identifier: MIT OR Apache-2.0
//! Downloads from a Debian mirror.

use anyhow::{bail, Context, Result};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::{Command, Stdio};

const FALLBACK: &str = "https://deb.debian.org/debian";

/// Bases to try, in order: those that apt uses on this machine, then Debian's own.
pub(crate) fn bases() -> Vec<String> {
    let apt = Command::new("apt-get")
        .args(["indextargets", "--format", "$(SITE)", "Created-By: Packages"])
        .stderr(Stdio::null())
        .output();
    let sites = apt.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    order(&sites.unwrap_or_default())
}

fn order(sites: &str) -> Vec<String> {
    let mut bases: Vec<String> = Vec::new();
    let of_debian = |site: &&str| site.starts_with("http") && site.ends_with("/debian");
    for site in sites.lines().map(|line| line.trim_end_matches('/')).filter(of_debian) {
        if !bases.iter().any(|known| known == site) {
            bases.push(site.to_owned());
        }
    }
    bases.push(FALLBACK.to_owned());
    bases
}

/// The `Packages` index of a suite.
pub(crate) fn index(base: &str, suite: &str) -> Result<String> {
    let compressed = tempfile::NamedTempFile::new()?;
    let url = format!("{base}/dists/{suite}/main/binary-amd64/Packages.xz");
    download(&url, compressed.path())?;
    let text = Command::new("xz").arg("-dc").arg(compressed.path()).output();
    let text = text.context("cannot start xz")?;
    if !text.status.success() {
        bail!("{url}: {}", String::from_utf8_lossy(&text.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&text.stdout).into_owned())
}

/// Downloads a file whose checksum is known.
pub(crate) fn file(url: &str, sha256: &str, to: &Path) -> Result<()> {
    download(url, to)?;
    let mut hash = Sha256::new();
    hash.update(std::fs::read(to)?);
    let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found != sha256 {
        bail!("{url}: its SHA-256 is {found}, the index says {sha256}");
    }
    Ok(())
}

fn download(url: &str, to: &Path) -> Result<()> {
    let output = Command::new("curl")
        .args(["--fail", "--silent", "--show-error", "--location", "--retry", "2"])
        .args(["--connect-timeout", "20", "--output"])
        .arg(to)
        .arg(url)
        .output()
        .context("cannot start curl")?;
    if !output.status.success() {
        bail!("{url}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_own_mirrors_come_first_each_once() {
        let sites = "http://mirror.example/debian/\nhttp://mirror.example/debian\n\
                     http://mirror.example/debian-security\nfile:/media/debian\n";
        assert_eq!(order(sites), ["http://mirror.example/debian", FALLBACK]);
        assert_eq!(order(""), [FALLBACK]);
    }
}
