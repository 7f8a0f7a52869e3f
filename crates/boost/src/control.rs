// SPDX-License-Identifier: MIT OR Apache-2.0
//! Questions to the running daemon: a UNIX socket that only root may use. A client sends one
//! JSON object on a line, `{"version":2,"explain":PID}`, and gets one back.

use crate::error::BoostError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the daemon listens unless it is told otherwise.
pub const SOCKET: &str = "/run/rota/boost.sock";
/// How long a client may take for its line.
const PATIENCE: Duration = Duration::from_millis(100);
const LONGEST_LINE: u64 = 4096;
const VERSION: u32 = 2;

#[derive(Debug, Serialize, Deserialize)]
struct Question {
    version: u32,
    explain: u32,
}

/// A thread of a process that is asked about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadState {
    /// The thread.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// The nice value that it was given; `None` while it is not boosted.
    pub nice: Option<i32>,
    /// Where its request stands; of a thread that waits for answers `waiting`.
    pub phase: Option<String>,
    /// Sockets that wait for an answer.
    pub open: u32,
    /// Requests answered.
    pub answers: u32,
    /// For how long it is barred.
    pub barred_ms: u64,
}

/// What the daemon knows of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Of this format.
    pub version: u32,
    /// The daemon.
    pub daemon: u32,
    /// The process.
    pub pid: u32,
    /// What confines its nice value.
    pub confinement: String,
    /// The user who pays for its boosts: whoever owns the user namespace, if it is in one. `None`,
    /// as what follows, while none of its threads is boosted.
    pub user: Option<u32>,
    /// This user's fair share of CPU time less what boosted threads used, in ms. Is there enough
    /// of it, they have nice values.
    pub credit_ms: Option<i64>,
    /// Part that is left of what its servers may use beyond that, 0 to 1.
    pub extra_left: Option<f64>,
    /// Threads that received from customers, or work for one that did.
    pub threads: Vec<ThreadState>,
    /// What happened to it last, oldest first.
    pub history: Vec<String>,
}

impl Explanation {
    /// Of a process of which nothing is known yet.
    pub(crate) fn new(pid: u32, confinement: String) -> Self {
        Self {
            version: VERSION,
            daemon: std::process::id(),
            pid,
            confinement,
            user: None,
            credit_ms: None,
            extra_left: None,
            threads: Vec::new(),
            history: Vec::new(),
        }
    }
}

/// The daemon's end.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Makes the socket; replaces that of a dead process.
    pub fn bind(path: &Path) -> Result<Self, BoostError> {
        let failed = |verb| move |e| BoostError::file(verb, path, e);
        if let Ok(found) = fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                return Err(BoostError::Input(format!(
                    "{}: expected a socket, or nothing",
                    path.display()
                )));
            }
            if let Ok(other) = UnixStream::connect(path) {
                let pid = rustix::net::sockopt::socket_peercred(&other).map(|c| c.pid);
                return Err(BoostError::Running(
                    pid.map_or(0, |p| p.as_raw_nonzero().get() as u32),
                ));
            }
            fs::remove_file(path).map_err(failed("replace"))?;
        }
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            fs::create_dir_all(directory).map_err(failed("create the directory of"))?;
        }
        // Bound under another name, so that nobody connects before the permissions are right.
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}", std::process::id()));
        let draft = PathBuf::from(draft);
        let _ = fs::remove_file(&draft);
        let listener = UnixListener::bind(&draft).map_err(failed("create"))?;
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o600))
            .map_err(failed("protect"))?;
        listener.set_nonblocking(true).map_err(failed("set up"))?;
        fs::rename(&draft, path).map_err(failed("create"))?;
        Ok(Self { listener, path: path.into() })
    }

    /// Answers one client, if there is one.
    pub(crate) fn serve(&self, explain: impl FnOnce(u32) -> Explanation) {
        let Ok((stream, _)) = self.listener.accept() else { return };
        // A client that goes away has its answer.
        let _ = answer(stream, explain);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn answer(stream: UnixStream, explain: impl FnOnce(u32) -> Explanation) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&stream).take(LONGEST_LINE)).read_line(&mut line)?;
    let mut answer = match asked(&line) {
        Ok(pid) => serde_json::to_string(&explain(pid))?,
        Err(what) => serde_json::json!({ "version": VERSION, "error": what }).to_string(),
    };
    answer.push('\n');
    (&stream).write_all(answer.as_bytes())
}

