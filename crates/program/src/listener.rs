// SPDX-License-Identifier: MIT OR Apache-2.0
//! Seccomp's listener: calls come, answers go (`Documentation/userspace-api/seccomp_filter.rst`).
#![allow(unsafe_code)]

use libc::{seccomp_notif, seccomp_notif_addfd, seccomp_notif_resp};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// A system call that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    id: u64,
    /// Thread that made it.
    pub(crate) tid: u32,
    /// `SYS_*`.
    pub(crate) number: libc::c_long,
    /// Its arguments.
    pub(crate) args: [u64; 6],
}

#[cfg(test)]
impl Call {
    /// A call of this thread that nobody waits for.
    pub(crate) fn of_test(tid: u32) -> Self {
        Self { id: 0, tid, number: 0, args: [0; 6] }
    }
}

/// What came of waiting.
pub(crate) enum Came {
    /// A call.
    Call(Call),
    /// The process is over.
    End,
    /// Nothing, for too long.
    Nothing,
}

/// The listener.
pub(crate) struct Listener {
    fd: OwnedFd,
}

impl Listener {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self { fd }
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The next call, or the end of the process that `pidfd` is of.
    pub(crate) fn wait(&self, pidfd: BorrowedFd<'_>, at_most: Duration) -> io::Result<Came> {
        let end = Instant::now() + at_most;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let left =
                Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut fds = [
                PollFd::new(&self.fd, PollFlags::IN),
                PollFd::from_borrowed_fd(pidfd, PollFlags::IN),
            ];
            match poll(&mut fds, Some(&left)) {
                Ok(0) => return Ok(Came::Nothing),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if fds[0].revents().contains(PollFlags::IN) {
                match self.receive()? {
                    Some(call) => return Ok(Came::Call(call)),
                    None => continue,
                }
            }
            if !fds[1].revents().is_empty() {
                return Ok(Came::End);
            }
        }
    }

    /// A call that has come; `None` if its thread was killed in the meantime.
    pub(crate) fn receive(&self) -> io::Result<Option<Call>> {
        // SAFETY: all zeros is a value of this plain struct, and what the kernel asks for.
        let mut notif: seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the request is the one for this struct, which lives through the call.
        let received = check(unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV as _, &mut notif)
        });
        let number = libc::c_long::from(notif.data.nr);
        match received {
            Ok(_) => Ok(Some(Call { id: notif.id, tid: notif.pid, number, args: notif.data.args })),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn respond(&self, call: &Call, value: i64, error: i32, flags: u32) -> io::Result<()> {
        let mut response = seccomp_notif_resp { id: call.id, val: value, error: -error, flags };
        // SAFETY: the request is the one for this struct, which lives through the call.
        let sent = check(unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, &mut response)
        });
        match sent {
            // nobody waits for it any more
            Err(error) if is_gone(&error) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// The call returns this.
    pub(crate) fn answer(&self, call: &Call, value: i64) -> io::Result<()> {
        self.respond(call, value, 0, 0)
    }

    /// The call fails.
    pub(crate) fn fail(&self, call: &Call, errno: i32) -> io::Result<()> {
        self.respond(call, 0, errno, 0)
    }

    /// The computer's own kernel executes the call.
    pub(crate) fn pass(&self, call: &Call) -> io::Result<()> {
        self.respond(call, 0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32)
    }

    /// The call returns a new descriptor of this file.
    pub(crate) fn give(&self, call: &Call, file: &impl AsFd, cloexec: bool) -> io::Result<()> {
        let addfd = seccomp_notif_addfd {
            id: call.id,
            flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
            srcfd: file.as_fd().as_raw_fd() as u32,
            newfd: 0,
            newfd_flags: if cloexec { libc::O_CLOEXEC as u32 } else { 0 },
        };
        // SAFETY: the request is the one for this struct, and the descriptor is open.
        let given = check(unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD as _, &addfd)
        });
        match given {
            Err(error) if is_gone(&error) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                self.fail(call, libc::EMFILE)
            }
            other => other.map(|_| ()),
        }
    }
}

fn check(value: libc::c_int) -> io::Result<libc::c_int> {
    match value {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// The call was given up in the meantime.
fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOENT)
}
