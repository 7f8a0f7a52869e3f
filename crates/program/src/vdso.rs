// SPDX-License-Identifier: MIT OR Apache-2.0
//! The vDSO reads the computer's clock without a system call. Its functions are made to call.

use crate::remote::Remote;
use object::{Object as _, ObjectSymbol as _};
use std::fs;
use std::io;

/// Functions of the vDSO (`arch/x86/entry/vdso/vdso.lds.S`) and the calls that do the same.
const FUNCTIONS: [(&str, libc::c_long); 6] = [
    ("__vdso_clock_gettime", libc::SYS_clock_gettime),
    ("__vdso_gettimeofday", libc::SYS_gettimeofday),
    ("__vdso_time", libc::SYS_time),
    ("__vdso_getcpu", libc::SYS_getcpu),
    ("__vdso_clock_getres", libc::SYS_clock_getres),
    ("__vdso_getrandom", libc::SYS_getrandom),
];

/// `mov $number,%eax; syscall; ret`.
fn calling(number: libc::c_long) -> [u8; 8] {
    let [a, b, c, d] = (number as u32).to_le_bytes();
    [0xb8, a, b, c, d, 0x0f, 0x05, 0xc3]
}

/// Writes calls over the functions. A process without a vDSO needs nothing.
pub(crate) fn hide(pid: u32, memory: &Remote) -> io::Result<()> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let Some((start, end)) = maps.lines().find_map(range_of_vdso) else { return Ok(()) };
    let mut image = vec![0; (end - start) as usize];
    memory.read(start, &mut image)?;
    let elf = object::File::parse(&*image).map_err(io::Error::other)?;
    for symbol in elf.dynamic_symbols() {
        let name = symbol.name().map_err(io::Error::other)?;
        if let Some((_, number)) = FUNCTIONS.iter().find(|(function, _)| *function == name) {
            // Of getrandom() the state and what its size is are the vDSO's own: it asks for them
            // with such a length, and has none.
            let code = match *number {
                libc::SYS_getrandom => NO_STATE.to_vec(),
                number => calling(number).to_vec(),
            };
            memory.write(start + symbol.address(), &code)?;
        }
    }
    Ok(())
}

/// `mov $-ENOSYS,%rax; ret`.
const NO_STATE: [u8; 8] = [0x48, 0xc7, 0xc0, 0xda, 0xff, 0xff, 0xff, 0xc3];

fn range_of_vdso(line: &str) -> Option<(u64, u64)> {
    let (range, _) = line.split_once(' ').filter(|_| line.ends_with("[vdso]"))?;
    let (start, end) = range.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}
