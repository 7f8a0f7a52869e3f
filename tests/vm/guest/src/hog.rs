// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process that only computes, but for what its life has before.

use crate::ordinary;
use anyhow::{Context, Result};
use rota_guest::step::{Hog, Life};
use rota_play::{thread_ns, PAUSE_EVERY};
use rustix::process::setsid;
use std::hint::{black_box, spin_loop};
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier};
use std::thread::{self, sleep};
use std::time::Duration;

const PROGRAM: &str = "/bin/rota-guest";
/// CPU time of threads that end, and of those of a storm.
const SHORT_LIFE_NS: u64 = 20_000_000;
const STORM_LIFE_NS: u64 = 100_000;
/// From one program that ends at once to the next.
const FORK_EVERY: Duration = Duration::from_millis(10);
const STACK_BYTES: usize = 16 << 10;

/// Uses CPU time and makes no system call, until it is killed.
fn spin() -> ! {
    let mut round = 0u64;
    loop {
        round = black_box(round.wrapping_add(1));
        if round % PAUSE_EVERY == 0 {
            spin_loop();
        }
    }
}

/// Until it is killed.
pub(crate) fn live(kind: &Hog) -> Result<()> {
    if kind.session {
        setsid().context("cannot begin a session")?;
    }
    match kind.life {
        None => {}
        Some(Life::Exec) => {
            start(2 * kind.threads - 1, || spin())?;
            return ordinary::take_over(PROGRAM, &["hog", &plain(kind)?]);
        }
        Some(Life::LeaderEnds) => {
            start(kind.threads, || spin())?;
            rota_kernel::end_thread();
        }
        Some(Life::ThreadsEnd) => start(2 * kind.threads, || spin_for(SHORT_LIFE_NS))?,
        Some(Life::Forks) => start(1, || loop {
            let child = Command::new("/bin/busybox").arg("true").stdin(Stdio::null()).status();
            child.expect("a program starts");
            sleep(FORK_EVERY);
        })?,
        Some(Life::Storm) => {
            let gate = Arc::new(Barrier::new(2 * kind.threads as usize));
            let (makers, others) = (gate.clone(), gate.clone());
            start(kind.threads, move || {
                makers.wait();
                storm()
            })?;
            start(kind.threads - 1, move || {
                others.wait();
                spin()
            })?;
            gate.wait();
            spin()
        }
        Some(Life::Parent) => {
            let mut child = Command::new(PROGRAM);
            child.args(["hog", &plain(kind)?]).stdout(Stdio::null());
            println!("{}", child.spawn()?.id());
        }
    }
    start(kind.threads - 1, || spin())?;
    spin()
}

/// The argument of one with as many threads and nothing else.
fn plain(kind: &Hog) -> Result<String> {
    let plain = Hog { threads: kind.threads, ..Hog::default() };
    Ok(serde_json::to_string(&plain)?)
}

/// Threads that are never waited for.
fn start(count: u32, body: impl Fn() + Clone + Send + 'static) -> Result<()> {
    for _ in 0..count {
        thread::Builder::new().stack_size(STACK_BYTES).spawn(body.clone())?;
    }
    Ok(())
}

/// Alone such threads cannot use what they are due: starting one takes a lock that all have. For
/// the same reason all of them, and those beside them, begin together.
fn storm() {
    loop {
        let new = thread::Builder::new().stack_size(STACK_BYTES);
        let new = new.spawn(|| spin_for(STORM_LIFE_NS)).expect("a thread starts");
        new.join().expect("it does not panic");
    }
}

fn spin_for(cpu_ns: u64) {
    spin_since(0, cpu_ns);
}

/// Uses so much CPU time, counted from when the thread had used `since_ns`.
pub(crate) fn spin_since(since_ns: u64, cpu_ns: u64) {
    let mut round = 0u64;
    while thread_ns() - since_ns < cpu_ns {
        while round % PAUSE_EVERY != 0 {
            round = black_box(round + 1);
        }
        round += 1;
        spin_loop();
    }
}
