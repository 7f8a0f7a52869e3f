// SPDX-License-Identifier: MIT OR Apache-2.0
//! Children that all compute the same, on one CPU, from the same moment on: a fair scheduler has
//! them finish together [O1CFS §3].

use crate::children::Process;
use crate::clock::now_ns;
use crate::cpus::Cpus;
use crate::error::Error;
use crate::spread::Spread;
use serde::Serialize;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::process::{ChildStdout, Command};

/// Times are grouped by it [O1CFS §3.1].
pub const BIN_NS: u64 = 100_000_000;

/// How far the children's pi may be off; 100 steps are enough for it.
const PRECISION: f64 = 1e-4;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Children at the same time.
    pub children: u32,
    /// Steps of each one's integral.
    pub steps: u64,
    /// Number of repetitions.
    pub repeat: u32,
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct Fairness {
    /// Time that each child took, in order of the children, one repetition after the other.
    pub times_ns: Vec<u64>,
    /// Of the same.
    pub spread_ns: Spread,
    /// How many took so many bins, to the nearest: bin number and children.
    pub bins: Vec<(u64, usize)>,
}

/// Runs `child` as often as there are children. It has to be a program that calls [`child`].
pub fn measure(plan: Plan, cpus: &Cpus, child: impl Fn() -> Command) -> Result<Fairness, Error> {
    let mut times_ns = Vec::new();
    for _ in 0..plan.repeat {
        times_ns.extend(once(plan, cpus, &child)?);
    }
    let all: Vec<f64> = times_ns.iter().map(|ns| *ns as f64).collect();
    let spread_ns = Spread::of(&all).ok_or_else(|| Error::Input("there are no children".into()))?;
    let bins = bins(&times_ns);
    Ok(Fairness { times_ns, spread_ns, bins })
}

fn once(plan: Plan, cpus: &Cpus, child: &impl Fn() -> Command) -> Result<Vec<u64>, Error> {
    let start = || (0..plan.children).map(|_| Process::start(&mut child())).collect();
    let mut children: Vec<Process> = cpus.share(|| -> Result<_, Error> { start() })??;
    let silent = || Error::Failure("a child ended before its time".into());
    let mut answers: Vec<BufReader<ChildStdout>> = Vec::new();
    for child in &mut children {
        let mut answer = BufReader::new(child.0.stdout.take().ok_or_else(silent)?);
        let ready = line(&mut answer)?;
        if ready != READY {
            return Err(silent());
        }
        answers.push(answer);
    }
    let starts: Option<Vec<_>> = children.iter_mut().map(|child| child.0.stdin.take()).collect();
    for mut start in starts.ok_or_else(silent)? {
        let steps = format!("{}\n", plan.steps);
        start.write_all(steps.as_bytes()).map_err(|e| Error::system("start a child", e))?;
    }
    answers.iter_mut().map(|answer| line(answer)?.parse().map_err(|_| silent())).collect()
}

fn line(from: &mut BufReader<ChildStdout>) -> Result<String, Error> {
    let mut line = String::new();
    from.read_line(&mut line).map_err(|e| Error::system("read from a child", e))?;
    Ok(line.trim_end().to_owned())
}

const READY: &str = "ready";

/// What a child does: it says that it is there, waits to be told a number of steps, and says how
/// many nanoseconds the integral took it.
pub fn child(start: impl Read, mut answer: impl Write) -> Result<(), Error> {
    let broken = |e| Error::system("write to the parent", e);
    writeln!(answer, "{READY}").and_then(|()| answer.flush()).map_err(broken)?;
    let mut told = String::new();
    BufReader::new(start).read_line(&mut told).map_err(broken)?;
    let steps = told.trim_end().parse::<u64>();
    let steps = steps.map_err(|_| Error::Input(format!("{told:?} is not a number of steps")))?;
    let began_ns = now_ns();
    let pi = pi(steps);
    let took_ns = now_ns() - began_ns;
    check_pi(pi)?;
    writeln!(answer, "{took_ns}").and_then(|()| answer.flush()).map_err(broken)
}

/// Whether an integral came out right.
pub(crate) fn check_pi(pi: f64) -> Result<(), Error> {
    match (pi - std::f64::consts::PI).abs() > PRECISION {
        true => Err(Error::Failure(format!("pi is not {pi}"))),
        false => Ok(()),
    }
}

/// The integral of 4/(1 + x²) from 0 to 1 by the midpoint rule, which is pi.
fn pi(steps: u64) -> f64 {
    pi_part(0..steps, steps)
}

/// What some of so many steps add to it.
pub(crate) fn pi_part(of: Range<u64>, steps: u64) -> f64 {
    let width = 1.0 / steps as f64;
    let height = |step: u64| {
        let x = (step as f64 + 0.5) * width;
        4.0 / (1.0 + x * x)
    };
    of.map(height).sum::<f64>() * width
}

fn bins(times_ns: &[u64]) -> Vec<(u64, usize)> {
    let mut bins = std::collections::BTreeMap::new();
    for ns in times_ns {
        *bins.entry((ns + BIN_NS / 2) / BIN_NS).or_insert(0) += 1;
    }
    bins.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integral_is_pi() {
        assert!((pi(1_000) - std::f64::consts::PI).abs() < 1e-6);
        assert!((pi(100) - std::f64::consts::PI).abs() < PRECISION);
    }

    #[test]
    fn times_go_to_the_nearest_tenth_of_a_second() {
        let ms = |ms: u64| ms * 1_000_000;
        assert_eq!(bins(&[ms(149), ms(150), ms(1_049), ms(51)]), [(1, 2), (2, 1), (10, 1)]);
    }

    #[test]
    fn a_child_waits_for_its_steps_and_tells_its_time() {
        let mut answer = Vec::new();
        child(&b"1000\n"[..], &mut answer).expect("computes");
        let answer = String::from_utf8(answer).expect("text");
        let mut lines = answer.lines();
        assert_eq!(lines.next(), Some(READY));
        assert!(lines.next().is_some_and(|ns| ns.parse::<u64>().is_ok()), "{answer}");
        for bad in [&b""[..], b"x\n", b"-1\n"] {
            assert!(child(bad, Vec::new()).is_err());
        }
    }
}
