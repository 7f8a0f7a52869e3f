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
        "alike",
        "predicted",
        "error",
        "p99 wakeup live",
        "alike",
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
    if let Some(line) = likeness(answers) {
        writeln!(out, "{line}")?;
    }
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
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            answer.question,
            done[0],
            done[1],
            done[2],
            bold(completion),
            late[0],
            late[1],
            late[2],
            bold(p99)
        )?;
    }
    Ok(())
}

/// Live, how many live runs are alike, predicted, error.
fn cells(values: &Values) -> [String; 4] {
    let [live, predicted] = [values.live_median, values.predicted_median].map(units::time);
    [live, values.again(), predicted, values.error()]
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

/// How near the program comes to itself, which limits every guess about it.
fn likeness(answers: &[Answer]) -> Option<String> {
    let sums = |of: fn(&Answer) -> &Values| {
        let all = answers.iter().map(of).filter(|values| values.live.len() > 1);
        all.fold((0, 0), |(near, runs), values| {
            (near + values.live_within, runs + values.live.len())
        })
    };
    let (done, done_of) = sums(|answer| &answer.completion_ns);
    let (late, late_of) = sums(|answer| &answer.p99_wakeup_ns);
    (done_of > 0).then(|| {
        format!(
            "alike: {done} of {done_of} live completions, and {late} of {late_of} live p99, are as \
             near to the median of the other live runs as a guess is to be"
        )
    })
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
    fn a_line_says_how_alike_live_runs_are_where_there_are_several() {
        let runs = Runs {
            live_ns: vec![100, 101, 150],
            predicted_ns: vec![100],
            live_p99_ns: vec![1_000_000, 3_000_000],
            predicted_p99_ns: vec![1_000_000],
        };
        let line = likeness(&[answer(1), Answer::of(Question::Fewer, 2, runs)]).unwrap();

        assert!(line.starts_with("alike: 2 of 3 live completions, and 0 of 2 live p99"), "{line}");
        assert_eq!(likeness(&[answer(1)]), None);
    }

    #[test]
    fn a_row_has_its_error_in_bold_if_it_is_outside() {
        let mut out = Vec::new();

        markdown(&mut out, "load", &[answer(1_200_000)]).unwrap();

        let row =
            "| load | 1 CPU, not 2 | 1.00ms | - | 1.20ms | **+20%** | 100us | - | 100us | +0% |\n";
        assert_eq!(String::from_utf8(out).unwrap(), row);
    }
}
