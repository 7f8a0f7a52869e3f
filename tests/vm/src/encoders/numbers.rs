// SPDX-License-Identifier: MIT OR Apache-2.0
//! How evenly frames come, in numbers.

use super::jobs::{QUANTUM_MS, SHARES};
use anyhow::{ensure, Result};

/// All quanta once: 15 of 20 ms.
const CYCLE_NS: u64 = 15 * QUANTUM_MS * 1_000_000;
/// Whole cycles at the end of a run are looked at, when all encoders have long begun.
const CYCLES: u64 = 10;

/// When each encoder was done with each frame, in a window of whole cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct Frames {
    /// By encoder; since the window began.
    pub at_ns: Vec<Vec<u64>>,
}

/// One encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// In the window.
    pub frames: usize,
    /// Part of all frames.
    pub part: f64,
    /// Standard deviation of times between two frames.
    pub jitter_ms: f64,
    /// The longest of these times.
    pub longest_ms: f64,
    /// Most frames in a row of which none of another encoder came in between.
    pub row: usize,
}

impl Frames {
    /// Of frames since a run began that lasted `end_ns`.
    pub fn new(frames_ns: Vec<Vec<u64>>, end_ns: u64) -> Result<Frames> {
        let count = frames_ns.len();
        ensure!(count == SHARES.len(), "there are {count} encoders, not {}", SHARES.len());
        let begin_ns = end_ns - CYCLES * CYCLE_NS;
        let began = |at: &Vec<u64>| at.first().is_some_and(|first| *first <= begin_ns);
        if let Some(late) = frames_ns.iter().position(|at| !began(at)) {
            anyhow::bail!("the encoder with share {} had no frame in time", SHARES[late]);
        }
        let inside = |at: Vec<u64>| -> Vec<u64> {
            let inside = at.into_iter().filter(|at| (begin_ns..end_ns).contains(at));
            inside.map(|at| at - begin_ns).collect()
        };
        let at_ns: Vec<Vec<u64>> = frames_ns.into_iter().map(inside).collect();
        ensure!(at_ns.iter().all(|at| at.len() > 2), "an encoder has hardly any frames");
        Ok(Frames { at_ns })
    }

    /// How long the window is.
    pub fn seconds() -> f64 {
        (CYCLES * CYCLE_NS) as f64 / 1e9
    }

    /// Of each encoder.
    pub fn numbers(&self) -> Vec<Numbers> {
        let all: usize = self.at_ns.iter().map(Vec::len).sum();
        let rows = self.rows();
        let of = |(at, row): (&Vec<u64>, usize)| {
            let between: Vec<f64> =
                at.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e6).collect();
            let count = between.len() as f64;
            let mean = between.iter().sum::<f64>() / count;
            let squares: f64 = between.iter().map(|ms| (ms - mean).powi(2)).sum();
            Numbers {
                frames: at.len(),
                part: at.len() as f64 / all as f64,
                jitter_ms: (squares / count).sqrt(),
                longest_ms: between.into_iter().fold(0.0, f64::max),
                row,
            }
        };
        self.at_ns.iter().zip(rows).map(of).collect()
    }

    /// The jitter of an encoder, averaged over all.
    pub fn jitter_ms(&self) -> f64 {
        let numbers = self.numbers();
        numbers.iter().map(|n| n.jitter_ms).sum::<f64>() / numbers.len() as f64
    }

    fn rows(&self) -> Vec<usize> {
        let each = self.at_ns.iter().enumerate();
        let mut order: Vec<(u64, usize)> =
            each.flat_map(|(who, at)| at.iter().map(move |at| (*at, who))).collect();
        order.sort_unstable();
        let mut longest = vec![0; self.at_ns.len()];
        for row in order.chunk_by(|a, b| a.1 == b.1) {
            let who = row[0].1;
            longest[who] = longest[who].max(row.len());
        }
        longest
    }
}

/// How many times the jitter of the others Linux 2.2 must have, as in the simulated Figure 7.
const STEPS: f64 = 1.2;

