// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients that come, go and change [VTRR §3.2]: an example of each rule, with its order by hand.
//!
//! A line of a calculation has the time in ms, the client that runs, and what holds 10 ms later, at
//! the end of its quantum: c is its time counter, VT its virtual time, in quanta over shares; QVT
//! that of the queue, QL the sum of counters, TS that of shares.

use super::examples::{picks, same};
use crate::error::Error;
use crate::figure::{plain, Found, Table};
use crate::rig::{linked, tasks, Length, Rig, QUANTUM_NS};
use crate::runs::Runs;
use crate::Job;

struct Rule {
    key: &'static str,
    name: &'static str,
    /// Of A, B and so on, as a workload file has it.
    clients: &'static [&'static str],
    order: &'static str,
}

const A3: &str = "\"share\": 3, \"run\": 1000000";
const C1: &str = "\"share\": 1, \"run\": 1000000";
/// One quantum, then away for 25 ms.
const B2_AWAY: &str =
    "\"share\": 2, \"loop\": 1, \"run\": 10000, \"sleep\": 25000, \"run\": 10000000";

const RULES: [Rule; 8] = [
    // Shares 3, 2 from 0 (TS 5), 1 from 25 on.
    //  0 A: c 2. 10 B: c 1, VT 1/2, QVT 2/5. 20 A. At 25 QVT is 5/10: C has VT 1/2 [eq. 7] and
    //    c floor(1/5 * 3) = 0 [eq. 9]; A's quantum counts, from then on, with TS 6
    // 30 A: c 1; B is next: VT 1/2. B: c 0. C has none left. 40 A: c 0: the cycle is over
    // 50 A, B, C (its VT is the least), A, B, A
    Rule {
        key: "comes",
        name: "a new client starts at QVT [eq. 7] with its part of the cycle [eq. 9]",
        clients: &[A3, "\"share\": 2, \"run\": 1000000", "\"share\": 1, \"delay\": 25000, \"run\": 1000000"],
        order: "ABABAABCABA",
    },
    // Shares 3, 2, 1; B exits after two quanta.
    //  0 A: c 2, QVT 1/6. 10 B (0 < 2/6): c 1, VT 1/2, QVT 2/6. 20 C (0 < 3/6): c 0, QVT 3/6
    // 30 A: c 1, QVT 4/6. 40 B (1/2 < 5/6): c 0, QVT 5/6, and it exits: QL 1, TS 4. C has none
    // 50 A: c 0, QVT 13/12: over. VT: A 1, C 1
    // 60 A: c 2, QVT 16/12. 70 C (12/12 < 19/12): c 0. 80 A. 90 A: over. And so on
    Rule {
        key: "exits",
        name: "a client that exits has no effect but that it is gone",
        clients: &[A3, "\"share\": 2, \"loop\": 1, \"run\": 20000", C1],
        order: "ABCABAACAAACAA",
    },
    // Shares 3, 2, 1.
    //  0 A: c 2, VT 1/3, QVT 1/6. 10 B (0 < 2/6): c 1, VT 1/2, QVT 2/6. It sleeps until 45: QL 3,
    //    TS 4. 20 C (0 < 2/6 + 1/4): c 0, VT 1, QVT 7/12. The queue ends
    // 30 A: c 1, VT 2/3, QVT 10/12. C has none left. 40 A: at 45 B comes back between A and C,
    //    both as before: c floor(2/4 * 1) = 0 [eq. 9]. At 50 A: c 0: over after five quanta
    // 50 A, B, C, A, B, A, as from the beginning
    Rule {
        key: "returns",
        name: "the current client sleeps, and comes back between its neighbours",
        clients: &[A3, B2_AWAY, C1],
        order: "ABCAAABCABAABCABA",
    },
    // The same, but C sleeps from 30 to 130: B's last-next is not valid.
    // 30 A: c 1. 40 A again, alone. At 45 B: c 0. 50, of A and B: A, B, A, B, A
    Rule {
        key: "walks",
        name: "its neighbour is gone: it walks to its place",
        clients: &[
            A3,
            B2_AWAY,
            "\"share\": 1, \"loop\": 1, \"run\": 10000, \"sleep\": 100000, \"run\": 10000000",
        ],
        order: "ABCAAABABA",
    },
    // Shares 10, 2. 0 A: QVT 1/12. 10 B: c 1, VT 1/2, QVT 2/12. It sleeps for 5 ms and keeps VT 1/2,
    //    as QVT at 25, 2/12 + 1/20 = 26/120, is less [eq. 8]; c min(1, floor(2/10 * 9)) = 1
    // 20 A: at 30 QVT is 26/120 + 5/120: 60/120 < 31/120 + 10/120 is not true. 30 A: nor of 41/120.
    // 40 A: 60/120 < 51/120 + 10/120. 50 B, and A
    Rule {
        key: "vft",
        name: "a client that is ahead stays so while it sleeps [eq. 8]",
        clients: &[
            "\"share\": 10, \"run\": 1000000",
            "\"share\": 2, \"loop\": 1, \"run\": 10000, \"sleep\": 5000, \"run\": 10000000",
        ],
        order: "ABAAABA",
    },
    // Shares 4, 2. A runs until 10 (c 3) and sleeps until 15: QL 2, TS 2. Its part of that, 4/2 * 2 =
    // 4, is more than it left with: c 3, QL 5
    // 10 B: c 1. 20 A: c 2. 30 B: c 0. 40 A: c 1. 50 A: c 0: over. 60 A, B
    Rule {
        key: "counter",
        name: "back in the same cycle its counter is no more than before",
        clients: &[
            "\"share\": 4, \"loop\": 1, \"run\": 10000, \"sleep\": 5000, \"run\": 10000000",
            "\"share\": 2, \"run\": 1000000",
        ],
        order: "ABABAAAB",
    },
    // Shares 4, 2, 2.
    //  0 A: c 3. 10 B: c 1, VT 1/2, QVT 2/8. 20 C (0 < 3/8): c 1, VT 1/2, QVT 3/8. It sleeps until 45
    // 30 A: c 2, QVT 13/24. 40 B (12/24 < 17/24). At 45 C's part is floor(2/6 * 3) = 1, as it had; but
    //    B, whose last quantum is being run, will have none: c 0. 50 A, 60 A: over
    // 70 A: c 3. 80 B: c 1. 90 C (2 > 1): c 1. 100 A: c 2. 110 B: c 0. 120 C (1 > 0): c 0. 130 A
    Rule {
        key: "between",
        name: "a counter is between those of its neighbours",
        clients: &[
            "\"share\": 4, \"run\": 1000000",
            "\"share\": 2, \"run\": 1000000",
            "\"share\": 2, \"loop\": 1, \"run\": 10000, \"sleep\": 15000, \"run\": 10000000",
        ],
        order: "ABCABAAABCABCA",
    },
    // Shares 3, 2, 1; B's becomes 5 when its first quantum is over, at 20. VT 1/2 finished at 1, so it
    //    is 1 - 1/5 now. It leaves (QL 3, TS 4) and comes to the head: c min(1, floor(5/4 * 3)) = 1,
    //    but not less than A's: 2. QL 5, TS 9, QVT 2/6
    // 20 C (the cursor is after A; 0 < 1/3 + 1/9): c 0, QVT 4/9. The queue ends
    // 30 B: c 1, VT 1. 40 A (2 > 1): c 1. 50 B (C has none): c 0, VT 6/5. 60 A (1 > 0): over
    // 70 B 5, A 3, C 1, QVT 8/9: B, A (1 < 10/9), C (1 < 11/9), B, A (12/9 < 13/9), B (of A
    //    15/9 < 15/9 is not true), B, A (15/9 < 16/9), B
    Rule {
        key: "share",
        name: "a share changes: it is removed and comes again, and keeps its VFT",
        clients: &[
            A3,
            "\"loop\": 1, \"phases\": {\"few\": {\"share\": 2, \"run\": 10000}, \"many\": {\"share\": 5, \
             \"run\": 10000000}}",
            C1,
        ],
        order: "ABCBABABACBABBAB",
    },
];

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(RULES.len() as u64);
    let (mut numbers, mut rows) = (Vec::new(), Vec::new());
    for rule in &RULES {
        let told = rule.clients.iter().map(|client| (*client).to_owned());
        let workload = tasks(told, |at| char::from(b'A' + at as u8).to_string())?;
        let end_ns = rule.order.len() as u64 * QUANTUM_NS;
        let mut runs = Runs::default();
        Rig::new(&linked("vtrr", &[])?).run(&workload, Length::of(end_ns), &mut runs)?;
        let order = picks(&runs.finish(end_ns));
        // Of all quanta by hand, how many are in their place.
        numbers.push((rule.key, 100.0 * same(&order, rule.order) / rule.order.len() as f64));
        rows.push(vec![rule.name.to_owned(), rule.order.to_owned(), order]);
        job.progress.advance(1);
    }
    let header = ["rule", "order, by hand", "order, here"];
    Ok(vec![Found {
        id: "dynamics",
        ran:
            "A small example of each rule, with quanta of 10 ms in the ideal machine with one CPU. \
              Their orders are worked out by hand; the calculations are in \
              crates/reproduce/src/vtrr/dynamics.rs."
                .into(),
        numbers: plain(numbers),
        tables: vec![Table {
            title: "Orders of quanta".into(),
            header: header.map(String::from).to_vec(),
            rows,
            long: false,
        }],
        drawings: Vec::new(),
    }])
}
