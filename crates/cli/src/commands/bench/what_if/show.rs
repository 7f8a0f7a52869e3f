// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answers for people.

use super::compare::{Answer, Values};
use crate::error::Error;
use crate::output::{table, units};
use std::io::Write;

const GOALS: &str = "completion 10 %, p99 25 % or 50 us";

pub(super) fn print(
    out: &mut dyn Write,
    name: &str,
    repeat: u32,
    answers: &[Answer],
) -> Result<(), Error> {
    writeln!(out, "\n{name}: medians of {repeat}")?;
    let header = [
        "what if",
        "completion live",
        "predicted",
        "error",
        "p99 wakeup live",
        "predicted",
        "error",
        "",
    ];
    let rows = answers.iter().map(|answer| {
        let [completion, p99] = [&answer.completion_ns, &answer.p99_wakeup_ns].map(cells);
        let mark = if is_within(answer) { "" } else { "outside" };
        let mut row = vec![answer.question.clone()];
        row.extend(completion);
        row.extend(p99);
        row.push(mark.into());
        row
    });
    for line in table::lines(&header, 1, rows.collect()) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\n{}", verdict(answers))?;
    Ok(())
}

/// Rows of a table: the load, the question, completion and p99.
pub(super) fn markdown(out: &mut dyn Write, name: &str, answers: &[Answer]) -> Result<(), Error> {
    for answer in answers {
        let bold = |values: &Values| match values.within {
            true => values.error(),
            false => format!("**{}**", values.error()),
        };
        let (completion, p99) = (&answer.completion_ns, &answer.p99_wakeup_ns);
        let [done, late] = [completion, p99].map(cells);
        writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} | {} | {} |",
            answer.question,
            done[0],
            done[1],
            bold(completion),
            late[0],
            late[1],
            bold(p99)
        )?;
    }
    Ok(())
}

/// Live, predicted, error.
fn cells(values: &Values) -> [String; 3] {
    [units::time(values.live_median), units::time(values.predicted_median), values.error()]
}

fn is_within(answer: &Answer) -> bool {
    answer.completion_ns.within && answer.p99_wakeup_ns.within
}

/// What it comes to.
fn verdict(answers: &[Answer]) -> String {
    let outside = answers.iter().filter(|answer| !is_within(answer)).count();
    match outside {
        0 => format!("all {} answers are within the goals: {GOALS}", answers.len()),
        _ => format!("{outside} of {} answers are outside the goals: {GOALS}", answers.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::Runs;
    use super::super::question::Question;
    use super::*;

    fn answer(predicted_ns: u64) -> Answer {
        let runs = Runs {
            live_ns: vec![1_000_000],
            predicted_ns: vec![predicted_ns],
            live_p99_ns: vec![100_000],
            predicted_p99_ns: vec![100_000],
        };
        Answer::of(Question::Fewer, 2, runs)
    }

    #[test]
    fn the_verdict_counts_answers_that_are_outside() {
        assert!(verdict(&[answer(1_050_000), answer(1_200_000)]).starts_with("1 of 2 answers"));
        assert!(verdict(&[answer(1_050_000)]).starts_with("all 1 answers"));
    }

    #[test]
    fn a_row_has_its_error_in_bold_if_it_is_outside() {
        let mut out = Vec::new();

        markdown(&mut out, "load", &[answer(1_200_000)]).unwrap();

        let row = "| load | 1 CPU, not 2 | 1.00ms | 1.20ms | **+20%** | 100us | 100us | +0% |\n";
        assert_eq!(String::from_utf8(out).unwrap(), row);
    }
}
