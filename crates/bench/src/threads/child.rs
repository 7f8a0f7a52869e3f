// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program of so many threads that integrate together. It has no thread but these: the one that
//! it began with computes, too, as in the paper [PFS §4.1, Table 1].

use crate::clock::now_ns;
use crate::error::Error;
use crate::fairness::{check_pi, pi_part};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Barrier};

pub(super) const READY: &str = "ready";

/// What a program does: it is told threads and steps, has its threads wait, says that it is ready,
/// and when it is told to begin, says when the last thread was done.
pub fn child(orders: impl Read, mut answer: impl Write) -> Result<(), Error> {
    let broken = |e| Error::system("write to the parent", e);
    let mut orders = BufReader::new(orders);
    let mut told = String::new();
    orders.read_line(&mut told).map_err(broken)?;
    let (threads, steps) = order(&told)?;
    let begin = Arc::new(Barrier::new(threads as usize));
    let mut others = Vec::new();
    for thread in 1..threads {
        let begin = Arc::clone(&begin);
        let work = move || {
            begin.wait();
            part(thread, threads, steps)
        };
        let started = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work);
        others.push(started.map_err(|e| {
            Error::Failure(format!("cannot start thread {} of {threads}: {e}", thread + 1))
        })?);
    }
    writeln!(answer, "{READY}").and_then(|()| answer.flush()).map_err(broken)?;
    let mut go = String::new();
    orders.read_line(&mut go).map_err(broken)?;
    if go.is_empty() {
        return Err(Error::Input("the parent ended before the start".into()));
    }
    begin.wait();
    let mut pi = part(0, threads, steps);
    for other in others {
        pi += other.join().map_err(|_| Error::Failure("a thread failed".into()))?;
    }
    let ended_ns = now_ns();
    check_pi(pi)?;
    writeln!(answer, "{ended_ns}").and_then(|()| answer.flush()).map_err(broken)
}

const STACK_BYTES: usize = 64 << 10;

/// Threads and steps.
fn order(told: &str) -> Result<(u32, u64), Error> {
    let parsed = told.split_once(' ').and_then(|(threads, steps)| {
        let threads = threads.parse::<u32>().ok().filter(|threads| *threads > 0)?;
        Some((threads, steps.trim_end().parse::<u64>().ok().filter(|steps| *steps > 0)?))
    });
    parsed.ok_or_else(|| {
        Error::Input(format!("{:?} is not a number of threads and one of steps", told.trim_end()))
    })
}

/// What a thread adds: its steps are all that follow those of the one before.
fn part(thread: u32, threads: u32, steps: u64) -> f64 {
    let until = |thread: u32| (u128::from(steps) * u128::from(thread) / u128::from(threads)) as u64;
    pi_part(until(thread)..until(thread + 1), steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_program_waits_for_its_start_and_tells_its_end() {
        let before_ns = now_ns();
        let mut answer = Vec::new();
        child(&b"5 1003\ngo\n"[..], &mut answer).expect("computes");
        let answer = String::from_utf8(answer).expect("text");
        let mut lines = answer.lines();
        assert_eq!(lines.next(), Some(READY));
        let end_ns: u64 = lines.next().and_then(|ns| ns.parse().ok()).expect("a time");
        assert!((before_ns..=now_ns()).contains(&end_ns));
    }

    #[test]
    fn without_a_start_there_is_no_end() {
        // One thread: others would wait at the barrier for ever, and the process ends with them.
        let error = child(&b"1 1000\n"[..], Vec::new()).expect_err("is not told to begin");
        assert!(error.to_string().contains("before the start"), "{error}");
    }

    #[test]
    fn parts_of_all_threads_are_pi() {
        for threads in [1, 2, 3, 7, 32] {
            let pi: f64 = (0..threads).map(|thread| part(thread, threads, 1_000)).sum();
            assert!((pi - std::f64::consts::PI).abs() < 1e-6, "{threads}: {pi}");
        }
    }

    proptest! {
        #[test]
        fn what_is_no_order_is_refused(text in ".{0,40}") {
            if let Ok((threads, steps)) = order(&text) {
                prop_assert!(threads > 0 && steps > 0);
            }
            let other = "x".to_owned() + &text;
            prop_assert!(order(&other).is_err());
        }
    }
}
