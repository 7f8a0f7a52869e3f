// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where to go on after a machine whose emulator made a mistake: jobs are independent, so those
//! that were over by then need not be done again.

use crate::console;
use crate::qemu::Output;
use rota_guest::record::Record;

/// What was finished in machines that were given up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// How many jobs, in their order.
    pub jobs: usize,
    console: String,
    records: String,
}

impl Finished {
    /// Adds the jobs that were over when the trouble in this output began.
    pub fn add(&mut self, output: &Output) {
        let before = console::before_trouble(&output.console);
        // The last job that began was not over, or not for sure.
        let begun: Vec<usize> = before.match_indices(console::JOB).map(|(at, _)| at).collect();
        let Some((last, over)) = begun.split_last().filter(|(_, over)| !over.is_empty()) else {
            return;
        };
        let Some(records) = up_to(&output.records, over.len()) else { return };
        self.jobs += over.len();
        self.records.push_str(records);
        let line = before[..*last].rfind('\n').map_or(0, |at| at + 1);
        self.console.push_str(&before[..line]);
    }

    /// The output of the machine that did the others, as if it had done all.
    pub fn before(self, rest: Output) -> Output {
        Output {
            console: self.console + &rest.console,
            records: self.records + &rest.records,
            timed_out: rest.timed_out,
        }
    }
}

/// The records until so many jobs were over.
fn up_to(records: &str, jobs: usize) -> Option<&str> {
    let (mut at, mut over) = (0, 0);
    for line in records.split_inclusive('\n') {
        at += line.len();
        over += usize::from(matches!(serde_json::from_str(line), Ok(Record::Done { .. })));
        if over == jobs {
            return Some(&records[..at]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::problems;

    /// A machine that began jobs with these names, and ended them but for the last one.
    fn given_up(jobs: &[&str]) -> Output {
        let begins = |job: &&str| format!("[ 1.0] rota-guest: job {job}\n[ 1.1] of {job}\n");
        let console: String = jobs.iter().map(begins).collect();
        Output {
            console: format!("[ 0.1] Linux\n{console}[ 2.0] Oops: int3\n[ 2.1] more\n"),
            records: format!("{BOOT}{}", done(&jobs[..jobs.len().saturating_sub(1)])),
            timed_out: false,
        }
    }

    const BOOT: &str = "{\"record\":\"boot\",\"kernel\":\"7.2\",\"cpus\":1,\"jobs\":1}\n";
    const END: &str = "{\"record\":\"end\",\"code\":0}\n";

    fn done(jobs: &[&str]) -> String {
        let line = |job: &&str| {
            format!("{{\"record\":\"done\",\"job\":\"{job}\",\"ok\":true,\"took_ns\":5}}\n")
        };
        jobs.iter().map(line).collect()
    }

    #[test]
    fn jobs_that_were_over_before_the_trouble_are_not_done_again() {
        let mut finished = Finished::default();
        finished.add(&given_up(&["a", "b", "c"]));
        assert_eq!(finished.jobs, 2);
        finished.add(&given_up(&["c", "d"]));
        assert_eq!(finished.jobs, 3);

        let rest = format!("{BOOT}{}{END}", done(&["d", "e"]));
        let rest = Output { console: "[ 0.1] Linux\n".into(), records: rest, timed_out: false };
        let all = finished.before(rest);

        assert_eq!(problems(&all, 5), Vec::<String>::new());
        let ran = "[ 1.0] rota-guest: job a\n[ 1.1] of a\n[ 1.0] rota-guest: job b\n[ 1.1] of b\n";
        let again = "[ 1.0] rota-guest: job c\n[ 1.1] of c\n";
        let linux = "[ 0.1] Linux\n";
        assert_eq!(all.console, format!("{linux}{ran}{linux}{again}{linux}"));
    }

    #[test]
    fn the_job_in_which_the_trouble_began_is_done_again_though_it_was_told_to_be_over() {
        let mut output = given_up(&["a", "b"]);
        output.records = format!("{BOOT}{}", done(&["a", "b"]));
        let mut finished = Finished::default();
        finished.add(&output);
        assert_eq!(finished.jobs, 1);
        assert_eq!(finished.records, format!("{BOOT}{}", done(&["a"])));
    }

    #[test]
    fn nothing_is_kept_of_a_machine_that_did_not_get_to_a_second_job() {
        for jobs in [&[][..], &["a"]] {
            let mut finished = Finished::default();
            finished.add(&given_up(jobs));
            assert_eq!(finished, Finished::default());
        }
    }

    #[test]
    fn a_problem_of_a_job_that_was_over_is_told() {
        let problem =
            "{\"record\":\"problem\",\"job\":\"a\",\"step\":\"1\",\"problem\":\"late\"}\n";
        let mut output = given_up(&["a", "b"]);
        output.records = format!("{BOOT}{problem}{}", done(&["a"]));
        let mut finished = Finished::default();
        finished.add(&output);
        let rest = format!("{BOOT}{}{END}", done(&["b"]));
        let rest = Output { console: String::new(), records: rest, timed_out: false };
        assert!(problems(&finished.before(rest), 2)[0].starts_with("a, step 1: late"));
    }
}