/// The process that a line asks about.
fn asked(line: &str) -> Result<u32, String> {
    match serde_json::from_str::<Question>(line) {
        Ok(Question { version: VERSION, explain }) => Ok(explain),
        Ok(Question { version, .. }) => Err(format!("version {version}: expected {VERSION}")),
        Err(e) => Err(format!("{e}: expected {{\"version\":{VERSION},\"explain\":PID}}")),
    }
}

/// Asks the daemon at a socket about a process.
pub fn ask(path: &Path, pid: u32) -> Result<Explanation, BoostError> {
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => BoostError::NotRunning(path.into()),
        ErrorKind::PermissionDenied => BoostError::Privileges,
        _ => BoostError::file("ask", path, e),
    };
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(failed)?;
    let question = serde_json::json!({ "version": VERSION, "explain": pid });
    stream.write_all(format!("{question}\n").as_bytes()).map_err(failed)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(failed)?;
    serde_json::from_str(&line)
        .map_err(|e| BoostError::Corrupt { path: path.into(), what: e.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Of any line, and of lines that are nearly questions.
        #[test]
        fn any_line_is_a_question_or_told_what_one_is(
            line in r#"\{?("(version|explain)":[0-9a-z"-]{0,12},?){0,3}\}?|.*"#
        ) {
            match asked(&line) {
                Ok(pid) => prop_assert!(line.contains(&pid.to_string())),
                Err(what) => prop_assert!(what.contains("expected")),
            }
        }

        #[test]
        fn a_question_is_read_as_it_was_asked(pid: u32) {
            let question = Question { version: VERSION, explain: pid };
            let line = serde_json::to_string(&question).expect("no map with odd keys");
            prop_assert_eq!(asked(&line), Ok(pid));
        }
    }

    fn serve_until_asked(listener: Listener) -> std::thread::JoinHandle<()> {
        std::thread::spawn(move || {
            let mut asked = false;
            while !asked {
                listener.serve(|pid| {
                    asked = true;
                    Explanation::new(pid, "nowhere".into())
                });
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    }

    #[test]
    fn who_asks_is_answered_even_after_nonsense() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("below/boost.sock");
        assert!(matches!(ask(&path, 1), Err(BoostError::NotRunning(_))));
        let server = serve_until_asked(Listener::bind(&path).expect("bound"));
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for nonsense in ["{\"version\":1,\"explain\":1}\n", "x\n", "{}\n"] {
            let mut stream = UnixStream::connect(&path).expect("connected");
            stream.write_all(nonsense.as_bytes()).expect("sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("answered");
            assert!(answer.contains("\"error\"") && answer.contains("expected"), "{answer}");
        }
        let explained = ask(&path, 42).expect("answered");
        assert_eq!(explained, Explanation::new(42, "nowhere".into()));
        server.join().expect("no panic");
        assert!(!path.exists());
    }

    #[test]
    fn a_second_daemon_is_refused_and_a_dead_ones_socket_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("boost.sock");
        let first = Listener::bind(&path).expect("bound");
        let own = std::process::id();
        assert!(matches!(Listener::bind(&path), Err(BoostError::Running(pid)) if pid == own));
        drop(first);
        drop(UnixListener::bind(&path).expect("a socket that nobody will serve"));
        drop(Listener::bind(&path).expect("replaced"));
        fs::write(&path, "").expect("a file");
        assert!(matches!(Listener::bind(&path), Err(BoostError::Input(_))));
    }
}
