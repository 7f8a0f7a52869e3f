// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error numbers of system calls.

/// An error number as `errno` has it, above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error {0}")]
pub struct Errno(pub i32);

macro_rules! errno {
    ($($name:ident)*) => {
        #[allow(missing_docs)]
        impl Errno { $(pub const $name: Errno = Errno(libc::$name);)* }
    };
}

errno! {
    EPERM ENOENT E2BIG EBADF EACCES EFAULT EBUSY EEXIST ENODEV EINVAL ENOSPC ERANGE EDOM
    ENAMETOOLONG EOPNOTSUPP
}

impl Errno {
    /// `ENOTSUPP` of `include/linux/errno.h`: the kernel's own, and yet seen by programs.
    pub const ENOTSUPP: Errno = Errno(524);

    /// That of a number as the interpreter has it.
    pub(crate) fn of(number: i64) -> Self {
        Errno(i32::try_from(number).unwrap_or(libc::EINVAL))
    }
}
