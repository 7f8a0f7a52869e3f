// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that wait for files or signals. What a file is ready for is the computer's to say; how long
//! a thread waits is simulated time. Only the program itself makes its files ready.

use super::{epoll, fail, polls, sockets, value, Call, Kept, Played};
use crate::threads::{On, Ret, Sleep};
use crate::time::Clocks;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{pidfd_getfd, PidfdGetfdFlags};
use std::io;
use std::os::fd::OwnedFd;

/// Most files that one call may name (`RLIMIT_NOFILE` of most systems).
const MAX_FILES: u64 = 1024;

/// `None`: not at all; `Some(None)`: for ever.
type Until = Option<Option<u64>>;

/// `poll()`, `select()`, `epoll_wait()` and their like.
pub(super) fn for_files(kept: &mut Kept, call: &Call, clocks: Clocks) -> io::Result<Played> {
    let Some(until_ns) = until(kept, call, clocks)? else { return Ok(fail(libc::EINVAL)) };
    if is_epoll(call) {
        if let Some(told) = epoll::answer(kept, call)? {
            return Ok(told);
        }
    }
    if let Some(found) = of_rings(kept, call)? {
        let ready = polls::tell(kept, call, &found)?;
        if ready > 0 || until_ns.is_some_and(|until| until <= clocks.monotonic_ns) {
            return Ok(value(ready));
        }
        return Ok(Played::Sleep(Sleep { until_ns, late: Ret::Value(0), on: On::Files }));
    }
    if are_ready(kept, call)? || until_ns.is_some_and(|until| until <= clocks.monotonic_ns) {
        // They are ready, or it looks only: the kernel's answer does not depend on time.
        return Ok(Ret::Pass.into());
    }
    let on = if asks_for_none(call) { On::Nothing } else { On::Files };
    Ok(Played::Sleep(Sleep { until_ns, late: Ret::Value(0), on }))
}

fn is_epoll(call: &Call) -> bool {
    [libc::SYS_epoll_wait, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2].contains(&call.number)
}

/// `read()`, `accept()` and their like: of what may block, once there is something.
pub(super) fn for_file(kept: &mut Kept, call: &Call, clocks: Clocks) -> io::Result<Played> {
    let fd = call.args[0] as i32;
    let link = std::fs::read_link(format!("/proc/{}/fd/{fd}", kept.pid));
    let blocks =
        |name: &str| ["pipe:", "socket:", "anon_inode:"].iter().any(|kind| name.starts_with(kind));
    let may_block = link.is_ok_and(|link| link.to_str().is_some_and(blocks));
    if !may_block || are_ready(kept, call)? {
        return Ok(Ret::Pass.into());
    }
    // one that does not wait says so at once
    let mut opened = std::fs::read_to_string(format!("/proc/{}/fdinfo/{fd}", kept.pid))?;
    opened.truncate(opened.find("mnt_id").unwrap_or(opened.len()));
    let flags = opened.split_once("flags:").and_then(|(_, rest)| rest.split_whitespace().next());
    let flags = flags.and_then(|flags| i32::from_str_radix(flags, 8).ok()).unwrap_or(0);
    let flags_of_call = match call.number {
        libc::SYS_recvfrom => call.args[3],
        libc::SYS_recvmsg => call.args[2],
        _ => 0,
    };
    if flags & libc::O_NONBLOCK != 0 || flags_of_call as i32 & libc::MSG_DONTWAIT != 0 {
        return Ok(Ret::Pass.into());
    }
    let until_ns = sockets::patience_ns(kept, fd).map(|ns| clocks.monotonic_ns.saturating_add(ns));
    Ok(Played::Sleep(Sleep { until_ns, late: Ret::Errno(libc::EAGAIN), on: On::Files }))
}

/// Until when it waits.
fn until(kept: &Kept, call: &Call, clocks: Clocks) -> io::Result<Until> {
    let later = |ns: u64| Some(Some(clocks.monotonic_ns.saturating_add(ns)));
    let milliseconds = |ms: u64| match ms as i32 {
        ms @ 0.. => later(ms as u64 * 1_000_000),
        _ => Some(None),
    };
    let timespec = |addr: u64| match addr {
        0 => Ok(Some(None)),
        addr => Ok::<_, io::Error>(kept.memory.timespec(addr)?.and_then(later)),
    };
    Ok(match call.number {
        libc::SYS_poll => milliseconds(call.args[2]),
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => milliseconds(call.args[3]),
        libc::SYS_ppoll => timespec(call.args[2])?,
        libc::SYS_epoll_pwait2 => timespec(call.args[3])?,
        libc::SYS_pselect6 => timespec(call.args[4])?,
        _ => match call.args[4] {
            0 => Some(None),
            addr => {
                let (seconds, us) = (kept.memory.u64(addr)?, kept.memory.u64(addr + 8)?);
                let valid = i64::try_from(seconds).is_ok() && us < 1_000_000;
                let ns =
                    seconds.saturating_mul(1_000_000_000).saturating_add(us.saturating_mul(1000));
                valid.then_some(ns).and_then(later)
            }
        },
    })
}

