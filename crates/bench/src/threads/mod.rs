// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two programs with the same work and different numbers of threads, on the same CPUs: who is fair
//! to threads has the one with more of them done first, who is fair to processes both at the same
//! time [PFS §4.3, §5.3].

mod child;
mod predicted;

pub use child::child;

use crate::children::Process;
use crate::clock::now_ns;
use crate::cpus::Cpus;
use crate::error::Error;
use crate::spread::Spread;
use child::READY;
use predicted::{ends_ns, Fair};
use serde::Serialize;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command};

/// One of each program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair<T> {
    /// Of program A.
    pub a: T,
    /// Of program B.
    pub b: T,
}

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Threads that compute.
    pub threads: Pair<u32>,
    /// Steps of each program's integral, which its threads divide.
    pub steps: u64,
    /// Number of runs of both at the same time.
    pub repeat: u32,
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct Threads {
    /// How long each took alone, once.
    pub alone_ns: Pair<u64>,
    /// How long they took side by side, by repetition.
    pub times_ns: Vec<Pair<u64>>,
    /// Of the same.
    pub spread_ns: Pair<Spread>,
    /// What they would take with slices as short as one likes.
    pub predicted_ns: Predicted,
}

/// What is due, from the times alone.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Predicted {
    /// Each thread has the same [PFS eq. 3 to 5].
    pub fair_to_threads: Pair<f64>,
    /// Each program has the same.
    pub fair_to_processes: Pair<f64>,
}

/// Runs `program` for A and for B, each alone and then both together. It has to be a program that
/// calls [`child()`].
pub fn measure(plan: Plan, cpus: &Cpus, program: impl Fn() -> Command) -> Result<Threads, Error> {
    let run = |threads: &[u32]| once(threads, plan.steps, cpus, &program);
    let alone_ns = Pair { a: run(&[plan.threads.a])?[0], b: run(&[plan.threads.b])?[0] };
    let mut times_ns = Vec::new();
    for _ in 0..plan.repeat {
        let both = run(&[plan.threads.a, plan.threads.b])?;
        times_ns.push(Pair { a: both[0], b: both[1] });
    }
    let spread = |of: fn(&Pair<u64>) -> u64| {
        let all: Vec<f64> = times_ns.iter().map(|pair| of(pair) as f64).collect();
        Spread::of(&all).ok_or_else(|| Error::Input("there are no repetitions".into()))
    };
    let spread_ns = Pair { a: spread(|pair| pair.a)?, b: spread(|pair| pair.b)? };
    let alone = Pair { a: alone_ns.a as f64, b: alone_ns.b as f64 };
    let due = |fair| ends_ns(fair, plan.threads, alone, cpus.count());
    let predicted_ns = Predicted {
        fair_to_threads: due(Fair::ToThreads),
        fair_to_processes: due(Fair::ToProcesses),
    };
    Ok(Threads { alone_ns, times_ns, spread_ns, predicted_ns })
}

/// Programs that begin together, and what each took.
fn once(
    threads: &[u32],
    steps: u64,
    cpus: &Cpus,
    program: &impl Fn() -> Command,
) -> Result<Vec<u64>, Error> {
    let start = || threads.iter().map(|_| Process::start(&mut program())).collect();
    let mut processes: Vec<Process> = cpus.share(|| -> Result<_, Error> { start() })??;
    let mut talks = Vec::new();
    for (process, threads) in processes.iter_mut().zip(threads) {
        let mut talk = Talk::with(process)?;
        talk.tell(&format!("{threads} {steps}"))?;
        talks.push(talk);
    }
    for talk in &mut talks {
        if talk.hear()? != READY {
            return Err(silent());
        }
    }
    let began_ns = now_ns();
    for talk in &mut talks {
        talk.tell("go")?;
    }
    let took = |talk: &mut Talk| {
        let ended_ns: u64 = talk.hear()?.parse().map_err(|_| silent())?;
        Ok(ended_ns.saturating_sub(began_ns))
    };
    talks.iter_mut().map(took).collect()
}

/// With a program.
struct Talk {
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Talk {
    fn with(process: &mut Process) -> Result<Self, Error> {
        let orders = process.0.stdin.take().ok_or_else(silent)?;
        let answers = BufReader::new(process.0.stdout.take().ok_or_else(silent)?);
        Ok(Self { orders, answers })
    }

    fn tell(&mut self, order: &str) -> Result<(), Error> {
        let order = format!("{order}\n");
        self.orders.write_all(order.as_bytes()).map_err(|_| silent())
    }

    fn hear(&mut self) -> Result<String, Error> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|e| Error::system("read from a program", e))?;
        Ok(line.trim_end().to_owned())
    }
}

/// It has said why on standard error.
fn silent() -> Error {
    Error::Failure("a program of the test ended before its time".into())
}
