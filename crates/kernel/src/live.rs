// SPDX-License-Identifier: MIT OR Apache-2.0
//! The running kernel as the linker asks about it.

use crate::error::LoadError;
use rota_object::btf::{Btf, Kind};
use rota_object::image::Image;
use rota_object::link::{self, Kernel, Object};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

/// Types of the running kernel.
pub const VMLINUX_BTF: &str = "/sys/kernel/btf/vmlinux";

/// Reads the types of the running kernel.
pub fn kernel_btf() -> Result<Arc<Btf>, LoadError> {
    btf_of(Path::new(VMLINUX_BTF))
}

fn btf_of(path: &Path) -> Result<Arc<Btf>, LoadError> {
    let fail = |why: String| LoadError::KernelTypes { path: path.display().to_string(), why };
    let bytes = std::fs::read(path).map_err(|e| fail(e.to_string()))?;
    Ok(Arc::new(Btf::from_file(&bytes).map_err(|e| fail(e.to_string()))?))
}

/// Links an object against the running kernel. The code of the result is not run: libbpf
/// links the object again. Tunables that have another value in a kernel have it from here on.
pub fn link(object: &[u8], name: &str, kernel: &Arc<Btf>) -> Result<Image, LoadError> {
    let mut image = link::link(&Object::parse(name, object)?, kernel, &Live { btf: kernel })?;
    image.follow_kernel()?;
    Ok(image)
}

struct Live<'a> {
    btf: &'a Btf,
}

impl Kernel for Live<'_> {
    /// With any number of arguments: libbpf compares the prototypes itself.
    fn kfunc(&self, name: &str) -> Option<RangeInclusive<u8>> {
        self.btf.find(Kind::Func, name).map(|_| 0..=u8::MAX)
    }

    fn has_ksym(&self, name: &str) -> bool {
        self.btf.find(Kind::Var, name).is_some()
    }

    /// libbpf reads the configuration itself, and says which option it did not find.
    fn kconfig(&self, _: &str) -> Option<u64> {
        Some(0)
    }

    /// Likewise libbpf's business.
    fn kernel_version(&self) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_types_are_named() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "no types").expect("written");
        let error = btf_of(file.path()).expect_err("no types").to_string();
        assert!(error.contains(&file.path().display().to_string()), "{error}");
        assert!(btf_of(Path::new("/nonexistent")).is_err());
    }
}
