// SPDX-License-Identifier: MIT OR Apache-2.0
//! Encoders that compute on one CPU, and when each has done each of its frames [VTRR §5.4].
//!
//! An encoder is any program that writes what it has encoded to its standard output, all frames
//! of the same size, as MPEG audio is at a constant bit rate. A frame counts when its last byte
//! is read here, on another CPU if there is one.

use crate::children::Process;
use crate::clock::now_ns;
use crate::cpus::Cpus;
use crate::error::Error;
use crate::spread::Spread;
use serde::Serialize;
use std::io::Read;
use std::process::{ChildStdout, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Of nice values -20 to 19 (`sched_prio_to_weight` of the kernel).
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// How often we look whether all are still there.
const LOOK: Duration = Duration::from_millis(100);

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nice value of each encoder.
    pub nice: Vec<i32>,
    /// What a policy gives each of them in place of the weight of its nice value; none: nothing.
    pub shares: Vec<u64>,
    /// How long.
    pub duration: Duration,
    /// Size of a frame.
    pub frame_bytes: usize,
}

/// One encoder.
#[derive(Clone, Debug, Serialize)]
pub struct Encoder {
    /// Its nice value.
    pub nice: i32,
    /// What the kernel makes of that.
    pub weight: u32,
    /// What counts in its place, if anything does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<u64>,
    /// Part of all shares, or weights.
    pub due: f64,
    /// Part of all frames.
    pub part: f64,
    /// When each frame was there, since the beginning.
    pub frames_ns: Vec<u64>,
    /// Times between two frames; `None` of fewer than two frames.
    pub interval_ns: Option<Spread>,
}

impl Encoder {
    /// Frames done by then.
    pub fn frames_until(&self, ns: u64) -> usize {
        self.frames_ns.partition_point(|at| *at <= ns)
    }
}

/// Runs an encoder for each nice value, all on one CPU, and counts their frames. `give` gets a
/// process and its share, if there are shares. They are held meanwhile, and begin together.
pub fn measure<E: From<Error>>(
    plan: &Plan,
    cpus: &Cpus,
    encoder: impl Fn() -> Command,
    mut give: impl FnMut(u32, u64) -> Result<(), E>,
) -> Result<Vec<Encoder>, E> {
    check(plan)?;
    let start = |_| {
        let process = Process::start(&mut encoder())?;
        process.hold()?;
        Ok(process)
    };
    let start = || plan.nice.iter().map(start).collect();
    let encoders: Vec<Process> = cpus.share(|| -> Result<_, Error> { start() })??;
    for (encoder, nice) in encoders.iter().zip(&plan.nice) {
        encoder.renice(*nice)?;
    }
    for (encoder, share) in encoders.iter().zip(&plan.shares) {
        give(encoder.0.id(), *share)?;
    }
    for encoder in &encoders {
        encoder.let_go()?;
    }
    Ok(count(plan, encoders)?)
}

fn check(plan: &Plan) -> Result<(), Error> {
    if let Some(nice) = plan.nice.iter().find(|nice| !(-20..=19).contains(*nice)) {
        return Err(Error::Input(format!("nice {nice}: expected -20 to 19")));
    }
    let (nice, shares) = (plan.nice.len(), plan.shares.len());
    if shares != 0 && shares != nice {
        return Err(Error::Input(format!("{shares} shares: expected one for each of {nice}")));
    }
    Ok(())
}

fn count(plan: &Plan, mut encoders: Vec<Process>) -> Result<Vec<Encoder>, Error> {
    let gone = || Error::Failure("an encoder has no output".into());
    let outputs: Option<Vec<ChildStdout>> =
        encoders.iter_mut().map(|encoder| encoder.0.stdout.take()).collect();
    let began_ns = now_ns();
    let frame_bytes = plan.frame_bytes.max(1);
    let readers: Vec<_> = outputs
        .ok_or_else(gone)?
        .into_iter()
        .map(|output| std::thread::spawn(move || frames(output, frame_bytes, now_ns)))
        .collect();
    let over = wait(plan.duration, &mut encoders);
    let end_ns = now_ns();
    // They are killed, so that their outputs end, and so the readers.
    drop(encoders);
    let mut all = Vec::new();
    for reader in readers {
        let at_ns = reader.join().map_err(|_| Error::Failure("a reader failed".into()))?;
        let at_ns = at_ns.map_err(|e| Error::system("read what an encoder writes", e))?;
        let in_time = at_ns.into_iter().filter(|at| (began_ns..=end_ns).contains(at));
        all.push(in_time.map(|at| at - began_ns).collect());
    }
    if let Some(status) = over {
        return Err(Error::Failure(format!(
            "an encoder was done before the time was over ({status}): it needs more input"
        )));
    }
    found(plan, all)
}

