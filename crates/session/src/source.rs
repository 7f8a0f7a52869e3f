// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiling a user's source, with the headers that it does not bring.

use crate::error::Error;
use rota_catalog::CompileError;
use rota_headers::{hints, places};
use rota_machine::kernel::Kernel;
use rota_object::btf::Kind;
use rota_object::link::Kernel as _;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Folders that are found for missing headers, one after another.
const MOST_FOLDERS: usize = 4;
/// Leaves out the functions in `vmlinux.h`.
const OWN: &str = "-DBPF_NO_KFUNC_PROTOTYPES";
const TYPES: &str = "vmlinux.h";
/// The mark of functions that programs may call, in the types of a running kernel.
const KFUNC_TAG: &str = "bpf_kfunc";

/// What sources are compiled with.
#[derive(Clone, Copy, Debug)]
pub struct Compiler<'a> {
    /// Folders of headers that the user names.
    pub include: &'a [PathBuf],
    /// Whose types `vmlinux.h` has.
    pub kernel: &'a Kernel,
}

impl Compiler<'_> {
    /// The object of a source file.
    pub fn compile(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let mut headers = headers(self.kernel);
        let mut include = self.include.to_vec();
        let mut flags = vec!["-D__TARGET_ARCH_x86".to_owned(), "-D__SCX_TARGET_ARCH_x86".into()];
        for folder in places::multiarch() {
            flags.extend(["-idirafter".to_owned(), folder.display().to_string()]);
        }
        // Repositories keep an empty file in the place of one that their makefile writes.
        let placeholder = path.with_file_name(TYPES);
        if std::fs::metadata(placeholder).is_ok_and(|file| file.len() == 0) {
            let first = format!("kernel/{TYPES}");
            headers.push((first.clone(), headers[0].1.clone()));
            flags.extend(["-include".to_owned(), first]);
        }
        loop {
            let error = match rota_catalog::compile_with(path, &include, &flags, &headers) {
                Ok(object) => return Ok(object),
                Err(error) => error,
            };
            let CompileError::Rejected { source_file, mut messages } = error else {
                return Err(error.into());
            };
            let here = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
            let folder = hints::missing_header(&messages).and_then(|h| places::folder_of(h, &here));
            if let Some(folder) = folder.filter(|folder| !include.contains(folder)) {
                if include.len() < self.include.len() + MOST_FOLDERS {
                    include.push(folder.clone());
                    include.extend(Some(folder.join("bpf-compat")).filter(|dir| dir.is_dir()));
                    continue;
                }
            }
            // What the source declares itself counts: older headers of sched_ext do so.
            let own = OWN.to_owned();
            if messages.contains("error: conflicting types for") && !flags.contains(&own) {
                flags.push(own);
                continue;
            }
            let found = &include[self.include.len()..];
            for hint in hints::of(&messages, self.kernel.release(), found.first()) {
                messages.push_str("\n  hint: ");
                messages.push_str(&hint);
            }
            return Err(CompileError::Rejected { source_file, messages }.into());
        }
    }
}

/// `vmlinux.h` of a kernel, and libbpf's headers.
fn headers(kernel: &Kernel) -> Vec<(String, Cow<'static, str>)> {
    let btf = kernel.btf();
    let is_kfunc = |name: &str| {
        let tagged = || {
            let id = btf.find(Kind::Func, name);
            id.is_some_and(|id| btf.decl_tags(id, None).contains(&KFUNC_TAG))
        };
        name.starts_with("scx_bpf_") || kernel.kfunc(name).is_some() || tagged()
    };
    let types = rota_headers::vmlinux(btf, &is_kfunc);
    let mut headers = vec![(TYPES.to_owned(), types.into())];
    let libbpf = rota_headers::libbpf().iter();
    // The C library's headers ask for this one where they do not know the target.
    headers.push(("gnu/stubs-32.h".to_owned(), "".into()));
    headers.extend(libbpf.map(|(name, text)| (format!("bpf/{name}"), Cow::Borrowed(*text))));
    headers
}
