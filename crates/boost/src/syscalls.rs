// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two system calls that no crate has for us: `sched_getattr` and `sched_setattr`. A slice is
//! asked for with `sched_runtime`, since Linux 6.12; older kernels ignore it.
#![allow(unsafe_code)]

use rustix::process::{getpriority_process, setpriority_process, Pid};
use std::io;

/// Policy of ordinary threads.
pub const SCHED_OTHER: u32 = 0;
/// The same for throughput rather than latency; has nice values and slices, too.
pub const SCHED_BATCH: u32 = 3;
/// Runs when no other wants to. Its nice value says nothing until it has another policy.
pub const SCHED_IDLE: u32 = 5;
/// Scheduled by a sched_ext program; has nice values and slices, too.
pub const SCHED_EXT: u32 = 7;
/// Children begin with nice 0 and an ordinary slice.
pub const RESET_ON_FORK: u64 = 1;

/// What `rota boost` looks at and changes of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    /// Scheduling policy.
    pub policy: u32,
    /// Flags, such as [`RESET_ON_FORK`].
    pub flags: u64,
    /// Nice value.
    pub nice: i32,
    /// Slice; 0 where the kernel has none to tell, and to go back to the kernel's own.
    pub slice_ns: u64,
}

impl Attr {
    /// Does `sched_setattr` set nice value and slice under this policy (the kernel's
    /// `fair_policy()`)? Under the others a thread keeps those that it had before.
    pub fn takes_nice(&self) -> bool {
        matches!(self.policy, SCHED_OTHER | SCHED_BATCH | SCHED_EXT)
    }
}

/// The kernel's, in its first version.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Reads a thread's attributes.
pub fn attr(tid: u32) -> io::Result<Attr> {
    let mut raw = SchedAttr::default();
    let size = std::mem::size_of::<SchedAttr>() as u32;
    // SAFETY: the kernel writes at most `size` bytes to `raw`, which has as many.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &mut raw, size, 0u32) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let SchedAttr { policy, flags, nice, runtime, .. } = raw;
    let attr = Attr { policy, flags: flags & RESET_ON_FORK, nice, slice_ns: runtime };
    if attr.takes_nice() {
        return Ok(attr);
    }
    // Real-time and deadline threads have a nice value that this call does not return, and the
    // runtime is something else.
    Ok(Attr { nice: getpriority_process(pid(tid))?, slice_ns: 0, ..attr })
}

/// Sets a thread's nice value, whatever its policy.
pub fn renice(tid: u32, nice: i32) -> io::Result<()> {
    Ok(setpriority_process(pid(tid), nice)?)
}

/// `None` for 0, which is oneself.
fn pid(tid: u32) -> Option<Pid> {
    Pid::from_raw(tid as i32)
}

/// Sets a thread's attributes.
pub fn set_attr(tid: u32, attr: &Attr) -> io::Result<()> {
    let raw = SchedAttr {
        size: std::mem::size_of::<SchedAttr>() as u32,
        policy: attr.policy,
        flags: attr.flags,
        nice: attr.nice,
        runtime: attr.slice_ns,
        ..SchedAttr::default()
    };
    // SAFETY: the kernel reads `size` bytes from `raw`, which has as many.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw, 0u32) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel takes 19 for what is above.
    fn nicer(attr: Attr, by: i32) -> i32 {
        (attr.nice + by).min(19)
    }

    #[test]
    fn a_threads_attributes_are_read() {
        let own = attr(0).expect("one's own can be read");
        assert_eq!(own.policy, SCHED_OTHER);
        let kernel = io::Error::from_raw_os_error(libc::ESRCH).kind();
        // Above the largest pid that there can be.
        assert_eq!(attr(1 << 23).map_err(|e| e.kind()), Err(kernel));
    }

    /// `sched_setattr` does not set it; the kernel keeps it for when the policy changes.
    #[test]
    fn the_nice_value_of_a_sched_idle_thread_is_read_and_set() {
        let changed = std::thread::spawn(|| {
            let before = attr(0)?;
            set_attr(0, &Attr { nice: nicer(before, 2), ..before })?;
            set_attr(0, &Attr { policy: SCHED_IDLE, slice_ns: 0, ..before })?;
            let idle = attr(0)?;
            renice(0, nicer(before, 3))?;
            io::Result::Ok((before, idle, attr(0)?))
        });
        let (before, idle, after) =
            changed.join().expect("no panic").expect("allowed to everybody");
        assert_eq!((idle.policy, idle.nice), (SCHED_IDLE, nicer(before, 2)));
        assert_eq!((after.policy, after.nice), (SCHED_IDLE, nicer(before, 3)));
    }

    #[test]
    fn a_thread_gets_nicer_with_a_short_slice_and_back() {
        // On a thread of its own: without privileges nobody gets back from nice 3.
        let changed = std::thread::spawn(|| {
            let before = attr(0)?;
            set_attr(0, &Attr { nice: nicer(before, 3), slice_ns: 100_000, ..before })?;
            io::Result::Ok((before, attr(0)?))
        });
        let (before, after) = changed.join().expect("no panic").expect("allowed to everybody");
        assert_eq!(after.nice, nicer(before, 3));
        assert!(before.slice_ns == 0 || after.slice_ns == 100_000, "{after:?}");
    }
}
