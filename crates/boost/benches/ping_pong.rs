// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the programs cost those they look at: a byte there and back over a UNIX socket, both ends
//! on one CPU; with the programs of that without them, in turns. Needs root and bpf(2). Not by
//! criterion, which cannot take turns.

use rota_boost::account::Extra;
use rota_boost::apply::Kernel;
use rota_boost::customers::{Clients, Customers};
use rota_boost::daemon::{Daemon, Options};
use rota_boost::engine::Settings;
use rota_boost::groups::Allowed;
use rota_boost::process;
use rota_boost::programs::Programs;
use rota_boost::request::Limits;
use rota_boost::BoostError;
use rustix::thread::{sched_setaffinity, set_thread_uid, CpuSet, Uid};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// In the environment of the end that asks: where. Of who only burns the CPU: nowhere.
const PATH: &str = "ROTA_PING_PONG";
const HOG: &str = "-";
/// A user that is nobody's in particular: a customer.
const NOBODY: u32 = 65534;
/// As the daemon has it.
const INTERVAL: Duration = Duration::from_millis(50);
/// Of measuring; machines are noisy, and so often in turns.
const SPELL: Duration = Duration::from_millis(200);
const ROUNDS: usize = 40;
/// Until the daemon has seen the load.
const SEEN: Duration = Duration::from_millis(1200);

fn pin() {
    let mut one = CpuSet::new();
    one.set(0);
    sched_setaffinity(None, &one).expect("CPU 0 is there");
}

/// Asks until nobody answers.
fn ask(path: &str) {
    pin();
    set_thread_uid(Uid::from_raw(NOBODY)).expect("root may");
    let mut stream = UnixStream::connect(path).expect("somebody listens");
    let mut byte = [0];
    while stream.write_all(b"?").is_ok() && stream.read_exact(&mut byte).is_ok() {}
}

struct Customer {
    child: Child,
    stream: UnixStream,
    _files: tempfile::TempDir,
}

impl Customer {
    fn arrive() -> Self {
        let files = tempfile::tempdir().expect("a directory");
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(files.path(), all).expect("opened for all");
        let path = files.path().join("s");
        let listener = UnixListener::bind(&path).expect("bound");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .expect("opened for all");
        let child = Command::new("/proc/self/exe").env(PATH, &path).spawn().expect("spawned");
        Self { child, stream: listener.accept().expect("a customer").0, _files: files }
    }

    fn serve(&mut self) {
        let mut byte = [0];
        self.stream.read_exact(&mut byte).expect("asked");
        self.stream.write_all(&byte).expect("answered");
    }
}

impl Drop for Customer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Round trips per second.
fn rate(customer: &mut Customer) -> f64 {
    let (begin, mut count) = (Instant::now(), 0);
    while begin.elapsed() < SPELL {
        (0..100).for_each(|_| customer.serve());
        count += 100;
    }
    f64::from(count) / begin.elapsed().as_secs_f64()
}

/// Who burns the other CPUs, so that the load is high.
struct Hogs(Vec<Child>);

impl Hogs {
    fn begin() -> Self {
        let hog = |_| Command::new("/proc/self/exe").env(PATH, HOG).spawn().expect("spawned");
        Self((0..3 * process::cpus()).map(hog).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

/// The daemon, in a thread of its own.
struct Boosting {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    _files: tempfile::TempDir,
}

impl Boosting {
    /// Returns when the load has been seen.
    fn start() -> Result<Self, BoostError> {
        let files = tempfile::tempdir().expect("a directory");
        let cpus = f64::from(process::cpus());
        let limits = Limits { quiet_ns: 100_000_000, open_ns: 10_000_000_000 };
        let options = Options {
            customers: customers()?,
            clients: Clients::default(),
            settings: Settings { request_cpu_ns: 200_000_000, limits },
            extra: Extra { people_cpus: cpus, services_cpus: cpus },
            load_window_ns: 500_000_000,
            own_cpu: 0.01,
            saved: Some(files.path().join("saved")),
            groups: Allowed::default(),
            socket: None,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (asked, (told, hears)) = (Arc::clone(&stop), mpsc::channel());
        let run = move || {
            let mut daemon = match Daemon::start(&options, Kernel) {
                Ok((daemon, _)) => daemon,
                Err(e) => return drop(told.send(Err(e))),
            };
            let _ = told.send(Ok(()));
            while !asked.load(Ordering::Relaxed) && daemon.step().is_ok() {}
            daemon.finish();
        };
        let thread = Some(std::thread::spawn(run));
        hears.recv().expect("it says how it began")?;
        std::thread::sleep(SEEN);
        Ok(Self { stop, thread, _files: files })
    }
}

impl Drop for Boosting {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn customers() -> Result<Customers, BoostError> {
    "remote,other-user,on-behalf".parse().map_err(BoostError::Input)
}

fn programs(active: bool) -> Result<Programs, BoostError> {
    let programs = Programs::start(&customers()?, Clients::default())?;
    programs.set_live(active, INTERVAL)?;
    Ok(programs)
}

/// Rate with something that looks on, of that without just before and after; often, in turns.
fn report<L>(
    name: &str,
    customer: &mut Customer,
    look_on: impl Fn() -> Result<L, BoostError>,
) -> Result<(), BoostError> {
    let mut kept = Vec::new();
    for _ in 0..ROUNDS {
        let before = rate(customer);
        let looks_on = look_on()?;
        // What is known of a connection is found out first.
        rate(customer);
        let with = rate(customer);
        drop(looks_on);
        kept.push(2.0 * with / (before + rate(customer)));
    }
    kept.sort_by(f64::total_cmp);
    let (median, quarter) = (kept[ROUNDS / 2], ROUNDS / 4);
    let (low, high) = (kept[quarter], kept[ROUNDS - 1 - quarter]);
    println!("ping-pong keeps {median:.3} of its rate ({low:.3} to {high:.3}) {name}");
    Ok(())
}

fn ping_pong() -> Result<(), BoostError> {
    // Who may not load them may not play a customer of another user, either.
    drop(programs(false)?);
    let _hogs = Hogs::begin();
    let mut customer = Customer::arrive();
    println!("{:.0} round trips per second", rate(&mut customer));
    report("by the programs at a low load", &mut customer, || programs(false))?;
    report("by the programs at a high load", &mut customer, || programs(true))?;
    report("under the daemon, boosted", &mut customer, Boosting::start)
}

/// Burns CPUs but that of the ping-pong.
fn burn() {
    let mut others = CpuSet::new();
    (1..process::cpus() as usize).for_each(|cpu| others.set(cpu));
    sched_setaffinity(None, &others).expect("there is a second CPU");
    loop {
        std::hint::spin_loop();
    }
}

fn main() {
    match std::env::var(PATH) {
        Ok(path) if path == HOG => return burn(),
        Ok(path) => return ask(&path),
        Err(_) => pin(),
    }
    if let Err(e) = ping_pong() {
        println!("skipped: {e}");
    }
}
