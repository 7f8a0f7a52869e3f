// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 2: how late X gets the CPU beside a load, on average and at most [O1CFS §4].

mod cases;
mod cycles;
mod figures;
mod parameters;
mod workload;

use crate::effort::Effort;
use crate::error::Error;
use crate::figure::Found;
use crate::Job;
use cases::Results;

/// Times that each test is repeated, with other start times.
fn repetitions(effort: Effort) -> u64 {
    match effort {
        Effort::Quick => 2,
        Effort::Default => 16,
        // [O1CFS §4.2]
        Effort::Full => 100,
    }
}

/// Both figures, whatever is wanted: they are of the same runs.
pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let repetitions = repetitions(job.effort);
    let results = Results::measure(job, repetitions)?;
    Ok(figures::found(&results, repetitions))
}

#[cfg(test)]
mod tests {
    use super::cases::{Case, Results};
    use super::cycles::Latencies;
    use super::parameters::{Computer, Counted};
    use super::workload::{Load, TASKS};
    use super::*;

    #[test]
    fn under_round_robin_x_waits_for_a_slice_of_each_busy_thread() {
        // 10 ms each, as X never preempts anybody.
        let mut case = Case::of("rr", Load::Full, &parameters::rows()[0].setting);
        case.computer = Computer::Ideal;
        let longest = |found: &[Latencies]| -> Vec<f64> {
            found.iter().map(|latencies| latencies.scheduling.maximum).collect()
        };
        let one = case.run(2).expect("runs");
        assert!(longest(&one).iter().all(|ms| (8.0..=10.0).contains(ms)), "{one:?}");
        // Where X and the thread begin is the seed's.
        assert_ne!(one[0], one[1]);
        case.tasks = workload::Tasks { busy: 4, ..TASKS };
        let four = case.run(2).expect("runs");
        assert!(longest(&four).iter().all(|ms| (38.0..=40.0).contains(ms)), "{four:?}");
    }

    #[test]
    fn a_case_is_run_once_for_all_rows_that_need_it() {
        let cases = Results::cases();
        let number = |policy: &str, load| {
            let of = |case: &&Case| case.policy == policy && case.load == load;
            cases.iter().filter(of).count()
        };
        // Defaults, 3 steps, late X, two tick rates, ideal; O(1)'s credit twice, its decay and its
        // ceiling; CFS's times twice and its credit.
        assert_eq!((number("o1", Load::Audio), number("cfs", Load::Audio)), (12, 11));
        // The number of busy threads matters beside them only.
        assert_eq!((number("o1", Load::Full), number("cfs", Load::Full)), (13, 12));
        assert_eq!(number("wfq", Load::Full), 1);
        assert!(parameters::rows().iter().any(|row| row.setting.counted == Counted::AsInterbench));
    }
}
