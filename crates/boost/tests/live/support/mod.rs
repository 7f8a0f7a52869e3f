// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stage: the daemon, and processes that play parts.
#![allow(unreachable_pub)]

pub mod accomplices;
pub mod actors;
pub mod datagrams;

use rota_boost::account::Extra;
use rota_boost::apply::Kernel;
use rota_boost::customers::{Clients, Customers};
use rota_boost::daemon::{Daemon, Options};
use rota_boost::engine::Settings;
use rota_boost::groups::Allowed;
use rota_boost::log::Change;
use rota_boost::request::Limits;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// One test at a time: they measure.
static ALONE: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts this test program again in a part.
pub fn spawn(part: &str, path: &Path, time: Duration) -> Child {
    spawn_by(Command::new("/proc/self/exe"), part, path, time)
}

/// The same by a command that starts it.
pub fn spawn_by(mut command: Command, part: &str, path: &Path, time: Duration) -> Child {
    let part = format!("{part} {} {}", path.display(), time.as_secs_f64());
    command
        .args(["actor", "--exact", "--nocapture", "--test-threads=1"])
        .env("ROTA_ACTOR", part)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("spawned")
}

/// The numbers in each line that a part says.
pub fn all_numbers(mut child: Child) -> Vec<Vec<i64>> {
    let mut text = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
    child.wait().expect("ended");
    let words =
        |said: &str| said.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let lines: Vec<_> =
        text.lines().filter_map(|line| line.split("ACTOR ").nth(1)).map(words).collect();
    assert!(!lines.is_empty(), "said: {text:?}");
    lines
}

/// Those that it says at its end.
pub fn numbers(child: Child) -> Vec<i64> {
    all_numbers(child).pop().expect("a line")
}

/// As many that only burn the CPU as make the load of J = 12 on two CPUs.
pub fn hogs(time: Duration) -> Vec<Child> {
    let hogs = 6 * rota_boost::process::cpus();
    (0..hogs).map(|_| spawn("hog", Path::new("-"), time)).collect()
}

/// What servers may use beyond their users' fair share unless somebody says something else.
pub fn extra() -> Extra {
    let cpus = f64::from(rota_boost::process::cpus());
    Extra { people_cpus: 0.05 * cpus, services_cpus: 0.25 * cpus }
}

pub fn options(customers: &str, saved: PathBuf) -> Options {
    let ms = 1_000_000;
    Options {
        customers: customers.parse::<Customers>().expect("a policy"),
        clients: Clients::default(),
        settings: Settings {
            request_cpu_ns: 200 * ms,
            limits: Limits { quiet_ns: 100 * ms, open_ns: 10_000 * ms },
        },
        extra: extra(),
        load_window_ns: 500 * ms,
        own_cpu: 0.01,
        groups: Allowed::default(),
        socket: Some(saved.with_extension("sock")),
        saved: Some(saved),
    }
}

/// A daemon in a thread of its own.
pub struct Running {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Change>>>,
}

impl Running {
    /// Begins, or says why that is not possible here.
    pub fn start(options: &Options) -> Option<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (told, started) = std::sync::mpsc::channel();
        let (stopped, options) = (Arc::clone(&stop), options.clone());
        let thread = std::thread::spawn(move || {
            let (mut daemon, _) = match Daemon::start(&options, Kernel) {
                Ok(started) => started,
                Err(error) => {
                    told.send(Some(error)).expect("somebody waits");
                    return Vec::new();
                }
            };
            told.send(None).expect("somebody waits");
            let mut changes = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                changes.extend(daemon.step().expect("a step"));
            }
            let failed = daemon.finish();
            assert!(failed.is_empty(), "{failed:?}");
            changes
        });
        match started.recv().expect("it tells") {
            None => Some(Self { stop, thread: Some(thread) }),
            Some(error) if error.is_unavailable() => {
                skip(&error.to_string());
                None
            }
            Some(error) => panic!("{error}"),
        }
    }

    /// Ends it; what it changed.
    pub fn stop(mut self) -> Vec<Change> {
        self.end().expect("it runs").expect("no panic")
    }

    fn end(&mut self) -> Option<std::thread::Result<Vec<Change>>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for Running {
    /// Of a test that failed: the next one shall not have two daemons.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Unlike what print macros write, this is shown of tests that pass, too.
pub fn skip(why: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {name}: {why}");
}
