// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what the user calls a policy to a linked object.

use crate::error::Error;
use crate::options::ObjectArgs;
use crate::source::Compiler;
use rota_machine::kernel::Kernel;
use rota_sim::Policy;

pub(crate) use rota_session::object::{
    find, is_file_name, is_shipped, known, link_shipped, name, Found, Named, EVERY_KERNEL, LINK,
    SHIPPED,
};

/// The kernel to simulate: a release, or that of the user's file.
pub(crate) fn kernel(args: &ObjectArgs) -> Result<Kernel, Error> {
    Ok(rota_session::object::kernel(&args.kernel, args.btf.as_deref())?)
}

/// One policy of several files, linked together; of one, as [`find`].
pub(crate) fn find_all(files: &[String], compiler: Compiler<'_>) -> Result<Found, Error> {
    let found: Vec<Found> =
        files.iter().map(|file| find(file, compiler)).collect::<Result<_, _>>()?;
    let parts: Vec<(&str, &[u8])> =
        found.iter().map(|part| (part.called(), part.bytes.as_ref())).collect();
    let whole = match parts.len() {
        1 => None,
        _ => Some(rota_kernel::join(&parts)?),
    };
    let mut first = found.into_iter().next().ok_or_else(|| Error::input("no file to link"))?;
    if let Some(whole) = whole {
        first.bytes = whole.into();
    }
    Ok(first)
}

/// Heeds `--ops`.
pub(crate) fn choose(policy: &mut Policy, args: &ObjectArgs) -> Result<(), Error> {
    Ok(args.ops.iter().try_for_each(|name| policy.choose(name))?)
}
