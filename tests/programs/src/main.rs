// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of rota-program run: a loader of a scheduler, and programs that do one thing that
//! a program may do or must not. Each prints what came of it.

mod forbidden;
mod schedule;

use anyhow::{bail, Context, Result};
use rustix::fs::inotify;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{mpsc, Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["schedule", object, times, ref then @ ..] => {
            schedule::schedule(object, times.parse()?, then)
        }
        ["clocks"] => clocks(),
        ["threads"] => threads(),
        ["hashes"] => hashes(),
        ["computer"] => computer(),
        ["spin"] => loop {
            std::hint::spin_loop();
        },
        ["wait"] => wait(),
        ["sockets"] => sockets(),
        ["watch"] => watch(),
        ["fail"] => {
            eprintln!("cannot go on");
            std::process::exit(3);
        }
        ["crash"] => std::process::abort(),
        ["forbidden", file, pid] => forbidden::try_all(file, pid.parse().context("pid")?),
        _ => bail!("unknown arguments {words:?}"),
    }
}

fn clocks() -> Result<()> {
    let (start, date) = (Instant::now(), SystemTime::now());
    thread::sleep(Duration::from_secs(3600));
    println!("slept {:?}", start.elapsed());
    println!("date {}", date.duration_since(UNIX_EPOCH)?.as_secs());
    println!("date moved {:?}", date.elapsed()?);
    Ok(())
}

/// Three threads that sleep, and one that waits for all of them.
fn threads() -> Result<()> {
    let done = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
    let start = Instant::now();
    let all: Vec<_> = [30, 10, 20]
        .into_iter()
        .map(|ms| {
            let done = Arc::clone(&done);
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(ms));
                done.0.lock().expect("whole").push((ms, start.elapsed()));
                done.1.notify_one();
            })
        })
        .collect();
    let (lock, condition) = &*done;
    let finished = condition.wait_while(lock.lock().expect("whole"), |done| done.len() < 3);
    println!("finished {:?}", finished.expect("whole"));
    for thread in all {
        thread.join().expect("no panic");
    }
    let (give, take) = mpsc::channel::<()>();
    let late = take.recv_timeout(Duration::from_secs(5));
    drop(give);
    println!("nothing came: {late:?} at {:?}", start.elapsed());
    Ok(())
}

/// Hash tables are seeded with random numbers.
fn hashes() -> Result<()> {
    let all: std::collections::HashSet<u32> = (0..20).collect();
    println!("{all:?}");
    Ok(())
}

fn computer() -> Result<()> {
    println!("pid {}", std::process::id());
    println!("cpus {}", thread::available_parallelism()?);
    for path in [
        "/sys/devices/system/cpu/possible",
        "/sys/devices/system/cpu/cpu5/topology/thread_siblings_list",
        "/sys/devices/system/cpu/cpu5/cache/index3/shared_cpu_list",
        "/sys/devices/system/node/node1/cpulist",
        "/proc/sys/kernel/osrelease",
        "/sys/devices/system/cpu/cpu6/online",
        "/proc/1/comm",
    ] {
        match std::fs::read_to_string(path) {
            Ok(text) => println!("{path}: {}", text.trim()),
            Err(error) => println!("{path}: {}", error.kind()),
        }
    }
    let names = std::fs::read_dir("/sys/devices/system/node")?;
    let mut names: Vec<_> = names.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
    names.sort();
    println!("{names:?}");
    Ok(())
}

/// A server that answers after 10 ms, as schedulers' statistics are asked for, and a client that has
/// 50 ms of patience.
fn sockets() -> Result<()> {
    const PATH: &str = "/var/run/scx/root/stats";
    std::fs::create_dir_all("/var/run/scx/root")?;
    let listener = UnixListener::bind(PATH)?;
    println!("again: {}", UnixListener::bind(PATH).map(drop).unwrap_err().kind());
    let server = thread::spawn(move || -> Result<()> {
        let (mut peer, _) = listener.accept()?;
        let mut line = String::new();
        BufReader::new(peer.try_clone()?).read_line(&mut line)?;
        thread::sleep(Duration::from_millis(10));
        write!(peer, "answer to {line}")?;
        thread::sleep(Duration::from_secs(1));
        Ok(())
    });
    let start = Instant::now();
    let mut client = UnixStream::connect(PATH)?;
    client.set_read_timeout(Some(Duration::from_millis(50)))?;
    writeln!(client, "question")?;
    let mut reader = BufReader::new(client);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    println!("{} at {:?}", line.trim(), start.elapsed());
    println!("{} at {:?}", reader.read_line(&mut line).unwrap_err().kind(), start.elapsed());
    server.join().expect("no panic")?;
    println!("end at {:?}", start.elapsed());
    std::fs::remove_file(PATH)?;
    println!("gone: {}", UnixStream::connect(PATH).unwrap_err().kind());
    UnixListener::bind(PATH)?;
    Ok(())
}

/// Files of the simulated machine change when that does, not when this computer's do.
fn watch() -> Result<()> {
    let inotify = inotify::init(inotify::CreateFlags::NONBLOCK)?;
    for path in ["/sys/devices/system/cpu", "/sys/fs/cgroup", "/sys/fs/cgroup/none", "/run"] {
        match inotify::add_watch(&inotify, path, inotify::WatchFlags::CREATE) {
            Ok(number) => println!("{path}: {number}"),
            Err(error) => println!("{path}: {}", error.kind()),
        }
    }
    println!("{}", rustix::io::read(&inotify, &mut [0; 512]).unwrap_err().kind());
    Ok(())
}

fn wait() -> Result<()> {
    println!("waiting");
    let (_give, take) = mpsc::channel::<()>();
    Ok(take.recv()?)
}
