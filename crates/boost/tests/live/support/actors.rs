// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the processes of the tests do. Each is this test program again, with its part in the
//! environment, and prints one line at its end.

use super::{accomplices, datagrams};
use rota_boost::apply::Kernel;
use rota_boost::daemon::Daemon;
use rota_boost::process::own_cpu_ns;
use rota_boost::syscalls::{attr, renice, set_attr, Attr, SCHED_BATCH, SCHED_IDLE};
use rustix::thread::{sched_getaffinity, sched_setaffinity, set_thread_uid, CpuSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A user that is nobody's in particular.
const NOBODY: u32 = 65534;
/// Another one.
const SOMEBODY: u32 = 65533;
pub const SHORT: Duration = Duration::from_millis(2);

/// Plays a part, from `ROTA_ACTOR`: its name, a path, and seconds.
pub fn play(part: &str) {
    let mut words = part.split(' ');
    let mut word = || words.next().expect("a word").to_owned();
    let (name, path, seconds) = (word(), PathBuf::from(word()), word());
    let end = Instant::now() + Duration::from_secs_f64(seconds.parse().expect("seconds"));
    if name == "daemon" {
        return boost_until(&path, end);
    }
    pin();
    match name.as_str() {
        "hog" => burn_until(end),
        "selfish" => burner(own_unix(&path, end), end, false),
        "selfish-tcp" => burner(own_tcp(end), end, false),
        "burner" => burner(accept(&path), end, false),
        "chatty" => burner(accept(&path), end, true),
        "parent" => {
            let listener = listen(&path);
            let mut child = super::spawn("feeder", &path, end - Instant::now());
            burner(listener.accept().expect("a child").0, end, false);
            child.wait().expect("ended");
        }
        "feeder" => feed(&mut connect(&path), end),
        "stranger" => {
            as_nobody();
            feed(&mut connect(&path), end);
        }
        "asker" => {
            as_nobody();
            asker(&mut connect(&path), end);
        }
        "customer" => {
            as_nobody();
            customer(&mut connect(&path), end);
            return;
        }
        "server" => server(&path, end, |stream| answer(stream, SHORT)),
        "forking" => server(&path, end, |mut stream| {
            let mut byte = [0];
            while matches!(stream.read(&mut byte), Ok(1)) {
                let child = super::spawn("nice", Path::new("-"), Duration::ZERO);
                let words: Vec<_> = super::numbers(child).iter().map(i64::to_string).collect();
                let said = format!("ACTOR {}\n", words.join(" "));
                let _ = stream.write_all(said.as_bytes());
            }
        }),
        "storm" => storm(&path, end),
        "flood" => {
            as_nobody();
            let mut stream = connect(&path);
            stream.never_block();
            while Instant::now() < end {
                let _ = stream.write(&[0; 4096]);
                std::thread::sleep(SHORT / 2);
            }
        }
        "datagrams-far" => datagrams::far(end),
        "datagrams-burner" => datagrams::near(0, false, end),
        "datagrams-asker" => datagrams::near(100, true, end),
        "datagrams-late" => datagrams::near(0, true, end),
        "renicing" => cheat(&path, end, |own| renice(0, own.nice + 1)),
        "batch" => cheat(&path, end, |own| set_attr(0, &Attr { policy: SCHED_BATCH, ..own })),
        "idle" => cheat(&path, end, |own| set_attr(0, &Attr { policy: SCHED_IDLE, ..own })),
        "setting" => set_while_boosted(&path, end),
        "nice" => {
            let own = rota_boost::syscalls::attr(0).expect("readable");
            println!("ACTOR {} {} {}", own.nice, own.slice_ns, own.flags);
            return;
        }
        "pool" => server(&path, end, pool),
        "asks" => {
            as_nobody();
            let mut stream = connect(&path);
            let mut text = [0; 200];
            while Instant::now() < end {
                stream.write_all(b"?").expect("asked");
                let len = stream.read(&mut text).expect("answered");
                print!("{}", String::from_utf8_lossy(&text[..len]));
            }
            return;
        }
        // By uid.
        _ => match name.split_once(':') {
            Some((name, uid)) => accomplices::play(name, uid.parse().expect("a uid"), &path, end),
            None => panic!("no actor {name}"),
        },
    }
    println!("ACTOR {}", own_cpu_ns());
}

/// All on one CPU, so that shares can be told.
fn pin() {
    let allowed = sched_getaffinity(None).expect("readable");
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).expect("a CPU");
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).expect("allowed");
}

