// SPDX-License-Identifier: MIT OR Apache-2.0
//! The worked examples of §2 and §3: three clients with shares 3, 2 and 1, and a thousand times as
//! many; and a client that comes in the middle of a quantum.

use crate::error::Error;
use crate::figure::{plain, Found, Table};
use crate::rig::{hogs, linked, tasks, Length, Rig, QUANTUM_NS};
use crate::runs::{Run, Runs};
use crate::Job;
use rota_measure::ServiceError;
use rota_workload::Workload;
use std::sync::Arc;

struct Example {
    key: &'static str,
    name: &'static str,
    policy: &'static str,
    set: &'static [(&'static str, &'static str)],
    /// The paper's order of a cycle [VTRR §2.2, §2.4, §3.1].
    order: &'static str,
}

const EXAMPLES: [Example; 4] = [
    Example { key: "wrr", name: "WRR", policy: "wrr", set: &[], order: "AAABBC" },
    Example { key: "wfq", name: "WFQ, lowest id", policy: "wfq", set: &[], order: "ABABCA" },
    Example {
        key: "wfq_rr",
        name: "WFQ, next id (tie=rr)",
        policy: "wfq",
        set: &[("tie", "rr")],
        order: "ABABCA",
    },
    Example { key: "vtrr", name: "VTRR", policy: "vtrr", set: &[], order: "ABCABA" },
];

const SHARES: [u64; 3] = [3, 2, 1];
const THOUSANDS: [u64; 3] = [3_000, 2_000, 1_000];
/// A client with share 4 comes to two with share 2 at half a quantum [eq. 7, 9]. By hand: at 5 ms
/// QVT is 5/4 (ms over shares), so that its VFT is 5/4 + 10/4, and it has floor(4/4 · 4) = 4 quanta
/// of the cycle, no more than there are before it in the queue.
const NEWCOMER: &str = "ABCABCCCCA";
const NEWCOMER_US: u64 = 5_000;

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(EXAMPLES.len() as u64);
    let (mut numbers, mut rows) = (Vec::new(), Vec::new());
    for example in &EXAMPLES {
        let key = example.key;
        let (picks, few) = cycle(example, &SHARES)?;
        numbers.push((format!("{key}_order"), same(&picks, example.order)));
        let (_, many) = cycle(example, &THOUSANDS)?;
        for (more, (lowest, highest)) in [("", few), ("_thousands", many)] {
            numbers.push((format!("{key}_lowest{more}"), lowest));
            numbers.push((format!("{key}_highest{more}"), highest));
        }
        if key == "vtrr" {
            numbers.push(("virtual_times".into(), apart(&picks)));
            numbers.push(("newcomer".into(), same(&newcomer(example)?, NEWCOMER)));
        }
        let range = |(lowest, highest): (f64, f64)| format!("{lowest:.2} to {highest:.2}");
        rows.push(vec![example.name.into(), example.order.into(), picks, range(few), range(many)]);
        job.progress.advance(1);
    }
    let header = ["scheduler", "order, paper", "order, here", "error (tu)", "of thousands (tu)"];
    Ok(vec![Found {
        id: "examples",
        ran: "One cycle of clients with shares 3, 2 and 1, and of 3000, 2000 and 1000, in the ideal \
              machine with one CPU and quanta of 10 ms, the time unit; the error is taken at the end \
              of each quantum. And two clients with share 2 to which one with share 4 comes after \
              half a quantum, for ten quanta."
            .into(),
        numbers: plain(numbers),
        tables: vec![Table {
            title: "Orders and service time errors".into(),
            header: header.map(String::from).to_vec(),
            rows,
            long: false,
        }],
        drawings: Vec::new(),
    }])
}

/// Quanta that are the same client's.
pub(super) fn same(picks: &str, order: &str) -> f64 {
    picks.chars().zip(order.chars()).filter(|(a, b)| a == b).count() as f64
}

/// Who has the quanta of a cycle, and the lowest and highest service time error in quanta.
fn cycle(example: &Example, shares: &[u64]) -> Result<(String, (f64, f64)), Error> {
    let length = Length::of(shares.iter().sum::<u64>() * QUANTUM_NS);
    let workload = hogs(shares, |at| format!("c{at}"))?;
    let policy = linked(example.policy, example.set)?;
    let (mut runs, mut error) = (Runs::default(), ServiceError::default());
    // In a long cycle somebody waits for longer than a watchdog allows.
    Rig::new(&policy).without_watchdog().run(&workload, length, &mut runs)?;
    Rig::new(&policy).without_watchdog().run(&workload, length, &mut error)?;
    let none_ran = || Error::Failure("no client ran".into());
    let range = error.finish(length.duration_ns).ok_or_else(none_ran)?;
    let quantum_ns = QUANTUM_NS as f64;
    let range = (range.lowest_ns() / quantum_ns, range.highest_ns() / quantum_ns);
    Ok((picks(&runs.finish(length.duration_ns)), range))
}

/// The clients of all quanta, as letters.
pub(super) fn picks(runs: &[Run]) -> String {
    let quanta = |run: &Run| ((run.to_ns - run.from_ns) / QUANTUM_NS) as usize;
    let letter = |run: &Run| char::from(b'A' + run.client as u8);
    runs.iter().flat_map(|run| std::iter::repeat_n(letter(run), quanta(run))).collect()
}

/// The furthest that the virtual times of A and B [eq. 3] are apart at the end of a quantum.
fn apart(picks: &str) -> f64 {
    let (mut a, mut b, mut most) = (0.0_f64, 0.0_f64, 0.0_f64);
    for pick in picks.chars() {
        match pick {
            'A' => a += 1.0,
            'B' => b += 1.0,
            _ => {}
        }
        most = most.max((a / SHARES[0] as f64 - b / SHARES[1] as f64).abs());
    }
    most
}

fn newcomer(example: &Example) -> Result<String, Error> {
    let workload: Arc<Workload> = tasks(
        [(2, 0), (2, 0), (4, NEWCOMER_US)].into_iter().map(|(share, delay)| {
            format!("\"share\": {share}, \"delay\": {delay}, \"run\": 3600000000")
        }),
        |at| format!("c{at}"),
    )?;
    let length = Length::of(NEWCOMER.len() as u64 * QUANTUM_NS);
    let mut runs = Runs::default();
    Rig::new(&linked(example.policy, example.set)?).run(&workload, length, &mut runs)?;
    Ok(picks(&runs.finish(length.duration_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_times_of_the_papers_order_are_a_third_apart() {
        // After A: 1/3 - 0. B: 1/3 - 1/2. A: 2/3 - 1/2. B: 2/3 - 1. A: 1 - 1.
        assert!((apart("ABCABA") - 1.0 / 3.0).abs() < 1e-12);
        assert!((apart("AAABBC") - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_long_time_on_the_cpu_is_several_quanta() {
        let run = |client, from: u64, to: u64| Run {
            client,
            from_ns: from * QUANTUM_NS,
            to_ns: to * QUANTUM_NS,
        };
        assert_eq!(picks(&[run(0, 0, 3), run(2, 3, 4)]), "AAAC");
    }
}
