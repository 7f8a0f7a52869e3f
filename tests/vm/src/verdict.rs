// SPDX-License-Identifier: MIT OR Apache-2.0
//! Judges what a machine left behind.

use crate::console;
use crate::qemu::{Output, Pace};
use anyhow::Context;
use rota_guest::record::Record;

/// What went wrong in one run, in words; nothing if all was good.
pub fn problems(output: &Output, jobs: usize) -> Vec<String> {
    let mut problems = Vec::new();
    let records = match parse(&output.records) {
        Ok(records) => records,
        Err(problem) => {
            problems.push(problem);
            Vec::new()
        }
    };
    for record in &records {
        if let Record::Problem { job, step, problem } = record {
            let lines = console::during(&output.console, job).join("\n    ");
            problems.push(format!("{job}, step {step}: {problem}\n  console:\n    {lines}"));
        }
    }
    if let Some(lines) = console::trouble(&output.console) {
        problems.push(format!("the kernel is in trouble:\n{lines}"));
    }
    if output.timed_out {
        problems.push(format!("took too long; last on the console:\n{}", last(&output.console)));
    } else if !problems.is_empty() {
        return problems;
    } else if let Some(missing) = incomplete(&records, jobs) {
        problems.push(format!("{missing}; last on the console:\n{}", last(&output.console)));
    }
    problems
}

/// An emulator makes mistakes that no real CPU does. A kernel can die while it boots, before
/// anything of ours was started; and where CPUs run side by side, trap on a breakpoint that it had
/// put into its own code for a moment, and has already taken out again.
pub fn is_the_emulators_fault(output: &Output, pace: Pace) -> bool {
    console::trouble(&output.console).is_some_and(|lines| {
        output.records.is_empty() || pace == Pace::Free && lines.contains("Oops: int3")
    })
}

/// The records of a serial line.
pub fn parse(text: &str) -> Result<Vec<Record>, String> {
    let line = |(i, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|e| format!("record {}: {e}: {line}", i + 1))
    };
    text.lines().enumerate().map(line).collect()
}

/// What the program printed that a job ran, if its output was kept.
pub fn output_of<'a>(records: &'a [Record], name: &str) -> anyhow::Result<&'a str> {
    let output = records.iter().find_map(|record| match record {
        Record::Step { job, does, saw, .. } if *job == name && does == "run" => {
            saw["output"].as_str()
        }
        _ => None,
    });
    output.with_context(|| format!("{name}: nothing was run"))
}

fn incomplete(records: &[Record], jobs: usize) -> Option<String> {
    let done = records.iter().filter(|r| matches!(r, Record::Done { ok: true, .. })).count();
    if done != jobs {
        return Some(format!("{done} of {jobs} jobs are done"));
    }
    match records.last() {
        Some(Record::End { code: 0 }) => None,
        _ => Some("the last record is missing".into()),
    }
}

fn last(console: &str) -> String {
    let lines: Vec<&str> = console.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = "{\"record\":\"boot\",\"kernel\":\"7.2\",\"cpus\":1,\"jobs\":1}\n\
        {\"record\":\"step\",\"job\":\"a\",\"step\":\"1\",\"does\":\"load\",\"at_ns\":1}\n\
        {\"record\":\"done\",\"job\":\"a\",\"ok\":true,\"took_ns\":5}\n\
        {\"record\":\"end\",\"code\":0}\n";

    fn output(records: &str, console: &str) -> Output {
        Output { console: console.into(), records: records.into(), timed_out: false }
    }

    #[test]
    fn a_complete_run_without_problems_is_good() {
        assert_eq!(problems(&output(GOOD, "[ 1.0] fine"), 1), Vec::<String>::new());
    }

    #[test]
    fn a_run_that_stops_early_is_not_good() {
        let cut = &GOOD[..GOOD.find("{\"record\":\"end\"").unwrap()];
        assert!(problems(&output(cut, ""), 1)[0].starts_with("the last record is missing"));
        assert!(problems(&output(GOOD, ""), 2)[0].starts_with("1 of 2 jobs are done"));
        assert!(problems(&output("", "[ 1.0] hangs"), 1)[0].contains("hangs"));
    }

    #[test]
    fn a_problem_is_shown_with_the_console_of_its_job() {
        let problem =
            "{\"record\":\"problem\",\"job\":\"a\",\"step\":\"2\",\"problem\":\"late\"}\n";
        let console = "[ 1.0] rota-guest: job a\n[ 1.1] sched_ext: disabled\n";
        let found = problems(&output(&format!("{problem}{GOOD}"), console), 1);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a, step 2: late"));
        assert!(found[0].ends_with("sched_ext: disabled"));
    }

    #[test]
    fn trouble_in_the_kernel_fails_a_run_that_ended_well() {
        assert!(problems(&output(GOOD, "[ 1.0] BUG: x"), 1)[0].contains("BUG: x"));
    }

    #[test]
    fn only_what_no_policy_can_do_is_the_emulators_fault() {
        let dies = output("", "[ 0.8] Oops: general protection fault");
        let traps = output(GOOD, "[ 9.0] Oops: int3: 0000 [#1] SMP");
        let faults = output(GOOD, "[ 9.0] Oops: general protection fault");
        for (pace, trap) in [(Pace::Free, true), (Pace::Counted, false)] {
            assert!(is_the_emulators_fault(&dies, pace));
            assert_eq!(is_the_emulators_fault(&traps, pace), trap);
            assert!(!is_the_emulators_fault(&faults, pace));
            assert!(!is_the_emulators_fault(&output("", "[ 1.0] hangs"), pace));
        }
    }

    proptest! {
        #[test]
        fn a_broken_line_is_named_never_skipped(at in 0usize..4, junk in "[ -~]{1,40}") {
            prop_assume!(serde_json::from_str::<Record>(&junk).is_err());
            let mut lines: Vec<&str> = GOOD.lines().collect();
            lines[at] = &junk;
            let error = parse(&lines.join("\n")).unwrap_err();
            let number = format!("record {}:", at + 1);
            prop_assert!(error.starts_with(&number));
        }
    }
}