/// Whether a call waits for a time only.
fn asks_for_none(call: &Call) -> bool {
    match call.number {
        libc::SYS_poll | libc::SYS_ppoll => call.args[1] == 0,
        libc::SYS_select | libc::SYS_pselect6 => call.args[0] == 0,
        _ => false,
    }
}

/// Whether one of the files that a call names is ready for what it asks.
pub(crate) fn are_ready(kept: &mut Kept, call: &Call) -> io::Result<bool> {
    if is_epoll(call) && !epoll::events(kept, call.args[0] as i32).is_empty() {
        return Ok(true);
    }
    if let Some(found) = of_rings(kept, call)? {
        return Ok(found.iter().any(|flags| !flags.is_empty()));
    }
    let asked = match call.number {
        libc::SYS_poll | libc::SYS_ppoll => of_poll(kept, call)?,
        libc::SYS_select | libc::SYS_pselect6 => of_select(kept, call)?,
        _ => vec![(call.args[0] as i32, PollFlags::IN)],
    };
    let mut open = Vec::new();
    for (fd, events) in asked {
        match pidfd_getfd(&kept.pidfd, fd, PidfdGetfdFlags::empty()) {
            Ok(file) => open.push((file, events)),
            // poll() says so, and does not wait.
            Err(rustix::io::Errno::BADF) => return Ok(true),
            Err(_) => kept.unplayed("waiting for files, where pidfd_getfd() is forbidden"),
        }
    }
    Ok(is_any_ready(&open))
}

/// What a `poll()` that names ring buffers finds.
fn of_rings(kept: &mut Kept, call: &Call) -> io::Result<Option<Vec<PollFlags>>> {
    if !matches!(call.number, libc::SYS_poll | libc::SYS_ppoll) {
        return Ok(None);
    }
    let asked = of_poll(kept, call)?;
    polls::found(kept, &asked)
}

fn is_any_ready(files: &[(OwnedFd, PollFlags)]) -> bool {
    let mut fds: Vec<_> = files.iter().map(|(fd, events)| PollFd::new(fd, *events)).collect();
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}

fn of_poll(kept: &Kept, call: &Call) -> io::Result<Vec<(i32, PollFlags)>> {
    let mut all = Vec::new();
    for at in 0..call.args[1].min(MAX_FILES) {
        let mut entry = [0; 8];
        kept.memory.read(call.args[0] + 8 * at, &mut entry)?;
        let [a, b, c, d, low, high, ..] = entry;
        let fd = i32::from_le_bytes([a, b, c, d]);
        if fd >= 0 {
            all.push((fd, PollFlags::from_bits_retain(u16::from_le_bytes([low, high]))));
        }
    }
    Ok(all)
}

fn of_select(kept: &Kept, call: &Call) -> io::Result<Vec<(i32, PollFlags)>> {
    let mut all = Vec::new();
    let sets = [PollFlags::IN, PollFlags::OUT, PollFlags::PRI];
    for (set, events) in call.args[1..4].iter().zip(sets).filter(|(set, _)| **set != 0) {
        for fd in 0..call.args[0].min(MAX_FILES) {
            let mut byte = [0];
            kept.memory.read(set + fd / 8, &mut byte)?;
            if byte[0] >> (fd % 8) & 1 == 1 {
                all.push((fd as i32, events));
            }
        }
    }
    Ok(all)
}

/// No signal comes but the program's own.
pub(super) fn for_ever() -> Played {
    let late = Ret::Errno(libc::EINTR);
    Played::Sleep(Sleep { until_ns: None, late, on: On::Nothing })
}

pub(super) fn for_signals(kept: &Kept, call: &Call, clocks: Clocks) -> io::Result<Played> {
    let until_ns = match call.args[2] {
        0 => None,
        addr => match kept.memory.timespec(addr)? {
            Some(ns) => Some(clocks.monotonic_ns.saturating_add(ns)),
            None => return Ok(fail(libc::EINVAL)),
        },
    };
    if until_ns.is_some_and(|until| until <= clocks.monotonic_ns) {
        return Ok(Ret::Pass.into());
    }
    let late = Ret::Errno(libc::EAGAIN);
    Ok(Played::Sleep(Sleep { until_ns, late, on: On::Nothing }))
}

/// What a call that waited for files in vain has to say: nothing is set.
pub(crate) fn clear(kept: &Kept, call: &Call) -> io::Result<()> {
    match call.number {
        libc::SYS_poll | libc::SYS_ppoll => {
            for at in 0..call.args[1].min(MAX_FILES) {
                kept.memory.write(call.args[0] + 8 * at + 6, &[0; 2])?;
            }
        }
        libc::SYS_select | libc::SYS_pselect6 => {
            let bytes = call.args[0].min(MAX_FILES).div_ceil(64) * 8;
            for set in call.args[1..4].iter().filter(|set| **set != 0) {
                kept.memory.write(*set, &vec![0; bytes as usize])?;
            }
        }
        _ => {}
    }
    Ok(())
}
