// SPDX-License-Identifier: MIT OR Apache-2.0
//! Classes of threads: under a policy that was loaded with `--partial`, ordinary, real-time.

use std::io;

/// `SCHED_EXT` of the kernel's headers.
const SCHED_EXT: u32 = 7;

/// A policy of the kernel for a thread, with what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `SCHED_OTHER`, with the slice that the thread asks for; 0: none.
    Other {
        /// Nanoseconds.
        slice_ns: u64,
    },
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_EXT`.
    Ext,
    /// `SCHED_FIFO` with a priority of 1 to 99.
    Fifo(u32),
    /// `SCHED_RR` with a priority of 1 to 99.
    RoundRobin(u32),
    /// `SCHED_DEADLINE`.
    Deadline {
        /// CPU time of each period.
        runtime_ns: u64,
        /// From the start of a period until it must have had that.
        deadline_ns: u64,
        /// Length of a period.
        period_ns: u64,
    },
}

/// Makes a thread (`0`: the calling one) one of the policy's. Its nice value stays.
pub fn join_sched_ext(thread: u32) -> io::Result<()> {
    set_scheduler(thread, SCHED_EXT as libc::c_int)
}

/// Sets class and nice value of a thread (`sched_setattr()`); real-time and deadline threads have no
/// nice value.
pub fn set_class(thread: u32, class: Class, nice: i32) -> io::Result<()> {
    let (sched_policy, sched_priority, times) = match class {
        Class::Other { slice_ns } => (libc::SCHED_OTHER as u32, 0, [slice_ns, 0, 0]),
        Class::Batch => (libc::SCHED_BATCH as u32, 0, [0; 3]),
        Class::Idle => (libc::SCHED_IDLE as u32, 0, [0; 3]),
        Class::Ext => (SCHED_EXT, 0, [0; 3]),
        Class::Fifo(priority) => (libc::SCHED_FIFO as u32, priority, [0; 3]),
        Class::RoundRobin(priority) => (libc::SCHED_RR as u32, priority, [0; 3]),
        Class::Deadline { runtime_ns, deadline_ns, period_ns } => {
            (libc::SCHED_DEADLINE as u32, 0, [runtime_ns, deadline_ns, period_ns])
        }
    };
    let [sched_runtime, sched_deadline, sched_period] = times;
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy,
        sched_flags: 0,
        sched_nice: nice,
        sched_priority,
        sched_runtime,
        sched_deadline,
        sched_period,
    };
    // SAFETY: `attributes` lives through the call, which only reads it, as far as its size says.
    #[allow(unsafe_code)] // no safe crate has this call
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setattr, thread as libc::pid_t, &attributes, 0) };
    outcome(result == 0)
}

fn set_scheduler(thread: u32, policy: libc::c_int) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: `param` lives through the call, which only reads it.
    #[allow(unsafe_code)] // no safe crate knows this policy
    let result = unsafe { libc::sched_setscheduler(thread as libc::pid_t, policy, &param) };
    outcome(result == 0)
}

fn outcome(good: bool) -> io::Result<()> {
    match good {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nice value and policy, fields 19 and 41 of `/proc/thread-self/stat` (proc_pid_stat(5)).
    fn nice_and_policy() -> (i32, u32) {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        (fields[19 - 3].parse().unwrap(), fields[41 - 3].parse().unwrap())
    }

    #[test]
    fn a_thread_has_the_class_and_nice_value_that_it_was_given() {
        for (class, policy) in [
            (Class::Batch, libc::SCHED_BATCH),
            (Class::Other { slice_ns: 3_000_000 }, libc::SCHED_OTHER),
        ] {
            let found = std::thread::spawn(move || {
                set_class(0, class, 19).unwrap();
                nice_and_policy()
            });

            assert_eq!(found.join().unwrap(), (19, policy as u32), "{class:?}");
        }
    }

    #[test]
    fn a_class_that_cannot_be_is_an_error() {
        let zero = Class::Deadline { runtime_ns: 0, deadline_ns: 0, period_ns: 0 };

        assert!(set_class(0, zero, 0).is_err());
    }
}
