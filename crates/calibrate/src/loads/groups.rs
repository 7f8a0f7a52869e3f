// SPDX-License-Identifier: MIT OR Apache-2.0
//! Senders and receivers that are joined by pipes, as those of hackbench.

use super::{half, Live, ALONE};
use crate::budget::Budget;
use crate::clock::now_ns;
use crate::error::CalibrateError;
use crate::place::pin;
use rustix::fd::OwnedFd;
use rustix::io::{read, write, Errno};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;

/// Senders, and as many receivers.
pub const SENDERS: usize = 10;
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

/// Nanoseconds of a message in and of one out, where nobody waits.
fn alone(cpu: u32, budget: Budget<'_>) -> Result<[f64; 2], CalibrateError> {
    let measure = || -> Result<[f64; 2], CalibrateError> {
        pin(cpu)?;
        let (from, to) = rustix::pipe::pipe().map_err(failed)?;
        let (mut into, mut out) = (Vec::new(), Vec::new());
        while !budget.is_over() {
            let begin_ns = now_ns();
            (0..MESSAGES_OF_PAGE).try_for_each(|_| send(&to))?;
            let middle_ns = now_ns();
            for _ in 0..MESSAGES_OF_PAGE {
                receive(&from)?;
            }
            let each = MESSAGES_OF_PAGE as f64;
            into.push((middle_ns - begin_ns) as f64 / each);
            out.push((now_ns() - middle_ns) as f64 / each);
        }
        Ok([half(&into)?, half(&out)?])
    };
    thread::scope(|scope| {
        let measuring = scope.spawn(measure);
        measuring.join().map_err(|_| CalibrateError::new("a measuring thread failed"))?
    })
}

pub(super) fn play(cpu: u32, budget: Budget<'_>) -> Result<Live, CalibrateError> {
    let own_ns = alone(cpu, budget.part(ALONE))?.to_vec();
    let (stop, received) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for _ in 0..SENDERS {
        let (read, write) = rustix::pipe::pipe().map_err(failed)?;
        from.push(read);
        to.push(write);
    }
    let (stop, received) = (&stop, &received);
    let receive_all = move |from: OwnedFd| -> Result<(), CalibrateError> {
        while receive(&from)?.is_some() {
            received.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let send_all = move |to: Arc<Vec<OwnedFd>>| -> Result<(), CalibrateError> {
        while !stop.load(Ordering::Relaxed) {
            to.iter().try_for_each(send)?;
        }
        Ok(())
    };
    let per_second = thread::scope(|scope| {
        let receivers: Vec<_> =
            from.into_iter().map(|from| scope.spawn(move || receive_all(from))).collect();
        // The last sender that ends closes the pipes, which ends the receivers.
        let to = Arc::new(to);
        let senders: Vec<_> = (0..SENDERS)
            .map(|_| Arc::clone(&to))
            .map(|to| scope.spawn(move || send_all(to)))
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
