// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of the command in which the recorder is not at its calls: how much more work it has in one
//! with them is what they cost.

use super::session::{Ended, Session, Wanted};
use super::TargetArgs;
use crate::error::Error;
use crate::stop::Stop;
use rota_measure::{Numbers, Summary};
use serde::Serialize;
use std::time::Duration;

/// After a recording the kernel frees the recorder's maps, which takes CPU time of the next one.
const FREED: Duration = Duration::from_millis(300);

/// CPU time of the command's tasks, without what the recorder took at switches and wakeups.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Works {
    /// In plain runs.
    pub(crate) plain_work_ns: u64,
    /// In the one that was recorded.
    pub(crate) recorded_work_ns: u64,
}

impl Works {
    /// What the recorder took at calls that move bytes.
    pub(crate) fn of_calls_ns(self) -> u64 {
        self.recorded_work_ns.saturating_sub(self.plain_work_ns)
    }
}

/// Runs the command so often; the median of its work. `None`: it did not run.
pub(super) fn work_ns(target: &TargetArgs, runs: u32) -> Result<Option<u64>, Error> {
    // One for all runs and what is between them.
    let stop = Stop::listen()?;
    median_of(runs, |run| {
        let session = Session::start(target, Wanted::default())?;
        let mut summary = Summary::new(session.cpus());
        let ended = session.run(&mut summary, |_, _| Ok(()))?;
        let numbers = summary.finish_all(ended.facts.duration_ns).numbers;
        until_freed();
        if stop.wanted() {
            let nr = run + 1;
            let what = format!("stopped in plain run {nr} of {runs}, before the recording");
            return Err(Error::Failure(what));
        }
        Ok(of(&ended, &numbers))
    })
}

/// The median work of so many plain runs; `None` of none.
pub(crate) fn median_of(
    runs: u32,
    work_ns: impl FnMut(u32) -> Result<u64, Error>,
) -> Result<Option<u64>, Error> {
    Ok(median((0..runs).map(work_ns).collect::<Result<_, _>>()?))
}

/// Waits until nothing of the recording before is in the way.
pub(crate) fn until_freed() {
    std::thread::sleep(FREED);
}

fn median(mut works_ns: Vec<u64>) -> Option<u64> {
    works_ns.sort_unstable();
    works_ns.get(works_ns.len() / 2).copied()
}

/// CPU time of all tasks, without what the recorder took of them at switches and wakeups.
pub(crate) fn of(ended: &Ended, numbers: &Numbers) -> u64 {
    let taken = ended.facts.taken;
    let totals = &numbers.totals;
    let told_ns = totals.context_switches * (taken.leave_ns + taken.come_ns)
        + totals.wakeup_latency_ns.count * taken.wakeup_ns;
    let cpu_ns: u64 = numbers.tasks.iter().map(|task| task.cpu_ns).sum();
    cpu_ns.saturating_sub(told_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_cost_what_a_recorded_run_works_more() {
        let works = |recorded_work_ns| Works { plain_work_ns: 700, recorded_work_ns };
        assert_eq!((works(1000).of_calls_ns(), works(650).of_calls_ns()), (300, 0));
    }

    #[test]
    fn after_a_run_that_is_stopped_there_is_no_other() {
        let mut ran = Vec::new();
        let stopped = median_of(3, |run| {
            ran.push(run);
            match run {
                0 => Ok(7),
                _ => Err(Error::Failure("stopped".into())),
            }
        });
        assert_eq!((stopped.is_err(), ran), (true, vec![0, 1]));
    }

    #[test]
    fn the_work_of_some_runs_is_that_in_their_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!((median(vec![7]), median(vec![30, 10, 20])), (Some(7), Some(20)));
    }
}
