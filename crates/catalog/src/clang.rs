// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding and calling clang. Also included by the build script.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Oldest clang whose BTF output is complete (64-bit enums, declaration tags).
pub(crate) const OLDEST: u32 = 16;
/// The version that the project is developed with.
pub(crate) const PREFERRED: u32 = 19;

/// How to get a compiler, for messages.
pub(crate) const HOW_TO_INSTALL: &str =
    "install it with `apt install clang-19` (Debian, Ubuntu), or name one with CLANG=/path/to/clang";

/// What every BPF compilation needs. `-fms-extensions` is for full kernel headers.
pub(crate) const FLAGS: [&str; 8] = [
    "-target",
    "bpf",
    "-mcpu=v3",
    "-g",
    "-O2",
    "-Wall",
    "-fms-extensions",
    "-Wno-microsoft-anon-tag",
];

/// The compiler to use: `$CLANG` if set, else clang-19, else the newest from 16 on.
pub(crate) fn find() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("CLANG").filter(|v| !v.is_empty()) {
        let path = PathBuf::from(&named);
        return match version(&path) {
            Some(v) if v >= OLDEST => Ok(path),
            Some(v) => Err(format!(
                "CLANG={} is version {v}; BPF needs clang {OLDEST} or later",
                path.display()
            )),
            None => Err(format!("CLANG={} does not run as a clang compiler", path.display())),
        };
    }
    let numbered = |v: u32| PathBuf::from(format!("clang-{v}"));
    let newest_first = (OLDEST..PREFERRED + 20).rev().map(numbered);
    std::iter::once(numbered(PREFERRED))
        .chain(newest_first)
        .chain([PathBuf::from("clang")])
        .find(|path| version(path).is_some_and(|v| v >= OLDEST))
        .ok_or_else(|| format!("no clang {OLDEST} or later was found; {HOW_TO_INSTALL}"))
}

/// Major version of a compiler, `None` if it is none.
fn version(clang: &Path) -> Option<u32> {
    let out = Command::new(clang).arg("--version").output().ok()?;
    parse_version(&String::from_utf8_lossy(&out.stdout))
}

/// From `Debian clang version 19.1.4 (1)` to 19.
pub(crate) fn parse_version(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("clang version ")?;
    rest.split('.').next()?.parse().ok()
}

/// Runs clang in `dir` with [`FLAGS`] and `args`.
pub(crate) fn run(clang: &Path, dir: &Path, args: &[OsString]) -> std::io::Result<Output> {
    Command::new(clang).current_dir(dir).args(FLAGS).args(args).output()
}

#[cfg(test)]
mod tests {
    use super::parse_version;

    #[test]
    fn version_is_read_from_any_distributions_banner() {
        assert_eq!(parse_version("Debian clang version 19.1.4 (1~deb12u1)\nTarget"), Some(19));
        assert_eq!(parse_version("clang version 16.0.6\n"), Some(16));
        assert_eq!(parse_version("Homebrew clang version 21.1.0"), Some(21));
        assert_eq!(parse_version("gcc (Debian 12.2.0) 12.2.0"), None);
    }
}
