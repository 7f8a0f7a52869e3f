// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process that tidies when the bench has ended, however it did: by `kill -9`, too. It learns
//! from its input what there is to do, and does it when that ends.

use super::autogroup;
use super::session::end;
use crate::error::Error;
use rustix::process::{setsid, test_kill_process_group, Pid};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

/// Our end of it. When the last of these is dropped, it tidies.
#[derive(Clone, Debug)]
pub(crate) struct Keeper(Arc<Mutex<Running>>);

#[derive(Debug)]
struct Running {
    child: Child,
    input: Option<ChildStdin>,
}

impl Keeper {
    /// Starts it.
    pub(crate) fn start() -> Result<Self, Error> {
        let mut child = Command::new("/proc/self/exe")
            .args(["bench", "servers-child", "keeper"])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|e| Error::system("start a child", e))?;
        let input = child.stdin.take();
        Ok(Self(Arc::new(Mutex::new(Running { child, input }))))
    }

    fn tell(&self, task: &Task) -> Result<(), Error> {
        let mut running = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let told = running.input.as_mut().map(|input| writeln!(input, "{}", task.line()));
        told.unwrap_or(Ok(())).map_err(|e| Error::system("write to a child", e))
    }

    /// To kill this group.
    pub(crate) fn watch(&self, group: Pid, is_daemon: bool) -> Result<(), Error> {
        self.tell(&Task::End { group, is_daemon })
    }

    /// This group has ended.
    pub(crate) fn forget(&self, group: Pid) {
        // If it is not there to hear it there is nothing to forget.
        let _ = self.tell(&Task::Ended(group));
    }

    /// To remove this directory.
    pub(crate) fn remove(&self, directory: &Path) -> Result<(), Error> {
        self.tell(&Task::Remove(directory.to_owned()))
    }

    /// To switch autogroups on or off.
    pub(crate) fn autogroup(&self, on: bool) -> Result<(), Error> {
        self.tell(&Task::Autogroup(on))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// What it may be told.
#[derive(Clone, Debug, PartialEq)]
enum Task {
    End { group: Pid, is_daemon: bool },
    Ended(Pid),
    Remove(PathBuf),
    Autogroup(bool),
}

impl Task {
    fn line(&self) -> String {
        match self {
            Self::End { group, is_daemon: false } => format!("kill {group}"),
            Self::End { group, is_daemon: true } => format!("end {group}"),
            Self::Ended(group) => format!("ended {group}"),
            Self::Remove(path) => format!("remove {}", path.display()),
            Self::Autogroup(on) => format!("autogroup {}", u8::from(*on)),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let (what, rest) = line.split_once(' ')?;
        let group = || rest.parse::<i32>().ok().filter(|group| *group > 1).and_then(Pid::from_raw);
        Some(match what {
            "kill" => Self::End { group: group()?, is_daemon: false },
            "end" => Self::End { group: group()?, is_daemon: true },
            "ended" => Self::Ended(group()?),
            "remove" => Self::Remove(rest.into()),
            "autogroup" => Self::Autogroup(match rest {
                "0" => false,
                "1" => true,
                _ => return None,
            }),
            _ => return None,
        })
    }
}

/// What is to be done at the end.
#[derive(Debug, Default, PartialEq)]
struct Duties {
    groups: BTreeMap<i32, bool>,
    directories: Vec<PathBuf>,
    autogroup: Option<bool>,
}

impl Duties {
    fn take(&mut self, task: Task) {
        match task {
            Task::End { group, is_daemon } => {
                self.groups.insert(group.as_raw_nonzero().get(), is_daemon);
            }
            Task::Ended(group) => {
                self.groups.remove(&group.as_raw_nonzero().get());
            }
            Task::Remove(directory) => self.directories.push(directory),
            Task::Autogroup(on) => self.autogroup = Some(on),
        }
    }

    fn do_all(self) -> Result<(), Error> {
        for (group, is_daemon) in self.groups {
            if let Some(group) = Pid::from_raw(group) {
                end(group, is_daemon, || test_kill_process_group(group).is_ok());
            }
        }
        let restored = self.autogroup.map_or(Ok(()), autogroup::set);
        for directory in self.directories {
            // Who was just killed may still write.
            let gone = (0..50).any(|_| {
                let done = std::fs::remove_dir_all(&directory);
                if done.is_err() {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                done.is_ok()
            });
            if !gone {
                return Err(Error::Failure(format!("cannot remove {}", directory.display())));
            }
        }
        restored
    }
}

/// What it does: Ctrl-C is not for it, as it has a session of its own.
pub(super) fn child(input: impl BufRead) -> Result<(), Error> {
    setsid().map_err(|e| Error::system("begin a session", e))?;
    let mut duties = Duties::default();
    // An input that cannot be read has ended, too.
    for line in input.lines().map_while(Result::ok) {
        let task = Task::parse(&line);
        duties.take(task.ok_or_else(|| Error::Input(format!("{line:?} is not a task")))?);
    }
    duties.do_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(raw: i32) -> Pid {
        Pid::from_raw(raw).expect("not 0")
    }

    #[test]
    fn tasks_come_through_as_they_are() {
        for task in [
            Task::End { group: pid(77), is_daemon: false },
            Task::End { group: pid(78), is_daemon: true },
            Task::Ended(pid(77)),
            Task::Remove("/tmp/a b".into()),
            Task::Autogroup(true),
        ] {
            assert_eq!(Task::parse(&task.line()), Some(task));
        }
        // Group 1 and below would be everybody.
        for bad in ["", "kill", "kill 1", "kill -1", "kill 0", "kill x", "autogroup 2", "x 1"] {
            assert_eq!(Task::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn who_has_ended_is_not_killed() {
        let mut duties = Duties::default();
        for line in ["kill 77", "end 78", "autogroup 1", "ended 77", "remove /tmp/x"] {
            duties.take(Task::parse(line).expect("a task"));
        }
        let groups = BTreeMap::from([(78, true)]);
        let directories = vec!["/tmp/x".into()];
        assert_eq!(duties, Duties { groups, directories, autogroup: Some(true) });
    }
}
