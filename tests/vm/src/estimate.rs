// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long jobs take, roughly: enough to spread them over machines, and these over the host's
//! CPUs.

use rota_guest::job::Job;
use rota_guest::step::Step;
use std::time::Duration;

/// To load a policy.
const LOAD: Duration = Duration::from_millis(600);
/// To run a program: a package's installation takes longer, `cat` does not.
const RUN: Duration = Duration::from_millis(500);
/// What starting a hog, or anything else that has no time of its own, comes to.
const OTHER: Duration = Duration::from_millis(20);

/// Time of the guest.
pub fn job(job: &Job) -> Duration {
    steps(&job.steps)
}

/// Time of the guest for jobs that are done one after the other.
pub fn jobs(jobs: &[Job]) -> Duration {
    jobs.iter().map(job).sum()
}

fn steps(steps: &[Step]) -> Duration {
    steps.iter().map(step).sum()
}

fn step(step: &Step) -> Duration {
    match step {
        Step::Load { .. } => LOAD,
        Step::Run(_) => RUN,
        Step::Measure(measure) => measure.settle.duration() + measure.time.duration(),
        Step::Play(play) => play.time.duration(),
        Step::Wait { time } => time.duration(),
        Step::Repeat { times, step, .. } => steps(step) * *times,
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    #[test]
    fn repeated_steps_count_as_often_as_they_are_done() {
        let text = "about = \"\"\npolicies = \"none\"\ncpus = [1]\n\
            [[step]]\ndo = \"repeat\"\ntimes = 50\n\
            [[step.step]]\ndo = \"load\"\n[[step.step]]\ndo = \"wait\"\nfor = \"400ms\"\n\
            [[step]]\ndo = \"measure\"\nfor = \"5s\"\nsettle = \"1s\"\n";
        let steps = parse("s", text).unwrap().steps;
        let job = Job { name: "s".into(), policy: None, set: Vec::new(), steps };
        assert_eq!(super::job(&job), Duration::from_millis(50 * (600 + 400) + 6000));
    }
}
