// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler's program that runs.

use crate::error::ProgramError;
use crate::kept::Kept;
use crate::listener::{Call, Came, Listener};
use crate::log::Log;
use crate::play::bpf::OfProgram;
use crate::play::{self, Played};
use crate::report::Report;
use crate::threads::{Ret, State, Threads};
use crate::time::Clocks;
use rota_machine::consts::BOOT_NS;
use rota_machine::user_half::Live;
use rota_object::image::{Image, StructOps};
use rota_object::set_up::SetUpStep;
use rota_vm::host::Host as _;
use rustix::process::{kill_process, Pid, Signal};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::time::Duration;
use tempfile::TempDir;

/// A scheduler's own program: a process whose system calls are played here. It ends with this value.
pub struct Program {
    pub(crate) name: String,
    child: Child,
    pub(crate) listener: Listener,
    pub(crate) threads: Threads,
    pub(crate) kept: Kept,
    log: Log,
    pub(crate) timeout: Duration,
    pub(crate) call_ns: u64,
    /// `CLOCK_MONOTONIC` before the machine runs, and then when it was read last.
    now_ns: u64,
    pub(crate) used_ns: u64,
    pub(crate) report: Report,
    /// A thread is being made that clears this word.
    expected: Option<u64>,
    pub(crate) ended: Option<i32>,
    pub(crate) table: Option<StructOps>,
    pub(crate) set_up: Vec<SetUpStep>,
    /// Another object that it has loaded, until the machine has it.
    pub(crate) image: Option<Image>,
    /// A signal waits for its first thread, which was not asleep when it came.
    interrupted: bool,
    /// It has detached its scheduler by what is no call that is answered: it executed another program.
    pub(crate) detached: bool,
    /// Holds its files and its folder.
    _folder: TempDir,
}

/// What a turn of the program came to.
pub(crate) enum Turn {
    /// It went on, up to its next call.
    Stepped,
    /// Nothing yet: another thread has its turn.
    Again,
    /// All of its threads wait, until then.
    Waits(Option<u64>),
    /// It lets others go first.
    Yields,
    /// It needs a machine to go on.
    NeedsMachine,
    /// It has attached its scheduler.
    Attached,
    /// It has detached its scheduler.
    Detached,
    /// It has ended with this status.
    Ended(i32),
}

pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) child: Child,
    pub(crate) listener: Listener,
    pub(crate) first: Option<Call>,
    pub(crate) kept: Kept,
    pub(crate) log: Log,
    pub(crate) timeout: Duration,
    pub(crate) call_ns: u64,
    pub(crate) report: Report,
    pub(crate) folder: TempDir,
}

impl Program {
    /// Of a process that waits in its first call.
    pub(crate) fn of(parts: Parts) -> Result<Self, ProgramError> {
        let Parts { name, child, listener, first, kept, log, timeout, call_ns, report, folder } =
            parts;
        let mut program = Self {
            name,
            child,
            listener,
            threads: Threads::default(),
            kept,
            log,
            timeout,
            call_ns,
            now_ns: BOOT_NS,
            used_ns: 0,
            report,
            expected: Some(0),
            ended: None,
            table: None,
            set_up: Vec::new(),
            image: None,
            interrupted: false,
            detached: false,
            _folder: folder,
        };
        match first {
            Some(call) => program.called(call)?,
            None => program.wait_for(None)?,
        }
        Ok(program)
    }

    /// Runs it until it attaches its scheduler, or runs one of its programs before: everything that
    /// it has loaded by then. It is set up before the machine starts, in no time.
    pub fn set_up(&mut self) -> Result<Image, ProgramError> {
        loop {
            match self.turn(None)? {
                Turn::Stepped | Turn::Again | Turn::Yields => {}
                Turn::Waits(Some(until_ns)) => self.pass_time(until_ns),
                Turn::Waits(None) if self.wait_for_others()? => {}
                Turn::Waits(None) => return Err(self.waits_for_ever()),
                Turn::NeedsMachine => return self.loaded_image(),
                Turn::Attached | Turn::Detached => {
                    return Err(self.loaded("attached a scheduler without a machine".into()))
                }
                Turn::Ended(_) => return Err(self.ended_early()),
            }
        }
    }

    /// What it has loaded, for the machine to run.
    pub(crate) fn loaded_image(&mut self) -> Result<Image, ProgramError> {
        let Kept { memory, pid, pages, played, .. } = &mut self.kept;
        let caller = OfProgram { memory, pid: *pid, pages };
        let image = played.image(&caller);
        image.map_err(|error| self.loaded(error.to_string()))
    }

    /// What becomes of it, also when others have it.
    pub fn report(&self) -> Report {
        self.report.clone()
    }

    /// The first line that it has printed.
    pub(crate) fn printed_first(&self) -> Option<String> {
        self.log.first_line()
    }

    pub(crate) fn share_log(&self) -> Result<Log, ProgramError> {
        self.log.share().map_err(self.io("sharing its log"))
    }

