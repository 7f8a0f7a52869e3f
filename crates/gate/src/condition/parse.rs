// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads conditions.
//!
//! ```text
//! condition = "exit" ( "==" | "!=" ) ( "ok" | "ejected" )
//!           | metric ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) value
//!           | metric "within" value ".." value
//!           | metric [ "no" | "not" ] ( "worse" | "better" ) [ "than" policy ] [ "by" number "%" ]
//! metric    = name | name "(" task ")" | name "of" task | task ":" name
//! ```
//!
//! A metric's name is its key or the same words in any order; a task may be in double quotes.

use super::{Ending, Sign, Way, What};
use crate::metric::Metric;
use rota_measure::catalogue::Unit;
use rota_session::metric::{self, percent, unknown, value_of as value};

/// The longer ones first, as they begin with the others.
const SIGNS: [(&str, Sign); 6] = [
    (">=", Sign::AtLeast),
    ("<=", Sign::AtMost),
    ("==", Sign::Is),
    ("!=", Sign::IsNot),
    (">", Sign::Above),
    ("<", Sign::Below),
];
const WITHIN: &str = "within";
/// Words that the second part of a condition can begin with.
const WORDS: [&str; 5] = [WITHIN, "no", "not", "worse", "better"];
const ENDINGS: [(&str, Ending); 2] = [("ok", Ending::Ok), ("ejected", Ending::Ejected)];

pub(super) fn what(text: &str) -> Result<What, String> {
    let (left, right) = split(text).ok_or(
        "expected a comparison, as 'wakeup_p99 > 5ms', 'wakeup_p99 worse by 5%' or 'exit == ok'",
    )?;
    if left == "exit" {
        return exit(right);
    }
    if let Some((sign, limit)) =
        SIGNS.iter().find_map(|(name, s)| Some((s, right.strip_prefix(name)?)))
    {
        let metric = metric_of(left, false)?;
        let limit = value(metric.unit(), limit)?;
        return Ok(What::Limit { metric, sign: *sign, limit });
    }
    match right.strip_prefix(WITHIN) {
        Some(range) => {
            let metric = metric_of(left, false)?;
            let (low, high) = range_of(metric.unit(), range)?;
            Ok(What::Within { metric, low, high })
        }
        None => against(left, right),
    }
}

/// What is compared, and the rest, which begins with the comparison. Quotes hide what is in them.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    for (at, c) in text.char_indices() {
        let after = &text[at + c.len_utf8()..];
        let word = after.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '<' | '>' | '=' | '!' => return Some((text[..at].trim(), text[at..].trim())),
            ')' if WORDS.contains(&word) => return Some((text[..=at].trim(), after.trim())),
            c if c.is_whitespace() && WORDS.contains(&word) => {
                return Some((text[..at].trim(), after.trim()));
            }
            _ => {}
        }
    }
    None
}

fn exit(right: &str) -> Result<What, String> {
    let expected = || format!("{right}: expected == or != and one of ok, ejected");
    let is = right.starts_with("==");
    let ending = right.strip_prefix("==").or(right.strip_prefix("!=")).ok_or_else(expected)?;
    let found = ENDINGS.iter().find(|(name, _)| *name == ending.trim()).ok_or_else(expected)?;
    Ok(What::Exit { is, ending: found.1 })
}

/// `[no] worse [than POLICY] [by N%]`.
fn against(left: &str, right: &str) -> Result<What, String> {
    let positive = ["no ", "not "].iter().find_map(|no| right.strip_prefix(no));
    let rest = positive.unwrap_or(right).trim_start();
    let ways = [("worse", Way::Worse), ("better", Way::Better)];
    let found = ways.iter().find_map(|(name, way)| Some((*way, rest.strip_prefix(name)?)));
    let (way, rest) = found.ok_or_else(|| format!("{rest}: expected worse or better"))?;
    let rest = rest.trim();
    let (than, by) = match rest.strip_prefix("than ") {
        Some(rest) => policy_and_rest(rest.trim_start())?,
        None if rest.is_empty() => (None, None),
        None => (None, Some(rest.strip_prefix("by ").ok_or_else(|| unread(rest))?)),
    };
    let than = than.map(unquoted).map(str::to_owned);
    if than.as_deref() == Some("") {
        return Err("the policy after `than` is missing".into());
    }
    let by = match by {
        None => 0.0,
        Some(text) => percent(text).filter(|by| *by >= 0.0).ok_or_else(|| {
            format!("by {}: expected a percentage of 0 or more, such as 5%", text.trim())
        })?,
    };
    Ok(What::Against { metric: metric_of(left, true)?, is: positive.is_none(), way, than, by })
}

/// The policy, and what follows `by`.
fn policy_and_rest(text: &str) -> Result<(Option<&str>, Option<&str>), String> {
    if let Some((policy, rest)) = text.strip_prefix('"').and_then(|text| text.split_once('"')) {
        let rest = rest.trim();
        let by = rest.strip_prefix("by ");
        return match by.is_some() || rest.is_empty() {
            true => Ok((Some(policy), by)),
            false => Err(unread(rest)),
        };
    }
    Ok(match text.rsplit_once(" by ") {
        Some((policy, by)) => (Some(policy), Some(by)),
        None => (Some(text), None),
    })
}

fn unread(rest: &str) -> String {
    format!("{rest}: expected 'than POLICY', 'by N%' or nothing more")
}

fn range_of(unit: Unit, text: &str) -> Result<(f64, f64), String> {
    let (low, high) = text
        .split_once("..")
        .ok_or_else(|| format!("within{text}: expected two values, as 20%..30%"))?;
    let (low, high) = (value(unit, low)?, value(unit, high)?);
    match low <= high {
        true => Ok((low, high)),
        false => Err(format!("within{text}: nothing is in it, expected the smaller value first")),
    }
}

/// The metric and its task; `judged`: only one of which a value can be better than another.
fn metric_of(text: &str, judged: bool) -> Result<Metric, String> {
    let (name, task) = match text.strip_suffix(')').and_then(|inner| inner.split_once('(')) {
        Some((name, task)) => (name, Some(task)),
        None => match text.split_once(" of ") {
            Some((name, task)) => (name, Some(task)),
            None => match text.rsplit_once(':') {
                Some((task, name)) => (name, Some(task)),
                None => (text, None),
            },
        },
    };
    let (name, task) = (name.trim(), task.map(unquoted));
    if task == Some("") {
        return Err(format!("{text}: the name of the task is missing"));
    }
    let known = metric::known(task.is_some(), judged);
    if let Some(metric) = metric::find(name, &known).and_then(|of| Metric::new(of, task)) {
        return Ok(metric);
    }
    if let (Some(task), false) = (task, judged) {
        if let Some(measure) = metric::find_of_task(name) {
            return Ok(Metric::Task { task: task.to_owned(), measure, whole: None });
        }
    }
    Err(unknown(name, task, judged))
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text)
}

#[cfg(test)]
mod tests;
