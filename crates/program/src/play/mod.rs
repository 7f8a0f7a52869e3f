// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system calls that are played, and what each does.

pub(crate) mod bpf;
mod clocks;
pub(crate) mod epoll;
mod files;
mod futex;
mod identity;
mod polls;
pub(crate) mod scheduling;
mod sockets;
mod threads;
pub(crate) mod waits;

use crate::kept::Kept;
use crate::listener::Call;
use crate::program::Program;
use crate::threads::{Ret, Sleep};
use rota_machine::user_half::Live;
use rota_object::image::StructOps;
use std::fs::File;
use std::io;

/// What a call comes to.
pub(crate) enum Played {
    /// It returns this.
    Return(Ret),
    /// It returns a descriptor of this file.
    File(File),
    /// Its thread waits.
    Sleep(Sleep),
    /// Its thread lets others go first.
    Yield,
    /// Its thread ends.
    EndThread,
    /// It makes a thread, which clears this word when it ends.
    NewThread {
        /// Address of the word, or 0.
        clears: u64,
    },
    /// A machine is needed to go on with it.
    NeedsMachine,
    /// It has attached a scheduler with this table; it returns a descriptor or 0.
    Attached(Option<File>, Box<StructOps>),
    /// It has detached its scheduler.
    Detached,
}

impl From<Ret> for Played {
    fn from(ret: Ret) -> Self {
        Played::Return(ret)
    }
}

pub(crate) fn value(value: impl Into<i64>) -> Played {
    Played::Return(Ret::Value(value.into()))
}

pub(crate) fn fail(errno: i32) -> Played {
    Played::Return(Ret::Errno(errno))
}

/// What a call returns for an address that is not there.
fn or_fault(done: io::Result<Played>) -> Played {
    done.unwrap_or_else(|_| fail(libc::EFAULT))
}

impl Program {
    /// Plays one call.
    pub(crate) fn play(&mut self, call: &Call, live: Option<&mut Live<'_>>) -> Played {
        let clocks = self.clocks(live.as_deref());
        let kept = &mut self.kept;
        let done = match call.number {
            libc::SYS_clock_gettime => clocks::clock_gettime(kept, call, clocks),
            libc::SYS_gettimeofday => clocks::gettimeofday(kept, call, clocks),
            libc::SYS_time => clocks::time(kept, call, clocks),
            libc::SYS_nanosleep => clocks::nanosleep(kept, call, clocks),
            libc::SYS_clock_nanosleep => clocks::clock_nanosleep(kept, call, clocks),
            libc::SYS_futex => futex::futex(kept, &mut self.threads, call, clocks),
            libc::SYS_poll
            | libc::SYS_ppoll
            | libc::SYS_select
            | libc::SYS_pselect6
            | libc::SYS_epoll_wait
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2 => waits::for_files(kept, call, clocks),
            libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_accept
            | libc::SYS_accept4 => waits::for_file(kept, call, clocks),
            libc::SYS_epoll_ctl => epoll::control(kept, call),
            libc::SYS_socket => Ok(sockets::socket(call)),
            libc::SYS_bind => sockets::bind(kept, call),
            libc::SYS_setsockopt => sockets::set_option(kept, call),
            libc::SYS_connect => sockets::connect(kept, call),
            libc::SYS_pause | libc::SYS_rt_sigsuspend => Ok(waits::for_ever()),
            libc::SYS_rt_sigtimedwait => waits::for_signals(kept, call, clocks),
            libc::SYS_clone | libc::SYS_clone3 => threads::clone(kept, call),
            libc::SYS_execve | libc::SYS_execveat => Ok(threads::execute(kept)),
            libc::SYS_exit => Ok(Played::EndThread),
            // Only there to stop a new thread at its beginning.
            libc::SYS_rseq | libc::SYS_set_robust_list => Ok(Ret::Pass.into()),
            libc::SYS_getpid | libc::SYS_gettid => Ok(identity::number(kept, &self.threads, call)),
            libc::SYS_kill | libc::SYS_tkill | libc::SYS_tgkill => Ok(identity::signal(kept, call)),
            libc::SYS_uname => identity::uname(kept, call),
            libc::SYS_sysinfo => identity::sysinfo(kept, call, clocks),
            libc::SYS_capget => identity::capget(kept, call),
            libc::SYS_getrandom => identity::getrandom(kept, call),
            libc::SYS_sched_yield => Ok(Played::Yield),
            libc::SYS_getcpu => scheduling::getcpu(kept, call, live.as_deref()),
            libc::SYS_sched_getaffinity => scheduling::getaffinity(kept, call, live.as_deref()),
            libc::SYS_sched_setaffinity => scheduling::setaffinity(kept, call, live),
            libc::SYS_sched_setscheduler => Ok(scheduling::setscheduler(kept, call, live)),
            libc::SYS_setpriority => Ok(scheduling::setpriority(kept, call, live)),
            libc::SYS_sched_setparam | libc::SYS_sched_setattr => {
                Ok(scheduling::of_real_time(kept, call))
            }
            libc::SYS_bpf => return bpf::bpf(kept, call, live),
            libc::SYS_close => Ok(bpf::close(kept, call)),
            _ => files::by_path(kept, call, live.as_deref(), clocks),
        };
        or_fault(done)
    }
}
