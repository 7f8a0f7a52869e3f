// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processes of the test, and what they are told: an order as one line of JSON.

use super::load::Load;
use super::tally::Tally;
use super::task::Task;
use crate::children::Process;
use crate::error::Error;
use rustix::thread::set_current_timer_slack;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZero;
use std::process::{ChildStdin, ChildStdout, Command};

/// What a child is to do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Order {
    /// To load the CPUs until it is killed.
    Load { load: Load, busy_threads: usize, loops_per_ms: u64 },
    /// To be interactive for a while, and tell what came of it.
    Task { task: Task, duration_ns: u64, loops_per_ms: u64 },
}

const READY: &str = "ready";

/// A child that waits for its order, or has it.
pub(super) struct Child {
    process: Process,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Child {
    /// Starts one, and waits until it is there.
    pub(super) fn start(command: &mut Command) -> Result<Self, Error> {
        let mut process = Process::start(command)?;
        let orders = process.0.stdin.take().ok_or_else(gone)?;
        let answers = BufReader::new(process.0.stdout.take().ok_or_else(gone)?);
        let mut child = Self { process, orders, answers };
        match child.line()?.as_str() {
            READY => Ok(child),
            _ => Err(gone()),
        }
    }

    pub(super) fn tell(&mut self, order: &Order) -> Result<(), Error> {
        let line = serde_json::to_string(order).map_err(|e| Error::Failure(e.to_string()))?;
        writeln!(self.orders, "{line}").map_err(|e| Error::system("write to a child", e))
    }

    /// What came of a task.
    pub(super) fn hear(&mut self) -> Result<Tally, Error> {
        serde_json::from_str(&self.line()?).map_err(|_| gone())
    }

    pub(super) fn is_there(&mut self) -> Result<(), Error> {
        match self.process.0.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(gone()),
        }
    }

    fn line(&mut self) -> Result<String, Error> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|e| Error::system("read from a child", e))?;
        Ok(line.trim_end().to_owned())
    }
}

fn gone() -> Error {
    Error::Failure("a process of the test ended before its time".into())
}

/// What a child does: it says that it is there, waits for its order, and carries it out. A load
/// ends when nobody can give it orders any more.
pub fn child(orders: impl Read, mut answers: impl Write) -> Result<(), Error> {
    let broken = |e| Error::system("write to the parent", e);
    writeln!(answers, "{READY}").and_then(|()| answers.flush()).map_err(broken)?;
    let mut orders = BufReader::new(orders);
    let mut told = String::new();
    orders.read_line(&mut told).map_err(broken)?;
    let order: Order = serde_json::from_str(&told)
        .map_err(|e| Error::Input(format!("{:?} is not an order: {e}", told.trim_end())))?;
    // Kernels may be 50 µs late on purpose, to wake up several tasks at once.
    set_current_timer_slack(NonZero::new(1)).map_err(|e| Error::system("set a timer slack", e))?;
    match order {
        Order::Load { load, busy_threads, loops_per_ms } => {
            std::thread::spawn(move || load.run(busy_threads, loops_per_ms));
            // The end of the parent, if it does not kill us.
            orders.read_to_end(&mut Vec::new()).map(|_| ()).map_err(broken)
        }
        Order::Task { task, duration_ns, loops_per_ms } => {
            let tally = task.run(loops_per_ms, duration_ns)?;
            let line = serde_json::to_string(&tally).map_err(|e| Error::Failure(e.to_string()))?;
            writeln!(answers, "{line}").and_then(|()| answers.flush()).map_err(broken)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answers(orders: &str) -> Result<Vec<String>, Error> {
        let mut answers = Vec::new();
        child(orders.as_bytes(), &mut answers)?;
        Ok(String::from_utf8_lossy(&answers).lines().map(str::to_owned).collect())
    }

    #[test]
    fn a_child_does_what_it_is_told_and_answers() {
        let order = Order::Task { task: Task::Audio, duration_ns: 100_000_000, loops_per_ms: 1 };
        let line = serde_json::to_string(&order).expect("is JSON");
        let found = answers(&format!("{line}\n")).expect("runs");
        assert_eq!(found[0], READY);
        let tally: Tally = serde_json::from_str(&found[1]).expect("is a tally");
        assert_eq!(tally.met + tally.late + tally.dropped, 2);
    }

    #[test]
    fn a_load_ends_with_its_parent() {
        let order = Order::Load { load: Load::None, busy_threads: 0, loops_per_ms: 1 };
        let line = serde_json::to_string(&order).expect("is JSON");
        assert_eq!(answers(&format!("{line}\n")).expect("ends"), [READY]);
    }

    proptest! {
        #[test]
        fn what_is_no_order_is_refused(text in ".{0,80}") {
            let refused = matches!(answers(&text), Err(Error::Input(_)));
            prop_assert!(refused || serde_json::from_str::<Order>(&text).is_ok());
        }
    }
}
