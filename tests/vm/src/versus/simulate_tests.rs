// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the simulated side.

use super::*;
use crate::versus::case;
use std::path::Path;

/// Ticks and starts that take hardly any time, as much as in the emulated machine, and more: in ns.
const BESIDES: [(u64, u64); 3] = [(1_000, 1), (15_000, 50_000), (40_000, 100_000)];

fn cases() -> Vec<Case> {
    let policies: Vec<&str> = rota_catalog::policies().iter().map(|p| p.name).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("versus");
    case::read(&folder.join("cases.toml"), &policies).unwrap()
}

fn run(case: &Case, beside: &Beside) -> Host {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("versus");
    let path = folder.join(format!("{}.json", case.workload));
    simulate(case, &std::fs::read_to_string(path).unwrap(), beside).unwrap()
}

#[test]
fn no_pick_that_is_compared_is_near_a_tie() {
    for case in cases().iter().filter(|case| case.picks.is_some()) {
        let picks = |(tick_ns, for_ns)| {
            let interruptions = vec![Interruption { cpu: 0, at_ns: 0, for_ns }];
            run(case, &Beside { tick_ns, interruptions }).picks
        };
        let [first, rest @ ..] = BESIDES.map(picks);
        for other in rest {
            let same = first[0].iter().zip(&other[0]).take_while(|(a, b)| a == b).count();
            assert!(same + 3 > first[0].len(), "{}: {same} of {}", case.name(), first[0].len());
        }
    }
}

#[test]
fn an_interruption_takes_its_time_from_the_task() {
    let case = Case { duration_ns: 1_000_000_000, ..cases().swap_remove(0) };
    assert_eq!((case.workload.as_str(), case.policy.as_str(), case.cpus), ("hogs", "fifo", 1));
    let interruption = Interruption { cpu: 0, at_ns: 100_000_000, for_ns: 250_000_000 };
    let beside = Beside { tick_ns: 0, interruptions: vec![interruption] };
    let host = run(&case, &beside);
    // fifo: the first task has the CPU to the end, and goes on with its slice.
    assert!((host.numbers.share("one-0") - 0.75).abs() < 1e-9, "{:?}", host.numbers);
    assert_eq!(host.picks, [[0]]);
}
