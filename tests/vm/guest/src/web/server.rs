// SPDX-License-Identifier: MIT OR Apache-2.0
//! Apache, on a CPU of its own.

use super::client::ADDRESS;
use anyhow::{bail, ensure, Context, Result};
use rustix::process::{kill_process, setsid, Pid, Signal};
use rustix::thread::{sched_setaffinity, CpuSet};
use std::fs;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Where the server is, and nobody else but what a scenario puts there.
pub(crate) const CPU: usize = 1;
const STARTS_WITHIN: Duration = Duration::from_secs(20);
const ENDS_WITHIN: Duration = Duration::from_secs(20);
const LOG: &str = "/tmp/apache2.log";

/// Stays on one CPU from now on, and what it starts.
pub(crate) fn stay_on(cpu: usize) -> Result<()> {
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only).with_context(|| format!("cannot go to CPU {cpu}"))
}

/// Becomes a program in a session of its own on one CPU.
pub(crate) fn apart(cpu: &str, program: &str, args: &[&str]) -> Result<()> {
    stay_on(cpu.parse().with_context(|| format!("CPU '{cpu}'"))?)?;
    // A process that leads a group already cannot.
    setsid().context("cannot begin a session")?;
    Err(Command::new(program).args(args).exec()).with_context(|| program.to_owned())
}

/// Ends with its children when this is dropped.
pub(super) struct Server(Child);

impl Server {
    /// Started, and ready for connections.
    pub(super) fn start() -> Result<Self> {
        let _ = fs::remove_file(LOG);
        let apache = ["/usr/sbin/apache2", "-d", "/tmp", "-f", "/etc/apache2.conf", "-DFOREGROUND"];
        let child = Command::new("/bin/rota-guest")
            .args(["apart", &CPU.to_string()])
            .args(apache)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start the server")?;
        let mut server = Self(child);
        let began = Instant::now();
        while let Err(error) = TcpStream::connect(ADDRESS) {
            if let Some(status) = server.0.try_wait()? {
                bail!("the server ended, {status}; it said:\n{}", said());
            }
            let late = began.elapsed() > STARTS_WITHIN;
            ensure!(!late, "cannot connect to the server: {error}; it said:\n{}", said());
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// All its processes are gone.
    pub(super) fn stop(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.0), Signal::TERM).context("cannot end the server")?;
        let began = Instant::now();
        while self.0.try_wait()?.is_none() {
            ensure!(began.elapsed() < ENDS_WITHIN, "the server does not end; it said:\n{}", said());
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
            let _ = self.0.wait();
        }
    }
}

pub(super) fn said() -> String {
    fs::read_to_string(LOG).unwrap_or_default()
}
