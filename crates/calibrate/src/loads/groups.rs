// SPDX-License-Identifier: MIT OR Apache-2.0
//! Senders and receivers that are joined by pipes, as those of hackbench, each CPU with as many of
//! both: left alone they gather in many ways, and runs differ by twofold.

use super::{Live, ALONE};
use crate::budget::Budget;
use crate::clock::now_ns;
use crate::error::CalibrateError;
use crate::estimate::Estimate;
use crate::place::pin;
use rustix::fd::OwnedFd;
use rustix::io::{read, write, Errno};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;

/// Senders, and as many receivers.
pub const SENDERS: usize = 10;
/// The measurement is over.
const END: u64 = u64::MAX;
/// Bytes of a message, as hackbench's.
const BYTES: usize = 100;
/// Messages that fit a page of a pipe.
pub const MESSAGES_OF_PAGE: usize = 4096 / BYTES;
/// Pages of a pipe (`PIPE_DEF_BUFFERS`).
pub const PAGES: usize = 16;

fn failed(error: Errno) -> CalibrateError {
    CalibrateError::new(format!("a pipe: {error}"))
}

/// Reads a message, also in parts; `None`: no sender is left.
fn receive(from: &OwnedFd) -> Result<Option<()>, CalibrateError> {
    let (mut bytes, mut got) = ([0; BYTES], 0);
    while got < BYTES {
        match read(from, &mut bytes[got..]) {
            Ok(0) => return Ok(None),
            Ok(more) => got += more,
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(Some(()))
}

fn send(to: &OwnedFd) -> Result<(), CalibrateError> {
    let (bytes, mut put) = ([0; BYTES], 0);
    while put < BYTES {
        match write(to, &bytes[put..]) {
            Ok(more) => put += more,
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

/// Pipes that are used in turn.
type Pipes = Vec<(OwnedFd, OwnedFd)>;

fn pipes() -> Result<Pipes, CalibrateError> {
    (0..SENDERS).map(|_| rustix::pipe::pipe().map_err(failed)).collect()
}

/// Nanoseconds of a message in and of one out, where nobody waits: one into each pipe by a CPU, then
/// one out of each by another, or the same. Lines of the pipes move if it is another.
fn alone((a, b): (u32, u32), budget: Budget<'_>) -> Result<[f64; 2], CalibrateError> {
    let pipes = pipes()?;
    // Even: messages are to go in. Odd: out.
    let turn = AtomicU64::new(0);
    let (pipes, turn) = (&pipes, &turn);
    let half_of = move |cpu: u32, parity: u64, both: bool| -> Result<[f64; 2], CalibrateError> {
        let _pinned = pin(cpu)?;
        let mut times = [Vec::new(), Vec::new()];
        loop {
            let now = turn.load(Ordering::Acquire);
            if now == END {
                break;
            }
            if now % 2 != parity && !both {
                std::hint::spin_loop();
                continue;
            }
            // Not in between: no message may stay.
            if now % 2 == 0 && budget.is_over() {
                turn.store(END, Ordering::Release);
                break;
            }
            let begin_ns = now_ns();
            match now % 2 {
                0 => pipes.iter().try_for_each(|(_, to)| send(to))?,
                _ => pipes.iter().try_for_each(|(from, _)| receive(from).map(|_| ()))?,
            }
            let each = (now_ns() - begin_ns) as f64 / SENDERS as f64;
            times[(now % 2) as usize].push(each);
            turn.store(now + 1, Ordering::Release);
        }
        let of = |at: usize| Estimate::of(&times[at]).map_or(0.0, |of| of.median);
        Ok([of(0), of(1)])
    };
    let [into, out] = thread::scope(|scope| {
        let lost = |_| CalibrateError::new("a measuring thread failed");
        let first = scope.spawn(move || half_of(a, 0, a == b));
        let second = (a != b).then(|| scope.spawn(move || half_of(b, 1, false)));
        let [into, out] = first.join().map_err(lost)??;
        match second {
            None => Ok([into, out]),
            Some(second) => Ok([into, second.join().map_err(lost)??[1]]),
        }
    })?;
    match into > 0.0 && out > 0.0 {
        true => Ok([into, out]),
        false => Err(CalibrateError::new("too short a time for a load")),
    }
}

/// What a message costs by itself on average: of so many CPUs, all but one are others.
fn own_ns(cpus: &[u32], budget: Budget<'_>) -> Result<Vec<f64>, CalibrateError> {
    let first = cpus[0];
    let here = alone((first, first), budget.part(2))?;
    let Some(second) = cpus.get(1) else { return Ok(here.to_vec()) };
    let there = alone((first, *second), budget)?;
    let others = 1.0 - 1.0 / cpus.len() as f64;
    let mean = |(here, there): (f64, f64)| here * (1.0 - others) + there * others;
    Ok(here.into_iter().zip(there).map(mean).collect())
}

pub(super) fn play(cpus: &[u32], budget: Budget<'_>) -> Result<Live, CalibrateError> {
    let own_ns = own_ns(cpus, budget.part(ALONE))?;
    let (stop, received) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for (read, write) in pipes()? {
        from.push(read);
        to.push(write);
    }
    let (stop, received) = (&stop, &received);
    let receive_all = move |cpu: u32, from: OwnedFd| -> Result<(), CalibrateError> {
        let _pinned = pin(cpu)?;
        while receive(&from)?.is_some() {
            received.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let send_all = move |cpu: u32, to: Arc<Vec<OwnedFd>>| -> Result<(), CalibrateError> {
        let _pinned = pin(cpu)?;
        while !stop.load(Ordering::Relaxed) {
            to.iter().try_for_each(send)?;
        }
        Ok(())
    };
    let per_second = thread::scope(|scope| {
        let places = || cpus.iter().copied().cycle();
        let receivers: Vec<_> = from
            .into_iter()
            .zip(places())
            .map(|(from, cpu)| scope.spawn(move || receive_all(cpu, from)))
            .collect();
        // The last sender that ends closes the pipes, which ends the receivers.
        let to = Arc::new(to);
        let senders: Vec<_> = places()
            .take(SENDERS)
            .map(|cpu| (cpu, Arc::clone(&to)))
            .map(|(cpu, to)| scope.spawn(move || send_all(cpu, to)))
            .collect();
        drop(to);
        // The start is not the load.
        budget.part(10).sleep_out();
        let (begin_ns, before) = (now_ns(), received.load(Ordering::Relaxed));
        budget.sleep_out();
        let passed_ns = (now_ns() - begin_ns).max(1);
        let count = received.load(Ordering::Relaxed) - before;
        stop.store(true, Ordering::Relaxed);
        let lost = |_| CalibrateError::new("a thread of the load failed");
        let sent: Result<(), CalibrateError> =
            senders.into_iter().try_for_each(|sender| sender.join().map_err(lost)?);
        receivers.into_iter().try_for_each(|receiver| receiver.join().map_err(lost)?)?;
        sent.map(|()| count as f64 * 1e9 / passed_ns as f64)
    })?;
    Ok(Live { per_second, wakeup_p50_ns: None, own_ns })
}
