// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of a call: `union bpf_attr` of `include/uapi/linux/bpf.h`.

use super::Caller;
use crate::Errno;

/// `sizeof(union bpf_attr)`: up to `keyring_id` of `BPF_PROG_LOAD`.
const SIZE: usize = 168;
/// A page: no larger argument is looked at (`bpf_check_uarg_tail_zero()`).
const LARGEST: u32 = 4096;

/// A copy of the arguments, and where they are.
#[derive(Clone, Debug)]
pub(super) struct Attr {
    bytes: [u8; SIZE],
    address: u64,
    size: u32,
}

impl Attr {
    /// Copies them (`__sys_bpf()`): what the caller does not have is 0, what this kernel does not
    /// know must be.
    pub(super) fn read(caller: &dyn Caller, address: u64, size: u32) -> Result<Self, Errno> {
        if size > LARGEST {
            return Err(Errno::E2BIG);
        }
        let mut all = vec![0; size as usize];
        caller.read(address, &mut all)?;
        let known = all.len().min(SIZE);
        if all[known..].iter().any(|byte| *byte != 0) {
            return Err(Errno::E2BIG);
        }
        let mut bytes = [0; SIZE];
        bytes[..known].copy_from_slice(&all[..known]);
        Ok(Self { bytes, address, size })
    }

    /// `CHECK_ATTR()`: a command's arguments end here, and nothing is behind them.
    pub(super) fn ends_at(&self, end: usize) -> Result<(), Errno> {
        match self.bytes[end..].iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err(Errno::EINVAL),
        }
    }

    pub(super) fn u32(&self, at: usize) -> u32 {
        word(&self.bytes, at)
    }

    pub(super) fn fd(&self, at: usize) -> i32 {
        self.u32(at) as i32
    }

    pub(super) fn u64(&self, at: usize) -> u64 {
        u64::from(self.u32(at)) | u64::from(self.u32(at + 4)) << 32
    }

    /// `bpf_obj_name_cpy()`: a name of 16 bytes with its end, of letters, digits, `_` and `.`.
    pub(super) fn name(&self, at: usize) -> Result<String, Errno> {
        object_name(&self.bytes[at..at + super::uapi::NAME_LEN])
    }

    /// Writes a result into the caller's arguments, if it has room for it there.
    pub(super) fn answer(
        &self,
        caller: &mut dyn Caller,
        at: usize,
        bytes: &[u8],
    ) -> Result<(), Errno> {
        if at + bytes.len() > self.size as usize {
            return Ok(());
        }
        caller.write(self.address + at as u64, bytes)
    }
}

/// `bpf_obj_name_cpy()` of `kernel/bpf/syscall.c`.
pub(super) fn object_name(bytes: &[u8]) -> Result<String, Errno> {
    let end = bytes.iter().position(|byte| *byte == 0).ok_or(Errno::EINVAL)?;
    let (name, rest) = bytes.split_at(end);
    let sound = name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
    if !sound || rest.iter().any(|byte| *byte != 0) {
        return Err(Errno::EINVAL);
    }
    Ok(name.iter().map(|byte| char::from(*byte)).collect())
}

/// A little-endian word; 0 beyond the end.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u32::from_le_bytes(*word))
}

/// Bytes at an address of the caller.
pub(super) fn bytes(caller: &dyn Caller, address: u64, len: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; len];
    caller.read(address, &mut bytes)?;
    Ok(bytes)
}

/// `strndup_user()`: a text with its end, of at most so many bytes.
pub(super) fn text(
    caller: &dyn Caller,
    address: u64,
    most: usize,
    too_long: Errno,
) -> Result<String, Errno> {
    /// Read at once, and never beyond a page that it begins in.
    const PART: u64 = 64;
    let (mut text, mut at) = (Vec::new(), address);
    while text.len() < most {
        let mut part = vec![0; (PART - at % PART) as usize];
        caller.read(at, &mut part)?;
        if let Some(end) = part.iter().position(|byte| *byte == 0) {
            text.extend(&part[..end]);
            let fits = text.len() < most;
            return if fits {
                Ok(String::from_utf8_lossy(&text).into_owned())
            } else {
                Err(too_long)
            };
        }
        at = at.checked_add(part.len() as u64).ok_or(Errno::EFAULT)?;
        text.extend(part);
    }
    Err(too_long)
}
