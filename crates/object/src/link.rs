// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an ELF object to an [`Image`]: what libbpf does at load time, against any
//! kernel's BTF and without a kernel.

mod co_re;
mod code;
mod externs;
mod globals;
mod maps;
mod object;
mod relocs;
mod source;
mod struct_ops;

pub use object::Object;

use crate::btf::Btf;
use crate::error::{LoadError, Problem};
use crate::image::Image;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// What the loader asks about the kernel that will host the object.
pub trait Kernel {
    /// How many arguments the kernel function with this essential name takes, if there is one.
    fn kfunc(&self, name: &str) -> Option<RangeInclusive<u8>>;
    /// Why there is none, for the error of an object that cannot do without.
    fn no_kfunc(&self, name: &str) -> String {
        format!("kernel function '{name}' is unknown")
    }
    /// Is there a kernel variable with this name?
    fn has_ksym(&self, name: &str) -> bool;
    /// Value of a `CONFIG_*` option (bool and tristate: 0 no, 1 yes, 2 module).
    fn kconfig(&self, name: &str) -> Option<u64>;
    /// `KERNEL_VERSION(a, b, c)`.
    fn kernel_version(&self) -> u32;
}

/// Links an object against a kernel.
pub fn link(
    object: &Object,
    kernel_btf: &Arc<Btf>,
    kernel: &dyn Kernel,
) -> Result<Image, LoadError> {
    link_parts(object, kernel_btf, kernel)
        .map_err(|problem| LoadError { object: object.name.clone(), problem })
}

fn link_parts(
    object: &Object,
    kernel_btf: &Arc<Btf>,
    kernel: &dyn Kernel,
) -> Result<Image, Problem> {
    let mut code = code::Code::lay_out(object).map_err(Problem::Code)?;
    let mut maps = maps::Maps::define(object, &code).map_err(Problem::Maps)?;
    let mut externs = externs::Externs::collect(object, kernel, &mut maps)?;
    let mut symbols = relocs::resolve(object, &code, &maps, &mut externs)?;
    let asked = co_re::relocate(object, kernel_btf, &mut code, &mut symbols);
    let asked = asked.map_err(Problem::CoRe)?;
    let variables = globals::variables(object, &maps);
    globals::fill_enum_mirrors(kernel_btf, &variables, &mut maps.defs);
    let struct_ops = struct_ops::collect(object, &code, kernel_btf).map_err(Problem::StructOps)?;
    let lines = source::lines(object, &code);
    Ok(Image {
        name: object.name.clone(),
        license: object.license.clone(),
        code: code.insns,
        symbols,
        functions: code.functions,
        lines,
        maps: maps.defs,
        struct_ops,
        kfuncs: externs.kfuncs,
        ksyms: externs.ksyms,
        untold_types: asked.untold.into_iter().collect(),
        kernel_fields: asked.fields,
        variables,
        btf: object.btf.clone(),
        kernel_btf: kernel_btf.clone(),
    })
}