/// Waits, or until one of them ends.
fn wait(duration: Duration, encoders: &mut [Process]) -> Option<ExitStatus> {
    let began = Instant::now();
    loop {
        let left = duration.saturating_sub(began.elapsed());
        if left.is_zero() {
            return None;
        }
        std::thread::sleep(left.min(LOOK));
        let over = encoders.iter_mut().find_map(|encoder| encoder.0.try_wait().ok().flatten());
        if over.is_some() {
            return over;
        }
    }
}

/// When each frame ended, by a clock.
fn frames(
    mut output: impl Read,
    frame_bytes: usize,
    clock: impl Fn() -> u64,
) -> std::io::Result<Vec<u64>> {
    let (mut buffer, mut bytes, mut at_ns) = (vec![0; 64 << 10], 0_usize, Vec::new());
    loop {
        let read = output.read(&mut buffer)?;
        if read == 0 {
            return Ok(at_ns);
        }
        bytes += read;
        at_ns.resize(bytes / frame_bytes, clock());
    }
}

fn found(plan: &Plan, frames_ns: Vec<Vec<u64>>) -> Result<Vec<Encoder>, Error> {
    let weight = |nice: i32| WEIGHTS[(nice + 20) as usize];
    let counts = |at: usize, nice: i32| match plan.shares.get(at) {
        Some(share) => *share as f64,
        None => f64::from(weight(nice)),
    };
    let total: f64 = plan.nice.iter().enumerate().map(|(at, nice)| counts(at, *nice)).sum();
    let all: usize = frames_ns.iter().map(Vec::len).sum();
    if all == 0 {
        return Err(Error::Failure("no encoder has written a frame to its standard output".into()));
    }
    let encoder = |((at, nice), frames_ns): ((usize, &i32), Vec<u64>)| {
        let intervals: Vec<f64> =
            frames_ns.windows(2).map(|two| (two[1] - two[0]) as f64).collect();
        Encoder {
            nice: *nice,
            weight: weight(*nice),
            share: plan.shares.get(at).copied(),
            due: counts(at, *nice) / total,
            part: frames_ns.len() as f64 / all as f64,
            interval_ns: Spread::of(&intervals),
            frames_ns,
        }
    };
    Ok(plan.nice.iter().enumerate().zip(frames_ns).map(encoder).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    /// Gives what it has in pieces of these sizes.
    struct Pieces(Vec<usize>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let size = self.0.pop().unwrap_or(0).min(buffer.len());
            Ok(size)
        }
    }

    #[test]
    fn a_frame_counts_when_its_last_byte_is_there() {
        let tick = Cell::new(0);
        let clock = || {
            tick.set(tick.get() + 1);
            tick.get()
        };
        // Of frames of 10: 9 bytes, then the tenth and one more, then three frames less one byte.
        let at = frames(Pieces(vec![1, 28, 2, 9]), 10, clock).expect("reads");
        assert_eq!(at, [2, 3, 3, 4]);
    }

    fn plan(nice: &[i32], shares: &[u64]) -> Plan {
        let (nice, shares) = (nice.to_vec(), shares.to_vec());
        Plan { nice, shares, duration: Duration::ZERO, frame_bytes: 1 }
    }

    #[test]
    fn what_is_due_goes_by_weight() {
        // Nice 0 and 5: 1024 and 335.
        let frames = vec![vec![1, 2, 4], vec![3]];
        let found = found(&plan(&[0, 5], &[]), frames).expect("there are frames");
        assert_eq!((found[0].weight, found[1].weight), (1024, 335));
        assert!((found[1].due - 335.0 / 1359.0).abs() < 1e-12);
        assert_eq!((found[0].part, found[0].frames_until(2)), (0.75, 2));
        assert_eq!(found[0].interval_ns.map(|i| (i.mean, i.deviation)), Some((1.5, 0.5)));
        assert_eq!(found[1].interval_ns, None);
    }

    #[test]
    fn what_is_due_goes_by_shares_if_there_are_some() {
        let found = found(&plan(&[0, 0], &[1, 3]), vec![vec![1], vec![2]]).expect("frames");
        assert_eq!((found[0].due, found[1].due), (0.25, 0.75));
        assert_eq!((found[1].share, found[1].weight), (Some(3), 1024));
        let error = check(&plan(&[0, 0], &[1])).expect_err("too few");
        assert!(error.to_string().contains("1 shares: expected one for each of 2"), "{error}");
    }

    proptest! {
        #[test]
        fn no_frame_is_lost_however_it_comes(
            mut pieces in proptest::collection::vec(1..5_000usize, 0..50), frame in 1..3_000usize,
        ) {
            let bytes: usize = pieces.iter().sum();
            pieces.reverse();
            prop_assert_eq!(frames(Pieces(pieces), frame, || 0).expect("reads").len(), bytes / frame);
        }
    }
}