fn as_nobody() {
    as_user(NOBODY);
}

pub fn as_user(uid: u32) {
    set_thread_uid(rustix::fs::Uid::from_raw(uid)).expect("root may");
}

/// A daemon that can be killed; there is a file beside its own once it is ready.
fn boost_until(saved: &Path, end: Instant) {
    let options = super::options("other-user,on-behalf", saved.into());
    let (mut daemon, _) = Daemon::start(&options, Kernel).expect("possible a moment ago");
    std::fs::write(saved.with_extension("ready"), "").expect("written");
    while Instant::now() < end {
        daemon.step().expect("a step");
    }
}

/// As many threads as can be, one after the other, each of which receives once.
fn storm(path: &Path, end: Instant) {
    let stream = accept(path);
    stream.never_block();
    while Instant::now() < end {
        std::thread::scope(|scope| scope.spawn(|| (&stream).read(&mut [0]).is_ok()).join())
            .expect("no panic");
    }
}

/// A server without privileges, whose threads set this of their own once they are boosted.
fn cheat(path: &Path, end: Instant, set: fn(Attr) -> std::io::Result<()>) {
    as_user(SOMEBODY);
    server(path, end, move |mut stream| {
        let mut byte = [0];
        let mut done = false;
        while matches!(stream.read(&mut byte), Ok(1)) {
            burn(SHORT);
            let own = attr(0).expect("readable");
            if own.nice < 0 && !done {
                set(own).expect("anybody may");
                rustix::thread::set_name(c"cheated").expect("settable");
                done = true;
            }
            let _ = stream.write_all(b"a");
        }
        // Nobody asks any more; it stays with what it has.
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
    });
}

/// A server without privileges that sets a slice of its own while it is boosted, first without
/// the flag for children and then with it; says the errors, 0 for none.
fn set_while_boosted(path: &Path, end: Instant) {
    as_user(SOMEBODY);
    let mut stream = accept(path);
    let mut byte = [0];
    while Instant::now() < end && matches!(stream.read(&mut byte), Ok(1)) {
        burn(SHORT);
        let own = attr(0).expect("readable");
        if own.nice < 0 {
            let wanted = Attr { slice_ns: 5_000_000, ..own };
            let errno = |flags| {
                let result = set_attr(0, &Attr { flags, ..wanted });
                result.map_or_else(|e| e.raw_os_error().unwrap_or(-1), |()| 0)
            };
            println!("ACTOR {} {}", errno(0), errno(own.flags));
            rustix::thread::set_name(c"cheated").expect("settable");
            break;
        }
        let _ = stream.write_all(b"a");
    }
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
}

pub fn burn(time: Duration) {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let end = now() + time;
    while now() < end {
        std::hint::spin_loop();
    }
}

fn burn_until(end: Instant) {
    while Instant::now() < end {
        burn(Duration::from_millis(1));
    }
}

fn listen(path: &Path) -> UnixListener {
    let listener = UnixListener::bind(path).expect("bound");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(path, all).expect("opened for all");
    listener
}

pub fn accept(path: &Path) -> UnixStream {
    listen(path).accept().expect("a customer").0
}

pub fn connect(path: &Path) -> UnixStream {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return stream,
            Err(e) if Instant::now() > end => panic!("{}: {e}", path.display()),
            Err(_) => std::thread::sleep(SHORT),
        }
    }
}

