// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts the program: confined, without rights of its own, and with the filter that brings its
//! system calls here.
#![allow(unsafe_code)]

use crate::confine::Confinement;
use crate::filter;
use crate::listener::{Call, Listener};
use libc::{sock_filter, sock_fprog};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::IoSlice;
use rustix::net::{
    recvmsg, sendmsg, socketpair, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage,
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::process::Signal;
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::fs;
use std::io;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// The program, stopped at its first system call that is played.
pub(crate) struct Spawned {
    pub(crate) child: Child,
    pub(crate) listener: Listener,
    /// That call, if it has come already.
    pub(crate) first: Option<Call>,
}

/// What `bpf(2)` is answered with before the program is executed: only Rota answers so.
const ANSWERED: i64 = 0x0b9f;

/// Which of the calls that a program needs is refused before Rota hears of it, with its error: as the
/// low half of an error's number, as a process that is being started has only that to say why.
const REFUSED: [(i32, &str); 2] = [
    (1 << 16, "personality(ADDR_NO_RANDOMIZE), without which no two runs are the same"),
    (2 << 16, "bpf(), which Rota would answer"),
];
const PERSONALITY: usize = 0;
const BPF: usize = 1;

/// The call that is refused, and why, if that is why a program was not started.
pub(crate) fn refused_call(error: &io::Error) -> Option<(&'static str, io::Error)> {
    let code = error.raw_os_error()?;
    let (high, call) = REFUSED.iter().find(|(high, _)| code & !0xffff == *high)?;
    Some((call, io::Error::from_raw_os_error(code - high)))
}

fn refuse(call: usize, error: &io::Error) -> io::Error {
    io::Error::from_raw_os_error(REFUSED[call].0 | error.raw_os_error().unwrap_or(libc::EPERM))
}

/// Starts a command whose arguments, environment and files are set.
pub(crate) fn spawn(mut command: Command, confinement: Confinement) -> io::Result<Spawned> {
    let (here, there) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let (filter, without_messages) = (filter::program(), filter::without_messages());
    let mut confinement = Some(confinement);
    let prepare = move || {
        let confinement = confinement.take().ok_or(io::ErrorKind::Unsupported)?;
        // no controlling terminal, where it could type
        rustix::process::setsid()?;
        same_addresses().map_err(|error| refuse(PERSONALITY, &error))?;
        confinement.restrict()?;
        give_up_capabilities()?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // Executing closes it; close() would wait for an answer, and nobody listens yet.
        let listener = ManuallyDrop::new(install(&filter)?);
        hand_over(there.as_fd(), listener.as_fd())?;
        bpf_is_answered().map_err(|error| refuse(BPF, &error))?;
        set_filter(&without_messages, 0).map(|_| ())
    };
    // SAFETY: between fork and exec it makes system calls and allocates nothing but what dropping
    // and creating descriptors needs; the C library's fork leaves its allocator usable.
    unsafe { command.pre_exec(prepare) };
    let (over, told) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    std::thread::scope(|scope| {
        let meeting = scope.spawn(|| meet(here.as_fd(), over.as_fd()));
        let child = command.spawn();
        drop(told);
        let met = meeting.join().map_err(|_| io::ErrorKind::Other)?;
        // Its own error says why nothing was handed over.
        let child = child?;
        let (listener, first) = met?;
        Ok(Spawned { child, listener, first })
    })
}

/// Takes the listener over, and lets calls pass until the program is executed: a process that
/// cannot execute it makes some, too. `over` ends when it is known which.
fn meet(socket: BorrowedFd<'_>, over: BorrowedFd<'_>) -> io::Result<(Listener, Option<Call>)> {
    let came = |fd: BorrowedFd<'_>| {
        let mut fds = [(fd, PollFlags::IN), (over, PollFlags::empty())]
            .map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags));
        while let Err(rustix::io::Errno::INTR) = poll(&mut fds, None) {}
        !fds[0].revents().is_empty()
    };
    if !came(socket) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let listener = Listener::new(take_over(socket)?);
    while came(listener.as_fd()) {
        let Some(call) = listener.receive()? else { break };
        let own = fs::read_link("/proc/self/exe")?;
        match fs::read_link(format!("/proc/{}/exe", call.tid)) {
            Ok(exe) if exe == own && call.number == libc::SYS_bpf => {
                listener.answer(&call, ANSWERED)?;
            }
            Ok(exe) if exe == own => listener.pass(&call)?,
            _ => return Ok((listener, Some(call))),
        }
    }
    Ok((listener, None))
}

/// Addresses are those of every run.
fn same_addresses() -> io::Result<()> {
    // SAFETY: changes a flag of this process, which executes another program next.
    match unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// A filter around this one that refuses a call is asked first, as in a container.
fn bpf_is_answered() -> io::Result<()> {
    // SAFETY: no such command, with no attributes.
    match unsafe { libc::syscall(libc::SYS_bpf, -1, 0, 0) } {
        ANSWERED => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Those of root: without them, and with `no_new_privs`, it gets none back by executing.
fn give_up_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(rustix::thread::set_capabilities(None, none)?)
}

fn install(filter: &[sock_filter]) -> io::Result<OwnedFd> {
    let listening = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // Signals that do not kill wait until a call is answered.
    let killable = listening | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let fd = set_filter(filter, killable).or_else(|_| set_filter(filter, listening))?;
    // SAFETY: the call made this descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Puts a filter on this process, and what it executes.
fn set_filter(filter: &[sock_filter], flags: libc::c_ulong) -> io::Result<i32> {
    let len = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program is there during the call, which copies it.
    let done =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &program) };
    match i32::try_from(done) {
        Ok(done @ 0..) => Ok(done),
        _ => Err(io::Error::last_os_error()),
    }
}

fn hand_over(socket: BorrowedFd<'_>, listener: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let listener = [listener];
    ancillary.push(SendAncillaryMessage::ScmRights(&listener));
    sendmsg(socket, &[IoSlice::new(b"l")], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

fn take_over(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut parts = [rustix::io::IoSliceMut::new(&mut byte)];
    recvmsg(socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut fds) = message {
            if let Some(fd) = fds.next() {
                return Ok(fd);
            }
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