/// Shares that do not hold, and steps that Linux 2.2 does not have beside the others. `all` is of
/// Linux 2.2, WFQ and VTRR.
pub fn problems(all: &[Frames]) -> Vec<String> {
    let [linux, wfq, vtrr] = all else { return vec!["three schedulers were expected".into()] };
    let mut problems = Vec::new();
    let total: u64 = SHARES.iter().sum();
    for (name, frames) in ["Linux 2.2", "WFQ", "VTRR"].iter().zip(all) {
        for (share, n) in SHARES.iter().zip(frames.numbers()) {
            let due = *share as f64 / total as f64;
            // Two percent, and a quantum that somebody just had, or just missed.
            let allowed = 0.02 * due + QUANTUM_MS as f64 / 1e3 / Frames::seconds();
            if (n.part - due).abs() > allowed {
                let (part, due) = (n.part * 100.0, due * 100.0);
                problems.push(format!("{name}: share {share} had {part:.1} %, not {due:.1} %"));
            }
        }
    }
    let linux = linux.jitter_ms();
    for (name, frames) in [("WFQ", wfq), ("VTRR", vtrr)] {
        let other = frames.jitter_ms();
        if linux < STEPS * other {
            problems
                .push(format!("jitter: {linux:.2} ms under Linux 2.2, {other:.2} ms under {name}"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const END: u64 = 4_000 * MS;

    /// Frames of a millisecond in quanta that are given in this order, of 20 ms each, until `END`.
    fn frames(order: &[usize]) -> Frames {
        let mut at = vec![Vec::new(); 5];
        for quantum in 0..END / (QUANTUM_MS * MS) {
            let who = order[quantum as usize % order.len()];
            at[who].extend((1..=QUANTUM_MS).map(|frame| (quantum * QUANTUM_MS + frame) * MS));
        }
        // All have begun.
        at.iter_mut().for_each(|at| at.insert(0, 1));
        Frames::new(at, END).unwrap()
    }

    /// Each client's quanta at once: 20 to 100 ms.
    const LINUX: [usize; 15] = [4, 4, 4, 4, 4, 3, 3, 3, 3, 2, 2, 2, 1, 1, 0];
    /// By finishing times k/share.
    const FAIR: [usize; 15] = [4, 3, 2, 4, 1, 3, 4, 2, 4, 3, 4, 3, 2, 1, 0];

    #[test]
    fn numbers_are_those_of_a_schedule_that_is_known() {
        let numbers = frames(&LINUX).numbers();
        // Of 3000 frames a third; five quanta in a row; then 200 ms of others, and a frame.
        assert_eq!((numbers[4].frames, numbers[4].row), (1000, 100));
        assert!((numbers[4].part - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(numbers[4].longest_ms, 201.0);
        assert_eq!(numbers[0].longest_ms, 281.0);
        // 999 times of which 9 or 10 are 201 ms, the others 1 ms.
        let times = 10.0 / 999.0;
        let deviation = 200.0 * f64::sqrt(times * (1.0 - times));
        assert!((numbers[4].jitter_ms - deviation).abs() < 1.1, "{}", numbers[4].jitter_ms);
        assert_eq!(frames(&FAIR).numbers()[4].row, 20);
    }

    #[test]
    fn even_schedules_pass_and_others_are_told() {
        let (linux, fair) = (frames(&LINUX), frames(&FAIR));
        assert_eq!(problems(&[linux.clone(), fair.clone(), fair.clone()]), Vec::<String>::new());
        let same = problems(&[fair.clone(), fair.clone(), fair.clone()]);
        assert!(same[0].starts_with("jitter:"), "{same:?}");
        let uneven = problems(&[linux.clone(), linux.clone(), fair.clone()]);
        assert!(uneven.iter().any(|p| p.contains("under WFQ")), "{uneven:?}");
        let uneven = problems(&[linux.clone(), fair.clone(), linux]);
        assert!(uneven.iter().any(|p| p.contains("under VTRR")), "{uneven:?}");
        let wrong = frames(&[4, 4, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 0, 0, 0]);
        let wrong = problems(&[wrong, fair.clone(), fair]);
        assert!(wrong.iter().any(|p| p.contains("Linux 2.2: share 1 had 20.0 %")), "{wrong:?}");
    }

    #[test]
    fn an_encoder_that_begins_late_is_an_error() {
        let mut at = vec![vec![1, 2, 3, 3_999 * MS]; 5];
        at[2] = vec![3_000 * MS];
        let error = Frames::new(at, END).unwrap_err().to_string();
        assert!(error.contains("share 3 had no frame in time"), "{error}");
    }
}
