// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts single tasks under a policy that was loaded with `--partial`, or under none.

use std::io;

/// `SCHED_EXT` of the kernel's headers.
const SCHED_EXT: libc::c_int = 7;

/// Makes a thread (`0`: the calling one) one of the policy's. Its nice value stays.
pub fn join_sched_ext(thread: u32) -> io::Result<()> {
    join(thread, SCHED_EXT)
}

/// Makes a thread (`0`: the calling one) an ordinary one, of the fair class unless a policy was
/// loaded for all. Its nice value stays.
pub fn join_fair(thread: u32) -> io::Result<()> {
    join(thread, libc::SCHED_OTHER)
}

fn join(thread: u32, policy: libc::c_int) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: `param` lives through the call, which only reads it.
    #[allow(unsafe_code)] // no safe crate knows this policy
    let result = unsafe { libc::sched_setscheduler(thread as libc::pid_t, policy, &param) };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
