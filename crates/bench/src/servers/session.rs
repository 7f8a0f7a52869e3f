// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that run as a user and in a session of their own, until they are told to end.

use super::keeper::Keeper;
use super::User;
use crate::error::Error;
use rustix::process::{
    kill_process, kill_process_group, setpriority_pgrp, setpriority_process, setsid, Pid, Signal,
};
use std::cell::Cell;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often we look whether something happened.
const LOOK: Duration = Duration::from_millis(10);

/// What everything of a bench has in common: a directory, who tidies, and whether to stop.
pub(crate) struct Stage<'a> {
    pub(crate) directory: PathBuf,
    pub(crate) keeper: Keeper,
    pub(crate) stop: &'a dyn Fn() -> bool,
    /// How many directories it has made.
    pub(crate) directories: Cell<usize>,
}

impl Stage<'_> {
    /// A path in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Makes a directory that belongs to a user; its name begins with this.
    pub(crate) fn directory_of(&self, name: &str, user: User) -> Result<PathBuf, Error> {
        let number = self.directories.replace(self.directories.get() + 1);
        let path = self.path(&format!("{name}-{number}"));
        let done = std::fs::create_dir(&path);
        done.and_then(|()| std::os::unix::fs::chown(&path, Some(user.id), Some(user.id)))
            .map_err(|e| Error::system(&format!("make {}", path.display()), e))?;
        Ok(path)
    }

    /// Writes a file that everybody may read.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> Result<PathBuf, Error> {
        let path = self.path(name);
        let done = std::fs::write(&path, text);
        done.map_err(|e| Error::system(&format!("write {}", path.display()), e))?;
        Ok(path)
    }

    /// Starts a program, whose output goes to the file `NAME.out`, errors to `NAME.err`.
    pub(crate) fn start(&self, name: &str, user: User, words: &[&str]) -> Result<Session, Error> {
        self.start_as(name, Some(user), false, words)
    }

    /// Starts a child of the bench in the same way.
    pub(crate) fn child(&self, name: &str, user: User, words: &[&str]) -> Result<Session, Error> {
        let own = ["/proc/self/exe", "bench", "servers-child"];
        self.start(name, user, &[&own[..], words].concat())
    }

    /// Starts a program of root that is to be asked to end before it is killed.
    pub(crate) fn daemon(&self, name: &str, words: &[&str]) -> Result<Session, Error> {
        self.start_as(name, None, true, words)
    }

    fn start_as(
        &self,
        name: &str,
        user: Option<User>,
        is_daemon: bool,
        words: &[&str],
    ) -> Result<Session, Error> {
        let output = |kind: &str| {
            let path = self.path(&format!("{name}.{kind}"));
            File::create(&path).map_err(|e| Error::system(&format!("write {}", path.display()), e))
        };
        let mut command = Command::new("/proc/self/exe");
        command
            .args(["bench", "servers-child", "session"])
            .args(words)
            .current_dir(&self.directory)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("LC_ALL", "C")
            .env("HOME", &self.directory)
            .stdin(Stdio::null())
            .stdout(output("out")?)
            .stderr(output("err")?);
        if let Some(User { id, .. }) = user {
            command.uid(id).gid(id);
        }
        let child = command.spawn().map_err(|e| Error::system(&format!("start {name}"), e))?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = group.ok_or_else(|| Error::Failure(format!("{name} has no process id")))?;
        self.keeper.watch(group, is_daemon)?;
        if let Some(User { nice, .. }) = user.filter(|user| user.nice != 0) {
            // What it becomes and begins inherits that.
            setpriority_process(Some(group), nice)
                .map_err(|e| Error::system(&format!("give {name} nice {nice}"), e))?;
        }
        let keeper = self.keeper.clone();
        let output = self.path(name);
        Ok(Session { child, group, is_daemon, keeper, name: name.to_owned(), output })
    }

    /// Waits for some time; an error if the user wants an end.
    pub(crate) fn wait(&self, time: Duration) -> Result<(), Error> {
        self.until(time, || Ok(false)).map(|_| ())
    }

    /// Waits until something is so; `false`: it was not in that time.
    pub(crate) fn until(
        &self,
        within: Duration,
        mut so: impl FnMut() -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let began = Instant::now();
        loop {
            if (self.stop)() {
                return Err(Error::Failure("interrupted; everything was ended".into()));
            }
            if so()? {
                return Ok(true);
            }
            if began.elapsed() >= within {
                return Ok(false);
            }
            std::thread::sleep(LOOK.min(within));
        }
    }
}

/// A program with all that it started, which is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Session {
    child: Child,
    group: Pid,
    is_daemon: bool,
    keeper: Keeper,
    name: String,
    output: PathBuf,
}

impl Session {
    /// Waits until it has ended, which it must have done well and within that time.
    pub(crate) fn finish(mut self, stage: &Stage<'_>, within: Duration) -> Result<String, Error> {
        let mut status = None;
        let child = &mut self.child;
        stage.until(within, || {
            status = child.try_wait().map_err(|e| Error::system("wait for a program", e))?;
            Ok(status.is_some())
        })?;
        match status {
            Some(status) if status.success() => Ok(self.text("out")),
            status => Err(self.failed(status)),
        }
    }

    /// Waits until something is so, while it has to run.
    pub(crate) fn ready(
        &mut self,
        stage: &Stage<'_>,
        within: Duration,
        mut so: impl FnMut() -> bool,
    ) -> Result<(), Error> {
        let mut ended = None;
        let child = &mut self.child;
        let ready = stage.until(within, || {
            ended = child.try_wait().map_err(|e| Error::system("wait for a program", e))?;
            Ok(ended.is_some() || so())
        })?;
        match (ready, ended) {
            (true, None) => Ok(()),
            (_, ended) => Err(self.failed(ended)),
        }
    }

    fn failed(&self, status: Option<ExitStatus>) -> Error {
        let how = status.map_or("was not done in time".into(), |s| format!("ended: {s}"));
        let said = [self.text("err"), self.text("out")].concat();
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(15)..].join("\n");
        Error::Failure(format!("{} {how}\n{last}", self.name))
    }

    /// What it wrote so far.
    pub(crate) fn text(&self, kind: &str) -> String {
        let bytes = std::fs::read(self.output.with_extension(kind)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sets the nice value of all its threads.
    pub(crate) fn renice(&self, nice: i32) -> Result<(), Error> {
        setpriority_pgrp(Some(self.group), nice)
            .map_err(|e| Error::system(&format!("give {} nice {nice}", self.name), e))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        end(self.group, self.is_daemon, || matches!(self.child.try_wait(), Ok(None)));
        // Before it has its session it is no group.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.keeper.forget(self.group);
    }
}

/// How long a daemon may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Kills a group, a daemon's not before it had time to end in order.
pub(super) fn end(group: Pid, is_daemon: bool, mut runs: impl FnMut() -> bool) {
    if is_daemon {
        let _ = kill_process(group, Signal::TERM);
        let began = Instant::now();
        while runs() && began.elapsed() < PATIENCE {
            std::thread::sleep(LOOK);
        }
    }
    let _ = kill_process_group(group, Signal::KILL);
}

/// Becomes the program, in a session of its own.
pub(super) fn child(words: &[String]) -> Result<(), Error> {
    let [program, words @ ..] = words else {
        return Err(Error::Input("no program is named".into()));
    };
    setsid().map_err(|e| Error::system("begin a session", e))?;
    let error = Command::new(program).args(words).exec();
    Err(Error::system(&format!("start {}", Path::new(program).display()), error))
}
