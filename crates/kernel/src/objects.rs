// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several objects made one, by libbpf's linker.

use libbpf_rs::{libbpf_sys, AsRawLibbpf, Linker};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use thiserror::Error;

/// Why objects could not be made one.
#[derive(Debug, Error)]
pub enum JoinError {
    /// The linker does not take an object, or not together with those before it.
    #[error("{object}: libbpf cannot link it: {error}{}", rota_libbpf_log::tail(.log))]
    Refused {
        /// File name, or what was linked.
        object: String,
        /// What it says of it.
        error: io::Error,
        /// What libbpf printed.
        log: String,
    },
    /// A temporary file failed.
    #[error("cannot link: {0}")]
    Io(#[from] io::Error),
}

/// Links objects (name and bytes) into one. Global functions, variables and maps of the same name
/// become one, as for a program of several C files.
pub fn join(objects: &[(&str, &[u8])]) -> Result<Vec<u8>, JoinError> {
    let refused = |object: &str, error| JoinError::Refused {
        object: object.to_owned(),
        error,
        log: rota_libbpf_log::take(),
    };
    rota_libbpf_log::start(false);
    let folder = tempfile::tempdir()?;
    let whole = folder.path().join("linked.bpf.o");
    // libbpf calls a file by its path in messages: one that says which object it is.
    let linker = Linker::new(&whole).map_err(|e| refused("the result", io::Error::other(e)))?;
    for (index, (name, bytes)) in objects.iter().enumerate() {
        let base = name.rsplit('/').next().unwrap_or(name);
        let path = folder.path().join(format!("{index}-{base}"));
        std::fs::write(&path, bytes)?;
        add(&linker, &path).map_err(|e| refused(name, e))?;
    }
    let all = || objects.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    finish(&linker).map_err(|e| refused(&all(), e))?;
    Ok(std::fs::read(&whole)?)
}

// libbpf-rs takes what these two return for a positive number, and panics.

#[allow(unsafe_code)]
fn add(linker: &Linker, path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let linker = linker.as_libbpf_object().as_ptr();
    // SAFETY: the linker lives as long as the borrow, the path ends with a zero, and libbpf takes
    // null for no options.
    let code = unsafe { libbpf_sys::bpf_linker__add_file(linker, path.as_ptr(), std::ptr::null()) };
    checked(code)
}

#[allow(unsafe_code)]
fn finish(linker: &Linker) -> io::Result<()> {
    // SAFETY: the linker lives as long as the borrow.
    checked(unsafe { libbpf_sys::bpf_linker__finalize(linker.as_libbpf_object().as_ptr()) })
}

fn checked(code: i32) -> io::Result<()> {
    match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.saturating_abs())),
    }
}
