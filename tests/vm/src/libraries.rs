// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shared libraries of a program.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Paths of the libraries that a program is linked against, the dynamic linker included. None
/// for a static program.
pub(crate) fn of(program: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).output().context("cannot start ldd")?;
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

fn parse(text: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let line = line.trim();
        let path = line.split_once("=> ").map_or(line, |(_, path)| path);
        let path = path.split(" (").next()?;
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    text.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_linker_are_found_the_vdso_is_not() {
        let text = "\tlinux-vdso.so.1 (0x00007f67)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f67)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f67)\n";
        assert_eq!(
            parse(text),
            [
                PathBuf::from("/lib/x86_64-linux-gnu/libc.so.6"),
                PathBuf::from("/lib64/ld-linux-x86-64.so.2")
            ]
        );
        assert!(parse("\tnot a dynamic executable\n").is_empty());
    }
}
