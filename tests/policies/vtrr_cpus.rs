// SPDX-License-Identifier: MIT OR Apache-2.0
//! VTRR on several CPUs, which its paper leaves to the future: one queue for all of them, beside a
//! queue for each with shares balanced among them (docs/shipped-policies.md).

use crate::common::hosted::Hosted;
use crate::common::ideal;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rota_machine::exit::ExitKind;
use std::fmt::Write as _;

const RUN_NS: u64 = 20_000_000_000;

/// Four clients for each CPU, largest share first; nobody is due more than a CPU.
fn shares(cpus: u32) -> Vec<u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(cpus.into());
    let mut shares: Vec<u64> = (0..4 * cpus).map(|_| rng.gen_range(1..=100)).collect();
    shares.sort_unstable_by(|a, b| b.cmp(a));
    assert!(shares[0] * u64::from(cpus) <= shares.iter().sum());
    shares
}

/// The CPU of each client if queues are balanced: that with the smallest sum so far.
fn balanced(shares: &[u64], cpus: u32) -> Vec<usize> {
    let mut sums = vec![0; cpus as usize];
    let mut place = |share: &u64| {
        let cpu = (0..sums.len()).min_by_key(|cpu| sums[*cpu]).expect("a CPU");
        sums[cpu] += share;
        cpu
    };
    shares.iter().map(&mut place).collect()
}

/// How far clients are from what is due to them, as a part of it: the mean over all, and of the
/// farthest.
fn errors(shares: &[u64], cpus: u32, tied: Option<&[usize]>) -> (f64, f64) {
    let mut tasks = String::new();
    for (at, share) in shares.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let only = tied.map(|tied| format!(r#""cpus": [{}], "#, tied[at])).unwrap_or_default();
        let _ = write!(tasks, r#"{comma}"c{at}": {{"share": {share}, {only}"run": 1000000}}"#);
    }
    let load = format!(r#"{{"tasks": {{{tasks}}}}}"#);
    let (outcome, tape) = Hosted::new("vtrr", &[], ideal(cpus, RUN_NS), &load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let all: u64 = shares.iter().sum();
    let error = |(pid, share): (u32, &u64)| {
        let due_ns = (RUN_NS * u64::from(cpus)) as f64 * *share as f64 / all as f64;
        (tape.cpu_ns(pid, RUN_NS) as f64 - due_ns).abs() / due_ns
    };
    let errors: Vec<f64> = (1001..).zip(shares).map(error).collect();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    (errors.iter().sum::<f64>() / errors.len() as f64, worst)
}

#[test]
fn one_queue_keeps_shares_better_than_balanced_queues_do() {
    for cpus in [2, 4, 16] {
        let shares = shares(cpus);
        let (mean, worst) = errors(&shares, cpus, None);
        let (apart, _) = errors(&shares, cpus, Some(&balanced(&shares, cpus)));
        assert!(mean * 2.0 < apart, "{cpus} CPUs: {mean} in one queue, {apart} in {cpus}");
        // A quantum is 10 ms, and the smallest client may have had few: two of them, either way.
        let smallest = *shares.last().expect("a client") as f64;
        let due_ns =
            (RUN_NS * u64::from(cpus)) as f64 * smallest / shares.iter().sum::<u64>() as f64;
        assert!(worst <= 20e6 / due_ns + 0.005, "{cpus} CPUs: {worst} of {due_ns} ns");
    }
}
