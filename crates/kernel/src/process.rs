// SPDX-License-Identifier: MIT OR Apache-2.0
//! What no safe crate does with processes and their threads.

use std::io;
use std::time::Duration;

/// CPU time of all threads that a process has, and of those it had.
pub fn process_cpu_time(pid: u32) -> io::Result<Duration> {
    let mut clock = 0;
    // SAFETY: the call writes to `clock` only, which lives through it.
    #[allow(unsafe_code)]
    let error = unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `time` only, which lives through it.
    #[allow(unsafe_code)]
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    match result {
        0 => Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends the calling thread and no other, also if it leads the process: that goes on without.
pub fn end_thread() -> ! {
    loop {
        // SAFETY: the thread does nothing any more; what it has borrowed to others stays in
        // memory, as its stack does.
        #[allow(unsafe_code)]
        unsafe {
            libc::syscall(libc::SYS_exit, 0)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Instant;

    /// Of the calling thread and of one that has ended.
    #[test]
    fn a_process_keeps_the_time_of_threads_that_ended() {
        let pid = std::process::id();
        let before = process_cpu_time(pid).unwrap();
        let busy = || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(20) {
                std::hint::spin_loop();
            }
        };
        thread::spawn(busy).join().unwrap();
        let after = process_cpu_time(pid).unwrap();
        assert!(after > before + Duration::from_millis(1), "{before:?}, {after:?}");
    }

    #[test]
    fn who_is_not_there_has_no_time() {
        // a pid is below 2^22
        assert!(process_cpu_time((1 << 22) + 1).is_err());
    }
}
