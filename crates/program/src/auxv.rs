// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel tells a program that it starts (`create_elf_tables()` of `fs/binfmt_elf.c`), by the
//! computer's `/proc/PID/auxv`.

use crate::remote::Remote;
use rand::RngCore;
use std::fs;
use std::io;

/// Of 16 random bytes: their address.
const AT_RANDOM: u64 = 25;

/// Gives the program other random bytes than the kernel's, which are others in each run. Go's runtime
/// begins its random numbers with them.
pub(crate) fn seed(pid: u32, memory: &Remote, random: &mut impl RngCore) -> io::Result<()> {
    let vector = fs::read(format!("/proc/{pid}/auxv"))?;
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let mut entries = vector.chunks_exact(16).map(|entry| (word(&entry[..8]), word(&entry[8..])));
    let Some((_, address)) = entries.find(|(kind, _)| *kind == AT_RANDOM) else { return Ok(()) };
    let mut bytes = [0; 16];
    random.fill_bytes(&mut bytes);
    memory.write(address, &bytes)
}
