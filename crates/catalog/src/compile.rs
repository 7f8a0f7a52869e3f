// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiling a user's `FILE.bpf.c`.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A source file that did not become an object.
#[derive(Debug, Error)]
pub enum CompileError {
    /// There is no usable compiler. The message says how to get one.
    #[error("cannot compile {}: {reason}", .source_file.display())]
    NoCompiler {
        /// The file to compile.
        source_file: PathBuf,
        /// What was looked for, and what to install.
        reason: String,
    },
    /// The compiler refused the file: its own messages.
    #[error("{} does not compile:\n{messages}", .source_file.display())]
    Rejected {
        /// The file to compile.
        source_file: PathBuf,
        /// What clang printed.
        messages: String,
    },
    /// Reading the source or writing temporary files failed.
    #[error("cannot compile {}: {error}", .source_file.display())]
    Io {
        /// The file to compile.
        source_file: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// Compiles a BPF C file to an object. Headers are looked for beside the file, then
/// in `include`, then among those that ship with Rota. Warnings do not fail. The same sources give
/// the same bytes, wherever they are.
pub fn compile(
    path: &Path,
    include: &[PathBuf],
    extra_flags: &[String],
) -> Result<Vec<u8>, CompileError> {
    compile_with(path, include, extra_flags, &[])
}

/// As [`compile`], with more headers (path and text) among those that ship: they come before
/// one that ships under the same name.
pub fn compile_with(
    path: &Path,
    include: &[PathBuf],
    extra_flags: &[String],
    headers: &[(String, Cow<'_, str>)],
) -> Result<Vec<u8>, CompileError> {
    let source_file = || path.to_path_buf();
    let io_error = |error| CompileError::Io { source_file: source_file(), error };
    let source = path.canonicalize().map_err(io_error)?;
    let compiler = rota_clang::find()
        .map_err(|reason| CompileError::NoCompiler { source_file: source_file(), reason })?;

    let work = tempfile::tempdir().map_err(io_error)?;
    for (name, text) in crate::headers() {
        std::fs::write(work.path().join(name), text).map_err(io_error)?;
    }
    for (name, text) in headers {
        let file = work.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(work.path())).map_err(io_error)?;
        std::fs::write(file, text.as_bytes()).map_err(io_error)?;
    }
    let object = work.path().join("object.bpf.o");
    let mut args: Vec<OsString> = extra_flags.iter().map(OsString::from).collect();
    let beside = source.parent().unwrap_or(Path::new("/"));
    for dir in [beside].into_iter().chain(include.iter().map(PathBuf::as_path)) {
        args.extend(["-I".into(), std::path::absolute(dir).map_err(io_error)?.into()]);
    }
    args.extend([without_prefix(beside), without_prefix(work.path())]);
    args.push("-ffile-compilation-dir=.".into());
    args.extend(["-I".into(), work.path().into(), "-c".into(), source.clone().into()]);
    args.extend(["-o".into(), object.clone().into()]);

    let run = rota_clang::run(&compiler, beside, &args).map_err(io_error)?;
    if !run.status.success() {
        // Headers of ours are files for a moment only: their place says nothing.
        let place = work.path().join("").display().to_string();
        let messages = String::from_utf8_lossy(&run.stderr).trim_end().replace(&place, "");
        return Err(CompileError::Rejected { source_file: source_file(), messages });
    }
    std::fs::read(&object).map_err(io_error)
}

/// The object names the files in this folder without it.
fn without_prefix(folder: &Path) -> OsString {
    let mut map = OsString::from("-ffile-prefix-map=");
    map.push(folder.join(""));
    map.push("=");
    map
}