/// Sends all the time, and reads what comes back.
fn feed(stream: &mut (impl Read + Write + NonBlocking), end: Instant) {
    stream.never_block();
    let mut buffer = [0; 100];
    while Instant::now() < end {
        let _ = stream.write(b"x");
        let _ = stream.read(&mut buffer);
        std::thread::sleep(SHORT);
    }
}

/// Burns the CPU, and asks again whenever it has its answer.
fn asker(stream: &mut UnixStream, end: Instant) {
    stream.never_block();
    let mut byte = [0];
    let mut asked = false;
    while Instant::now() < end {
        asked = match asked {
            true => !matches!(stream.read(&mut byte), Ok(1)),
            false => matches!(stream.write(b"?"), Ok(1)),
        };
        burn(SHORT);
    }
}

pub trait NonBlocking {
    fn never_block(&self);
}

impl NonBlocking for UnixStream {
    fn never_block(&self) {
        self.set_nonblocking(true).expect("settable");
    }
}

impl NonBlocking for TcpStream {
    fn never_block(&self) {
        self.set_nonblocking(true).expect("settable");
    }
}

/// The server's end of a connection with oneself, which a thread feeds.
fn own_unix(path: &Path, end: Instant) -> UnixStream {
    let listener = listen(path);
    let mut theirs = connect(path);
    std::thread::spawn(move || feed(&mut theirs, end));
    listener.accept().expect("oneself").0
}

fn own_tcp(end: Instant) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let mut theirs =
        TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    std::thread::spawn(move || feed(&mut theirs, end));
    listener.accept().expect("oneself").0
}

/// Burns the CPU, and receives now and then. A chatty one answers, too.
fn burner(mut stream: impl Read + Write + NonBlocking, end: Instant, chatty: bool) {
    stream.never_block();
    let mut buffer = [0; 100];
    while Instant::now() < end {
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 && chatty => drop(stream.write(b"y")),
            Ok(_) => {}
            // The other end may be over a little earlier, with something unread.
            Err(e) if e.kind() == ErrorKind::ConnectionReset => {}
            Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock, "{e}"),
        }
        burn(SHORT);
    }
}

/// A thread per connection.
fn server(path: &Path, end: Instant, serve: impl Fn(UnixStream) + Copy + Send + 'static) {
    let listener = listen(path);
    listener.set_nonblocking(true).expect("settable");
    while Instant::now() < end {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).expect("settable");
                std::thread::spawn(move || serve(stream));
            }
            Err(_) => std::thread::sleep(SHORT),
        }
    }
}

fn answer(mut stream: UnixStream, work: Duration) {
    let mut byte = [0];
    while matches!(stream.read(&mut byte), Ok(1)) {
        burn(work);
        let _ = stream.write_all(b"a");
    }
}

/// One thread receives, another one works and answers with its own nice value.
fn pool(mut stream: UnixStream) {
    let (hand_on, requests) = mpsc::channel::<UnixStream>();
    std::thread::spawn(move || {
        for mut stream in requests {
            burn(Duration::from_millis(20));
            let own = rota_boost::syscalls::attr(0).expect("readable");
            let said = format!("ACTOR {} {} {}\n", own.nice, own.slice_ns, own.flags);
            let _ = stream.write_all(said.as_bytes());
        }
    });
    let mut byte = [0];
    while matches!(stream.read(&mut byte), Ok(1)) {
        hand_on.send(stream.try_clone().expect("a descriptor")).expect("a worker");
    }
}

/// Asks, waits, thinks; prints the mean and the 99th percentile of the response times.
fn customer(stream: &mut UnixStream, end: Instant) {
    let mut times = Vec::new();
    let mut byte = [0];
    while Instant::now() < end {
        let begin = Instant::now();
        stream.write_all(b"?").expect("asked");
        stream.read_exact(&mut byte).expect("answered");
        times.push(begin.elapsed().as_nanos());
        std::thread::sleep(5 * SHORT);
    }
    times.sort_unstable();
    let mean = times.iter().sum::<u128>() / times.len() as u128;
    println!("ACTOR {mean} {}", times[times.len() * 99 / 100]);
}
