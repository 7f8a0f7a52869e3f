// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota reproduce` prints: the paper's numbers and ours.

use super::table;
use crate::error::Error;
use rota_reproduce::{Effort, Expectation, Figure, Measured, Number, Reproduction, Verdict};
use serde::Serialize;
use std::io::Write;

/// Columns of the numbers.
pub(crate) const HEADER: [&str; 5] = ["number", "section", "paper", "here", ""];

/// `rota reproduce --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Json<'a> {
    schema: &'static str,
    #[serde(flatten)]
    found: &'a Reproduction,
}

impl<'a> Json<'a> {
    pub(crate) fn new(found: &'a Reproduction) -> Self {
        Self { schema: "rota.reproduce/2", found }
    }
}

/// `rota reproduce all --json`.
#[derive(Debug, Serialize)]
pub(crate) struct JsonAll<'a> {
    schema: &'static str,
    papers: Vec<Json<'a>>,
}

impl<'a> JsonAll<'a> {
    pub(crate) fn new(all: &'a [Reproduction]) -> Self {
        Self { schema: "rota.reproduce-all/1", papers: all.iter().map(Json::new).collect() }
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

/// What is counted, and what else there may be, which is shown if there is any.
pub(crate) const SCORE: [(&str, Verdict); 4] = [
    ("agree", Verdict::Agrees),
    ("known difference", Verdict::Known),
    ("ours", Verdict::Ours),
    ("not judged", Verdict::NotJudged),
];
const ELSE: [(&str, Verdict); 4] = [
    ("**differ**", Verdict::Differs),
    ("**no longer differ**", Verdict::Vanished),
    ("undecided", Verdict::Undecided),
    ("not measured", Verdict::NotMeasured),
];

/// How many numbers agree, in words.
pub(crate) fn result(found: &Reproduction) -> String {
    let words = |(name, verdict): &(&str, Verdict)| match (found.count(*verdict), *verdict) {
        (0, Verdict::Differs | Verdict::Vanished) => None,
        (0, Verdict::Undecided | Verdict::NotMeasured) => None,
        (1, Verdict::Known) => Some("1 known difference".to_owned()),
        (count, Verdict::Known) => Some(format!("{count} known differences")),
        (count, _) => Some(format!("{count} {name}")),
    };
    SCORE.iter().chain(&ELSE).filter_map(words).collect::<Vec<_>>().join(", ")
}

/// Numbers that share a row: those of a series.
fn series(figure: &Figure) -> impl Iterator<Item = &[Number]> {
    let same = |a: &Number, b: &Number| a.at.is_some() && b.at.is_some() && a.what == b.what;
    figure.numbers.chunk_by(same)
}

/// A figure's numbers, as they are printed everywhere.
pub(crate) fn rows(figure: &Figure) -> Vec<Vec<String>> {
    series(figure).map(row).collect()
}

fn row(of: &[Number]) -> Vec<String> {
    let first = &of[0];
    vec![
        format!("{}{}", first.what, places(of)),
        first.place.clone(),
        with_unit(&papers(of), &first.unit),
        with_unit(&joined(of.iter().map(ours)), &first.unit),
        joined(of.iter().map(|number| verdict(number.verdict))),
    ]
}

/// What the paper has of a row; a tolerance that all share stands once.
fn papers(of: &[Number]) -> String {
    let value = |number: &Number| match number.expected {
        Some(Expectation::Value { value, within }) if within > 0.0 => {
            Some((digits(value), tolerance(within)))
        }
        _ => None,
    };
    let all: Option<Vec<(String, String)>> = of.iter().map(value).collect();
    match all {
        Some(all) if all.iter().all(|(_, within)| *within == all[0].1) => {
            let text = format!("{} ±{}", joined(all.iter().map(|(value, _)| value)), all[0].1);
            if of[0].is_ours {
                format!("({text})")
            } else {
                text
            }
        }
        _ => joined(of.iter().map(expected)),
    }
}

/// Once if they are all the same.
fn joined<T: AsRef<str>>(cells: impl Iterator<Item = T>) -> String {
    let cells: Vec<String> = cells.map(|cell| cell.as_ref().to_owned()).collect();
    match cells.iter().all(|cell| *cell == cells[0]) {
        true => cells[0].clone(),
        false => cells.join(" · "),
    }
}

/// `, N = 2 · 4 · 8` of a series.
fn places(of: &[Number]) -> String {
    let mut text = String::new();
    for (place, at) in
        of.iter().enumerate().filter_map(|(place, of)| Some((place, of.at.as_ref()?)))
    {
        let value = at.rsplit_once("= ").map_or(&**at, |(_, value)| value);
        text += &if place == 0 { format!(", {at}") } else { format!(" · {value}") };
    }
    text
}

/// What the paper has; in brackets what is ours.
fn expected(number: &Number) -> String {
    let text = match number.expected {
        None => return "–".into(),
        // Exactly, or not judged.
        Some(Expectation::Value { value, within: 0.0 }) => digits(value),
        Some(Expectation::Value { value, within }) => {
            format!("{} ±{}", digits(value), tolerance(within))
        }
        Some(Expectation::AtLeast(bound)) => format!("≥ {}", digits(bound)),
        Some(Expectation::AtMost(bound)) => format!("≤ {}", digits(bound)),
    };
    if number.is_ours {
        format!("({text})")
    } else {
        text
    }
}

fn ours(number: &Number) -> String {
    let Some(Measured { value, half_width, range }) = number.ours else { return "–".into() };
    let half_width = half_width.map(|half| format!(" ±{}", tolerance(half))).unwrap_or_default();
    let range = range.filter(|(least, most)| digits(*least) != digits(*most));
    let range = range.map(|(least, most)| format!(" ({}–{})", digits(least), digits(most)));
    format!("{}{half_width}{}", digits(value), range.unwrap_or_default())
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "agrees",
        Verdict::Known => "known difference",
        Verdict::Ours => "ours",
        Verdict::Differs => "**differs**",
        Verdict::Vanished => "**no longer differs**",
        Verdict::Undecided => "undecided",
        Verdict::NotMeasured => "not measured",
        Verdict::NotJudged => "not judged",
    }
}

/// Reasons of the known differences of a figure, each once, with what they are of.
pub(crate) fn known(figure: &Figure) -> Vec<(String, String)> {
    let mut reasons: Vec<(String, String)> = Vec::new();
    for of in series(figure) {
        let known: Vec<Number> =
            of.iter().filter(|number| number.verdict == Verdict::Known).cloned().collect();
        let Some(reason) = known.first().and_then(|number| number.known.clone()) else { continue };
        let what = format!("{}{}", of[0].what, places(&known));
        match reasons.iter_mut().find(|(_, other)| *other == reason) {
            Some((whats, _)) => *whats += &format!("; {what}"),
            None => reasons.push((what, reason)),
        }
    }
    reasons
}

fn with_unit(text: &str, unit: &str) -> String {
    match unit {
        "" => text.to_owned(),
        _ if text == "–" => text.to_owned(),
        unit => format!("{text} {unit}"),
    }
}

/// As digits, but what is small is not 0.
fn tolerance(value: f64) -> String {
    match value {
        small if small != 0.0 && small < 0.005 => {
            format!("{small:.4}").trim_end_matches('0').into()
        }
        value => digits(value),
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
        for line in table::lines(&HEADER, 2, rows(figure)) {
            writeln!(out, "  {}", line.replace("**", ""))?;
        }
        for (what, reason) in known(figure) {
            writeln!(out, "  known: {what}: {reason}")?;
        }
        for of in figure.tables.iter().filter(|of| !of.long) {
            writeln!(out, "  {}", of.title)?;
            let header: Vec<&str> = of.header.iter().map(String::as_str).collect();
            for line in table::lines(&header, 1, of.rows.clone()) {
                writeln!(out, "    {line}")?;
            }
        }
    }
    writeln!(out, "\n{}", result(found).replace("**", ""))?;
    Ok(())
}

/// A row for each paper, and a last one of all.
pub(crate) fn scores(all: &[Reproduction]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let also: Vec<&(&str, Verdict)> =
        ELSE.iter().filter(|(_, verdict)| all.iter().any(|of| of.count(*verdict) > 0)).collect();
    let columns: Vec<(&'static str, Verdict)> =
        SCORE.iter().copied().chain(also.into_iter().copied()).collect();
    let header = std::iter::once("paper").chain(columns.iter().map(|(name, _)| *name)).collect();
    let cells = |of: &dyn Fn(Verdict) -> usize| -> Vec<String> {
        columns.iter().map(|(_, verdict)| of(*verdict).to_string()).collect()
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for of in all {
        let mut row = vec![of.paper.clone()];
        row.extend(cells(&|verdict| of.count(verdict)));
        rows.push(row);
    }
    let mut last = vec!["all".to_owned()];
    last.extend(cells(&|verdict| all.iter().map(|of| of.count(verdict)).sum()));
    rows.push(last);
    (header, rows)
}

/// `rota reproduce all`.
pub(crate) fn print_scores(out: &mut dyn Write, all: &[Reproduction]) -> Result<(), Error> {
    let (header, rows) = scores(all);
    let header: Vec<String> = header.iter().map(|name| name.replace("**", "")).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    for line in table::lines(&header, 1, rows) {
        writeln!(out, "{line}")?;
    }
    for of in all {
        for number in of.unexpected() {
            let (paper, at) = (&of.paper, number.at.as_ref().map(|at| format!(", {at}")));
            let (what, at) = (&number.what, at.unwrap_or_default());
            let (is, unit) = (ours(number), &number.unit);
            let verdict = verdict(number.verdict).replace("**", "");
            writeln!(out, "{paper}: {what}{at}: {} {unit}, not {is}: {verdict}", expected(number))?;
        }
    }
    Ok(())
}

/// Columns are texts, `l`, or numbers, `r`, as are those that are not told of.
fn markdown_table(
    out: &mut dyn Write,
    header: &[&str],
    columns: &str,
    rows: &[Vec<String>],
) -> Result<(), Error> {
    writeln!(out, "| {} |", header.join(" | "))?;
    let columns = columns.chars().chain(std::iter::repeat('r')).take(header.len());
    let rule: Vec<&str> = columns.map(|of| if of == 'l' { "---|" } else { "--:|" }).collect();
    writeln!(out, "|{}", rule.concat())?;
    for row in rows {
        writeln!(out, "| {} |", row.join(" | "))?;
    }
    writeln!(out)?;
    Ok(())
}

/// The scores, and a page for each paper.
pub(crate) fn markdown_all(out: &mut dyn Write, all: &[Reproduction]) -> Result<(), Error> {
    let (header, rows) = scores(all);
    markdown_table(out, &header, "l", &rows)?;
    all.iter().try_for_each(|found| markdown(out, found))
}

/// A page of the documentation.
pub(crate) fn markdown(out: &mut dyn Write, found: &Reproduction) -> Result<(), Error> {
    writeln!(out, "# {}\n", found.title)?;
    writeln!(out, "{}, {}.\n", found.authors, found.published)?;
    writeln!(out, "{}.\n", result(found))?;
    for figure in &found.figures {
        writeln!(out, "## {} ({})\n", figure.title, figure.id)?;
        paragraph(out, "What the paper says", &figure.says, &figure.place)?;
        paragraph(out, "What was run", &figure.ran, "")?;
        if !figure.numbers.is_empty() {
            markdown_table(out, &HEADER, "llrrl", &rows(figure))?;
        }
        for (what, reason) in known(figure) {
            paragraph(out, "Known difference", &format!("*{what}*: {reason}"), "")?;
        }
        for of in figure.tables.iter().filter(|of| !of.long) {
            writeln!(out, "**{}.**\n", of.title)?;
            let header: Vec<&str> = of.header.iter().map(String::as_str).collect();
            markdown_table(out, &header, "l", &of.rows)?;
        }
        paragraph(out, "Remarks", &figure.differs, "")?;
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
    use rota_reproduce::{Plan, Progress};
    use std::num::NonZero;

    #[test]
    fn numbers_are_as_long_as_they_mean_something() {
        let texts = [479.0, 476.26, -3.84, 0.2, -0.001, 12000.0].map(digits);
        assert_eq!(texts, ["479", "476.3", "-3.84", "0.2", "0", "12000"]);
    }

    #[test]
    fn all_papers_are_an_object_that_fits_its_schema() {
        let figures = ["fig3".to_owned()];
        let (effort, threads) = (Effort::Quick, NonZero::<usize>::MIN);
        let plan = Plan { figures: &figures, effort, threads, decision_costs: None };
        let paper = rota_reproduce::find("vtrr").expect("a paper");
        let found = paper.reproduce(plan, &Progress::default()).expect("run");
        let printed = serde_json::to_value(JsonAll::new(&[found])).expect("JSON");
        assert_eq!(printed["papers"][0]["figures"][0]["id"], "fig3");
        let schemas = crate::schemas::all().expect("schemas");
        let schema = schemas.into_iter().find(|of| of.name == "reproduce-all").expect("one");
        let validator = jsonschema::draft202012::new(&schema.schema).expect("a schema");
        assert!(validator.is_valid(&printed), "{:?}", validator.validate(&printed).err());
        let array = &printed["papers"];
        assert!(!validator.is_valid(array));
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
