// SPDX-License-Identifier: MIT OR Apache-2.0
//! What wants all CPUs beside a server.

use super::programs::COMPILER;
use super::session::{Session, Stage};
use super::{number, Background, User};
use crate::error::Error;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Jobs that run until this is dropped.
pub(crate) struct Jobs(Vec<Session>);

/// How long something may take to begin, beside so many others.
const PATIENCE: Duration = Duration::from_secs(30);

impl Jobs {
    /// Starts so many.
    pub(crate) fn start(
        stage: &Stage<'_>,
        background: Background,
        jobs: u32,
        users: (User, User),
    ) -> Result<Self, Error> {
        let (own, other) = users;
        if jobs == 0 {
            return Ok(Self(Vec::new()));
        }
        let directory = stage.directory_of("jobs", own)?;
        let (directory, count) = (directory.display().to_string(), jobs.to_string());
        match background {
            Background::Compile => {
                let compiler = COMPILER.find()?.display().to_string();
                let words = ["compile", &directory, &count, &compiler];
                Ok(Self(vec![stage.child("jobs", own, &words)?]))
            }
            Background::Chatty => {
                let mut sessions = Vec::new();
                let sockets: Vec<String> = (0..jobs).map(|i| format!("{directory}/{i}")).collect();
                for (i, socket) in sockets.iter().enumerate() {
                    let words = ["chatty", socket];
                    sessions.push(stage.child(&format!("job-{i}"), own, &words)?);
                }
                let there = || Ok(sockets.iter().all(|socket| Path::new(socket).exists()));
                if !stage.until(PATIENCE, there)? {
                    return Err(Error::Failure("the background does not start".into()));
                }
                sessions.push(stage.child("teller", other, &["teller", &directory, &count])?);
                Ok(Self(sessions))
            }
        }
    }

    /// Files that were compiled since the start.
    pub(crate) fn compiled(&self) -> usize {
        self.0.first().map_or(0, |session| session.text("out").len())
    }
}

/// Compiles in so many threads until it is killed, and prints a dot for each file.
pub(super) fn compile_child(words: &[String]) -> Result<(), Error> {
    let [directory, jobs, compiler] = words else {
        return Err(Error::Input("expected a directory, jobs and a compiler".into()));
    };
    let jobs: u32 = number(Some(jobs), "jobs")?;
    let directory = PathBuf::from(directory);
    let broken = |e| Error::system("write a source", e);
    let mut workers = Vec::new();
    for job in 0..jobs {
        let path = directory.join(format!("{job}.c"));
        std::fs::write(&path, source(job)).map_err(broken)?;
        let (compiler, object) = (compiler.clone(), directory.join(format!("{job}.o")));
        workers.push(std::thread::spawn(move || loop {
            let mut command = Command::new(&compiler);
            command.args(["-O2", "-pipe", "-c"]).arg(&path).arg("-o").arg(&object);
            let status = command.stdin(Stdio::null()).status();
            match status {
                Ok(status) if status.success() => {}
                Ok(status) => break Error::Failure(format!("{compiler} ended: {status}")),
                Err(e) => break Error::system(&format!("start {compiler}"), e),
            }
            let mut out = std::io::stdout().lock();
            if let Err(e) = out.write_all(b".").and_then(|()| out.flush()) {
                break Error::system("count", e);
            }
        }));
    }
    // They end with an error only.
    match workers.into_iter().next().map(std::thread::JoinHandle::join) {
        Some(Ok(error)) => Err(error),
        _ => Err(Error::Failure("a compile job ended".into())),
    }
}

/// Functions in one C source.
const FUNCTIONS: u32 = 24;

/// A C source that takes a compiler about a second, another one for each job.
fn source(job: u32) -> String {
    let mut text = String::from("typedef unsigned long ulong;\n");
    for f in 0..FUNCTIONS {
        let (a, b) = (job * 7 + f * 3 + 2, job * 5 + f * 11 + 3);
        let _ = write!(
            text,
            "
static ulong table_{f}[64];
ulong work_{f}(ulong *in, ulong n) {{
    ulong sum = {a};
    for (ulong i = 0; i < n; i++) {{
        ulong x = in[i] * {b} + table_{f}[(i + {a}) % 64];
        switch (x % 7) {{
        case 0: sum += x >> 3; break;
        case 1: sum ^= x << 2; break;
        case 2: for (ulong j = 0; j < 16; j++) table_{f}[j * 4] += sum * j + x; break;
        case 3: sum -= table_{f}[x % 64]; break;
        case 4: sum = (sum << 5) | (sum >> 59); break;
        default: if (sum & 1) sum *= x | 1; else sum /= (x | 1); break;
        }}
        for (ulong j = 0; j < 64; j++) in[i] += table_{f}[j] * (j + {b}) ^ sum;
    }}
    return sum;
}}
"
        );
    }
    text
}

/// Pieces of work between two looks at the socket.
const PIECE: Duration = Duration::from_millis(1);
const TELL_EVERY: Duration = Duration::from_millis(5);

/// Burns the CPU, and answers what it is told, until it is killed.
pub(super) fn chatty_child(words: &[String]) -> Result<(), Error> {
    let path = words.first().ok_or_else(|| Error::Input("expected a socket".into()))?;
    let (mut stream, mut buffer) = (accept(Path::new(path))?, [0; 64]);
    let talk = |e| Error::system("talk", e);
    stream.set_nonblocking(true).map_err(talk)?;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            // Who does not want to hear it does not have to.
            Ok(_) => drop(stream.write(b"y")),
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            Err(e) => return Err(talk(e)),
        }
        let began = Instant::now();
        while began.elapsed() < PIECE {
            std::hint::spin_loop();
        }
    }
}

/// Listens where everybody may connect, until somebody does.
pub(super) fn accept(path: &Path) -> Result<UnixStream, Error> {
    let listen = |e| Error::system(&format!("listen at {}", path.display()), e);
    // Nobody may find it before all may connect.
    let hidden = path.with_extension("new");
    let listener = UnixListener::bind(&hidden).map_err(listen)?;
    let all = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(&hidden, all).map_err(listen)?;
    std::fs::rename(&hidden, path).map_err(listen)?;
    Ok(listener.accept().map_err(listen)?.0)
}

/// Sends a byte to each of them now and then.
pub(super) fn teller_child(words: &[String]) -> Result<(), Error> {
    let directory = words.first().ok_or_else(|| Error::Input("expected a directory".into()))?;
    let jobs: u32 = number(words.get(1), "jobs")?;
    let mut streams = Vec::new();
    for job in 0..jobs {
        let path = Path::new(directory).join(job.to_string());
        let connect = |e| Error::system(&format!("connect to {}", path.display()), e);
        let stream = UnixStream::connect(&path).map_err(connect)?;
        stream.set_nonblocking(true).map_err(connect)?;
        streams.push(stream);
    }
    let mut buffer = [0; 4096];
    loop {
        for stream in &mut streams {
            // Neither has to be heard.
            let _ = stream.read(&mut buffer);
            let _ = stream.write(b"x");
        }
        std::thread::sleep(TELL_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_differ_by_job_and_have_all_functions() {
        let (first, second) = (source(0), source(1));
        assert_ne!(first, second);
        assert_eq!(first, source(0));
        assert_eq!(first.matches("ulong work_").count(), FUNCTIONS as usize);
        // A divisor or a modulus must not be 0: the smallest constants are.
        assert!(first.contains("ulong sum = 2;") && first.contains("in[i] * 3 +"));
    }
}
