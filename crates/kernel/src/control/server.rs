// SPDX-License-Identifier: MIT OR Apache-2.0
//! The side of the running policy. It never blocks: the main loop polls it.

use super::connection::Connection;
use super::protocol::{
    line, parse, Changed, Changes, Description, Refusal, Request, Response, Switch, Switching,
};
use crate::stats::Sample;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Instant;
use thiserror::Error;

/// Clients at one time; with more, the one that said nothing for the longest time goes.
const MAX_CLIENTS: usize = 16;
/// Clients that are let in, and lines of one client that are answered, per poll.
const PER_POLL: usize = 32;

/// What a server controls.
pub trait Controlled {
    /// Who runs, and its tunables.
    fn describe(&self) -> Description;
    /// Makes all changes, or none if one is refused.
    fn change(&mut self, changes: &Changes) -> Result<Changed, Refusal>;
    /// Loads another policy, to schedule as soon as this returned.
    fn switch(&mut self, to: &Switch) -> Result<Switching, Refusal>;
    /// Totals since the policy was loaded.
    fn stats(&mut self) -> Result<Sample, Refusal>;
    /// Somebody watches the statistics, or nobody any more.
    fn watched(&mut self, by_somebody: bool);
}

/// Why there is no control socket.
#[derive(Debug, Error)]
pub enum BindError {
    /// Somebody answers there.
    #[error("{} is in use by another rota (pid {pid}, policy {policy})", .path.display())]
    InUse {
        /// The socket.
        path: PathBuf,
        /// Process.
        pid: u32,
        /// What it runs.
        policy: String,
    },
    /// Something else has that name.
    #[error("{} is taken by something that does not answer as rota does", .0.display())]
    Taken(PathBuf),
    /// It cannot be made.
    #[error("cannot make the control socket {}: {error}", .path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// What is wrong.
        error: io::Error,
    },
}

/// Listens at a control socket until it is dropped.
pub struct Server {
    path: PathBuf,
    listener: UnixListener,
    /// Device and inode of the socket, to know it by.
    file: (u64, u64),
    clients: Vec<Connection>,
    watched: bool,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Server({}, {} clients)", self.path.display(), self.clients.len())
    }
}

impl Server {
    /// Makes the socket, in a directory that is made too if need be. Only the user that
    /// runs this process (root) may connect. A socket that a dead process left is replaced.
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        let failed = |error| BindError::Io { path: path.into(), error };
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            let made = DirBuilder::new().recursive(true).mode(0o755).create(directory);
            made.map_err(failed)?;
        }
        refuse_taken(path)?;
        // Bound under another name and then renamed, so that nobody can connect before the
        // permissions are right, and a stale socket is replaced in one step.
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}", std::process::id()));
        let draft = PathBuf::from(draft);
        let _ = fs::remove_file(&draft); // of a process that had the same pid
        let bound = Self::listen(&draft, path);
        if bound.is_err() {
            let _ = fs::remove_file(&draft);
        }
        let (listener, file) = bound.map_err(failed)?;
        Ok(Self { path: path.into(), listener, file, clients: Vec::new(), watched: false })
    }

    fn listen(draft: &Path, path: &Path) -> io::Result<(UnixListener, (u64, u64))> {
        let listener = UnixListener::bind(draft)?;
        fs::set_permissions(draft, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let file = identity(draft)?;
        fs::rename(draft, path)?;
        Ok((listener, file))
    }

    /// Serves whoever is waiting. Returns at once.
    pub fn poll(&mut self, controlled: &mut dyn Controlled) {
        self.let_in();
        for client in &mut self.clients {
            client.write();
            client.read();
            serve(client, &mut self.watched, controlled);
            client.write();
        }
        self.clients.retain(|client| !client.is_over());
        let watched = self.clients.iter().any(|client| client.watches);
        if self.watched && !watched {
            self.watched = false;
            controlled.watched(false);
        }
    }

    fn let_in(&mut self) {
        for _ in 0..PER_POLL {
            // Anything but a client is for the next poll.
            let Ok((stream, _)) = self.listener.accept() else { return };
            if self.clients.len() >= MAX_CLIENTS {
                let silent = (0..).zip(&self.clients).min_by_key(|(_, c)| c.active);
                if let Some((at, _)) = silent {
                    self.clients.remove(at);
                }
            }
            self.clients.extend(Connection::new(stream));
        }
    }
}

/// Answers what a client has asked.
fn serve(client: &mut Connection, watched: &mut bool, controlled: &mut dyn Controlled) {
    for _ in 0..PER_POLL {
        let Some(request) = client.line() else { break };
        if request.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let response = match parse(&request) {
            Ok(Request::Get) => Ok(Response::Policy(controlled.describe())),
            Ok(Request::Set(changes)) => controlled.change(&changes).map(Response::Changed),
            Ok(Request::Switch(to)) => controlled.switch(&to).map(Response::Switching),
            Ok(Request::Stats) => {
                client.watches = true;
                if !std::mem::replace(watched, true) {
                    controlled.watched(true);
                }
                controlled.stats().map(Response::Stats)
            }
            Err(refusal) => Err(refusal),
        };
        client.send(&line(&response.unwrap_or_else(Response::Error)));
        client.active = Instant::now();
        client.write();
    }
    if client.is_too_long() {
        client.close();
        let what = format!("a request has at most {} bytes", super::MAX_LINE);
        client.send(&line(&Response::Error(Refusal::input(what))));
    }
}

/// Refuses a path where somebody answers, or where there is no socket.
fn refuse_taken(path: &Path) -> Result<(), BindError> {
    match fs::symlink_metadata(path) {
        Err(_) => return Ok(()),
        Ok(found) if !found.file_type().is_socket() => return Err(BindError::Taken(path.into())),
        Ok(_) => {}
    }
    if let Some(other) = super::running(path) {
        let (pid, policy) = (other.pid, other.policy);
        return Err(BindError::InUse { path: path.into(), pid, policy });
    }
    match UnixStream::connect(path) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(BindError::Io { path: path.into(), error }),
        Ok(_) => Err(BindError::Taken(path.into())),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

impl Drop for Server {
    fn drop(&mut self) {
        // Unless another process has put its own socket there.
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
