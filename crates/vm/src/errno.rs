// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's error numbers that helpers and kernel functions return.

#![allow(missing_docs)]

pub const EPERM: i64 = 1;
pub const ENOENT: i64 = 2;
pub const E2BIG: i64 = 7;
pub const EAGAIN: i64 = 11;
pub const ENOMEM: i64 = 12;
pub const EFAULT: i64 = 14;
pub const EBUSY: i64 = 16;
pub const EEXIST: i64 = 17;
pub const EINVAL: i64 = 22;
pub const ENOSPC: i64 = 28;
pub const ERANGE: i64 = 34;
pub const EDEADLK: i64 = 35;
pub const EOPNOTSUPP: i64 = 95;
pub const ETIMEDOUT: i64 = 110;

/// An error as a register holds it.
pub const fn code(errno: i64) -> u64 {
    errno.wrapping_neg() as u64
}