    /// `SIGINT` from outside. The kernel delivers it once a call of the first thread is answered; one
    /// that waits returns for that (`EINTR`).
    pub(crate) fn interrupt(&mut self) {
        let pid = Pid::from_raw(self.kept.pid as i32);
        // It may have ended.
        let sent = pid.map(|pid| kill_process(pid, Signal::INT));
        let Some((thread, Ok(()))) = self.threads.find(self.kept.pid).zip(sent) else { return };
        match self.threads.get(thread).state {
            State::Asleep(..) => self.threads.wake(thread, Ret::Errno(libc::EINTR)),
            _ => self.interrupted = true,
        }
    }

    /// It waits before the machine runs.
    pub(crate) fn pass_time(&mut self, until_ns: u64) {
        self.now_ns = self.now_ns.max(until_ns);
    }

    pub(crate) fn loaded(&self, what: String) -> ProgramError {
        ProgramError::Loaded { program: self.name.clone(), what }
    }

    pub(crate) fn waits_for_ever(&self) -> ProgramError {
        ProgramError::Waits { program: self.name.clone(), output: self.log.end() }
    }

    pub(crate) fn ended_early(&mut self) -> ProgramError {
        let how = match self.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => "it is killed".into(),
        };
        ProgramError::Ended { program: self.name.clone(), how, output: self.log.end() }
    }

    pub(crate) fn io(&self, doing: &'static str) -> impl FnOnce(io::Error) -> ProgramError {
        let program = self.name.clone();
        move |why| ProgramError::Io { program, doing, why }
    }

    /// The clocks now.
    pub(crate) fn clocks(&mut self, live: Option<&Live<'_>>) -> Clocks {
        if let Some(live) = live {
            self.now_ns = self.now_ns.max(live.system.now_ns());
        }
        Clocks { monotonic_ns: self.now_ns, boot_ns: BOOT_NS, used_ns: self.used_ns }
    }

    /// One turn of the thread that has it.
    pub(crate) fn turn(&mut self, live: Option<&mut Live<'_>>) -> Result<Turn, ProgramError> {
        if let Some(status) = self.ended {
            return Ok(Turn::Ended(status));
        }
        if std::mem::take(&mut self.detached) {
            return Ok(Turn::Detached);
        }
        let now_ns = self.clocks(live.as_deref()).monotonic_ns;
        self.threads.wake_due(now_ns);
        if let Some(live) = live.as_deref().filter(|_| self.kept.watches_groups) {
            self.kept.follow(live);
        }
        self.wake_ready();
        let Some(thread) = self.threads.current() else {
            return Ok(Turn::Waits(self.threads.deadline_ns()));
        };
        let (call, ret) = match self.threads.get(thread).state {
            State::Returns(call, ret) => (call, ret),
            State::Called(call) => match self.play(&call, live) {
                Played::Return(ret) => (call, ret),
                Played::Sleep(_) if self.interrupted && call.tid == self.kept.pid => {
                    (call, Ret::Errno(libc::EINTR))
                }
                Played::Sleep(sleep) => {
                    self.threads.sleep(call, sleep);
                    return Ok(Turn::Again);
                }
                Played::Yield => {
                    self.threads.set(thread, State::Returns(call, Ret::Value(0)));
                    self.threads.rotate();
                    return Ok(Turn::Yields);
                }
                Played::NeedsMachine => return Ok(Turn::NeedsMachine),
                Played::File(file) => {
                    self.listener.give(&call, &file, true).map_err(self.io("giving it a file"))?;
                    return self.go_on(thread);
                }
                Played::Attached(file, table) => {
                    self.table = Some(*table);
                    match file {
                        Some(file) => self.listener.give(&call, &file, true),
                        None => self.listener.answer(&call, 0),
                    }
                    .map_err(self.io("giving it a link"))?;
                    self.go_on(thread)?;
                    return Ok(Turn::Attached);
                }
                Played::Detached => {
                    self.kept.link = None;
                    // closing is the computer's, too
                    let ret = if call.number == libc::SYS_bpf { Ret::Value(0) } else { Ret::Pass };
                    self.threads.set(thread, State::Returns(call, ret));
                    return Ok(Turn::Detached);
                }
                Played::NewThread { clears } => {
                    self.expected = Some(clears);
                    (call, Ret::Pass)
                }
                Played::EndThread => return self.end_thread(call),
            },
            // Its next call is waited for before anything else happens.
            State::Asleep(..) | State::Runs | State::Gone => return Ok(Turn::Again),
        };
        if ret == Ret::Value(0) && is_wait(&call) {
            // An address that is gone by now is the program's own fault.
            let _ = play::waits::clear(&self.kept, &call);
        }
        self.answer(&call, ret)?;
        self.go_on(thread)
    }

    fn answer(&self, call: &Call, ret: Ret) -> Result<(), ProgramError> {
        match ret {
            Ret::Value(value) => self.listener.answer(call, value),
            Ret::Errno(errno) => self.listener.fail(call, errno),
            Ret::Pass => self.listener.pass(call),
        }
        .map_err(self.io("answering a system call"))
    }

    /// A thread whose call is answered executes its code up to the next one.
    fn go_on(&mut self, thread: usize) -> Result<Turn, ProgramError> {
        self.threads.set(thread, State::Runs);
        self.interrupted &= self.threads.get(thread).tid != self.kept.pid;
        self.wait_for(Some(thread))?;
        Ok(match self.ended {
            Some(status) => Turn::Ended(status),
            None => Turn::Stepped,
        })
    }

    /// Waits for the next call of a thread, and for threads that come into being.
    fn wait_for(&mut self, thread: Option<usize>) -> Result<(), ProgramError> {
        loop {
            let runs = thread.is_some_and(|t| self.threads.get(t).state == State::Runs);
            if !runs && self.expected.is_none() {
                return Ok(());
            }
            if !runs && thread.is_some() && self.live_threads() == self.threads.live() {
                // None could be made.
                self.expected = None;
                return Ok(());
            }
            let patience = if runs { self.timeout } else { self.timeout.min(WITHOUT_NEWS) };
            let came = self.listener.wait(self.kept.pidfd.as_fd(), patience);
            match came.map_err(self.io("waiting for a system call"))? {
                Came::Call(call) => self.called(call)?,
                Came::End => {
                    let status = self.child.wait().map_err(self.io("waiting for its end"))?;
                    let killed = status.signal().map_or(0, |signal| 128 + signal);
                    self.ended = Some(status.code().unwrap_or(killed));
                    return Ok(());
                }
                Came::Nothing if !runs && thread.is_some() => {}
                Came::Nothing => return Err(self.hangs(thread)),
            }
        }
    }

    /// A call has come.
    pub(crate) fn called(&mut self, call: Call) -> Result<(), ProgramError> {
        if self.kept.executes && self.has_executed(call)? {
            return Ok(());
        }
        if let Some(thread) = self.threads.find(call.tid) {
            self.threads.set(thread, State::Called(call));
            return Ok(());
        }
        if !self.is_own(call.tid) {
            // Another process, which it has started.
            let done = match call.number {
                libc::SYS_bpf => self.listener.fail(&call, libc::EPERM),
                libc::SYS_kill | libc::SYS_tkill | libc::SYS_tgkill => {
                    self.listener.fail(&call, libc::EPERM)
                }
                _ => self.listener.pass(&call),
            };
            return done.map_err(self.io("answering a system call"));
        }
        if self.threads.live() == 0 {
            self.begin()?;
        }
        let clears = self.expected.take().unwrap_or(0);
        self.threads.add(call, clears);
        Ok(())
    }

    /// None is awaited that is being made.
    pub(crate) fn forget_new_thread(&mut self) {
        self.expected = None;
    }

    /// Whether a thread is of this process.
    fn is_own(&self, tid: u32) -> bool {
        fs::exists(format!("/proc/{}/task/{tid}", self.kept.pid)).unwrap_or(false)
    }

    fn live_threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.kept.pid)).map_or(0, Iterator::count)
    }

    fn end_thread(&mut self, call: Call) -> Result<Turn, ProgramError> {
        let clears = self.threads.end_current();
        self.answer(&call, Ret::Pass)?;
        // The kernel clears its word before those that wait for it may go on.
        while self.is_own(call.tid) && call.tid != self.kept.pid {
            std::thread::sleep(Duration::from_micros(50));
        }
        if clears != 0 {
            self.threads.wake_futex(clears, 1, u32::MAX);
        }
        if self.threads.live() == 0 {
            self.expected = None;
            let status = self.child.wait().map_err(self.io("waiting for its end"))?;
            self.ended = Some(status.code().unwrap_or(0));
            return Ok(Turn::Ended(status.code().unwrap_or(0)));
        }
        Ok(Turn::Stepped)
    }

    /// Those that wait for files that have become ready go on.
    pub(crate) fn wake_ready(&mut self) {
        for (thread, call) in self.threads.on_files() {
            if play::waits::are_ready(&mut self.kept, &call).unwrap_or(true) {
                self.threads.call_again(thread);
            }
        }
    }

    fn hangs(&self, thread: Option<usize>) -> ProgramError {
        let tid = thread.map_or(self.kept.pid, |thread| self.threads.get(thread).tid);
        let place = fs::read_to_string(format!("/proc/{}/task/{tid}/syscall", self.kept.pid));
        let place = place.unwrap_or_default();
        let place = match place.split_whitespace().next() {
            Some("running") | None => "it computes".to_owned(),
            Some(number) => format!("it waits in system call {number}, which is not played"),
        };
        ProgramError::Hangs {
            program: self.name.clone(),
            after: self.timeout,
            place,
            output: self.log.end(),
        }
    }
}

/// For how long a thread that is being made may not show.
const WITHOUT_NEWS: Duration = Duration::from_millis(20);

fn is_wait(call: &Call) -> bool {
    [libc::SYS_poll, libc::SYS_ppoll, libc::SYS_select, libc::SYS_pselect6].contains(&call.number)
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may be over already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("name", &self.name).finish_non_exhaustive()
    }
}
