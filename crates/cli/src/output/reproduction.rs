// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota reproduce` prints: the paper's numbers and ours.

use super::table;
use crate::error::Error;
use rota_reproduce::{Effort, Expectation, Figure, Number, Reproduction, Verdict};
use serde::Serialize;
use std::io::Write;

/// Columns of the numbers.
pub(crate) const HEADER: [&str; 4] = ["number", "paper", "here", ""];

/// `rota reproduce --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Json<'a> {
    schema: &'static str,
    #[serde(flatten)]
    found: &'a Reproduction,
}

impl<'a> Json<'a> {
    pub(crate) fn new(found: &'a Reproduction) -> Self {
        Self { schema: "rota.reproduce/1", found }
    }
}

/// How much was run, in words.
pub(crate) fn effort(effort: Effort) -> &'static str {
    match effort {
        Effort::Quick => "quick (--quick)",
        Effort::Default => "default",
        Effort::Full => "full (--full)",
    }
}

/// How many numbers agree, in words.
pub(crate) fn result(found: &Reproduction) -> String {
    let (agree, differ) = (found.count(Verdict::Agrees), found.count(Verdict::Differs));
    let unknown = match found.count(Verdict::NotMeasured) {
        0 => String::new(),
        count => format!(", {count} not measured"),
    };
    format!("{agree} of {} numbers agree{unknown}", agree + differ)
}

/// A figure's numbers, as they are printed everywhere.
pub(crate) fn rows(figure: &Figure) -> Vec<Vec<String>> {
    let row = |number: &Number| {
        let unit = &number.unit;
        vec![
            number.what.clone(),
            expected(number),
            number.ours.map_or("–".into(), |ours| with_unit(ours, unit)),
            verdict(number.verdict).into(),
        ]
    };
    figure.numbers.iter().map(row).collect()
}

fn expected(number: &Number) -> String {
    let unit = &number.unit;
    match number.expected {
        // Exactly, or not judged.
        Expectation::Value { value, within: 0.0 } => with_unit(value, unit),
        Expectation::Value { value, within } => {
            format!("{} ±{}", with_unit(value, unit), digits(within))
        }
        Expectation::AtLeast(bound) => format!("≥ {}", with_unit(bound, unit)),
        Expectation::AtMost(bound) => format!("≤ {}", with_unit(bound, unit)),
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "agrees",
        Verdict::Differs => "differs",
        Verdict::NotMeasured => "not measured",
        Verdict::NotJudged => "not judged",
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" => digits(value),
        "%" => format!("{} %", digits(value)),
        unit => format!("{} {unit}", digits(value)),
    }
}

/// Up to two decimals, fewer of large numbers, none that are 0.
fn digits(value: f64) -> String {
    let decimals = if value.abs() >= 100.0 { 1 } else { 2 };
    let text = format!("{value:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".into()
    } else {
        text.into()
    }
}

/// Tables for people.
pub(crate) fn print(out: &mut dyn Write, found: &Reproduction) -> Result<(), Error> {
    writeln!(out, "{}: {} ({})", found.paper, found.title, effort(found.effort))?;
    for figure in &found.figures {
        writeln!(out, "\n{}: {} [{}]", figure.id, figure.title, figure.place)?;
        for line in table::lines(&HEADER, 1, rows(figure)) {
            writeln!(out, "  {line}")?;
        }
        for of in figure.tables.iter().filter(|of| !of.long) {
            writeln!(out, "  {}", of.title)?;
            let header: Vec<&str> = of.header.iter().map(String::as_str).collect();
            for line in table::lines(&header, 1, of.rows.clone()) {
                writeln!(out, "    {line}")?;
            }
        }
    }
    writeln!(out, "\n{}", result(found))?;
    Ok(())
}

/// A page of the documentation.
pub(crate) fn markdown(out: &mut dyn Write, found: &Reproduction) -> Result<(), Error> {
    writeln!(out, "# {}\n", found.title)?;
    writeln!(out, "{}, {}.", found.authors, found.published)?;
    for figure in &found.figures {
        writeln!(out, "\n## {} ({})\n", figure.title, figure.id)?;
        let texts = [
            ("What the paper says", &figure.says, &*figure.place),
            ("What was run", &figure.ran, ""),
            ("Why they differ", &figure.differs, ""),
        ];
        for (heading, text, place) in &texts[..2] {
            paragraph(out, heading, text, place)?;
        }
        writeln!(out, "| {} |", HEADER.join(" | "))?;
        writeln!(out, "|---|--:|--:|---|")?;
        for row in rows(figure) {
            writeln!(out, "| {} |", row.join(" | "))?;
        }
        writeln!(out)?;
        for of in figure.tables.iter().filter(|of| !of.long) {
            writeln!(out, "**{}.**\n", of.title)?;
            writeln!(out, "| {} |", of.header.join(" | "))?;
            writeln!(out, "|---{}|", "|--:".repeat(of.header.len() - 1))?;
            for row in &of.rows {
                writeln!(out, "| {} |", row.join(" | "))?;
            }
            writeln!(out)?;
        }
        let (heading, text, place) = &texts[2];
        paragraph(out, heading, text, place)?;
    }
    Ok(())
}

/// Lines of the documentation are at most so long.
const LINE: usize = 100;

fn paragraph(out: &mut dyn Write, heading: &str, text: &str, place: &str) -> Result<(), Error> {
    let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
    let mut line = String::new();
    for word in format!("**{heading}{place}.** {text}").split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > LINE {
            writeln!(out, "{line}")?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{line}\n")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_long_as_they_mean_something() {
        let texts = [479.0, 476.26, -3.84, 0.2, -0.001, 12000.0].map(digits);
        assert_eq!(texts, ["479", "476.3", "-3.84", "0.2", "0", "12000"]);
    }

    #[test]
    fn paragraphs_are_no_wider_than_the_documentation() {
        let mut out = Vec::new();
        paragraph(&mut out, "Heading", &"word ".repeat(100), "§1").expect("memory has room");
        let text = String::from_utf8(out).expect("text");
        assert!(text.starts_with("**Heading (§1).** word word"));
        assert!(text.lines().all(|line| line.chars().count() <= LINE));
        assert_eq!(text.matches("word").count(), 100);
    }
}
