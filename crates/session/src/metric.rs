// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metrics by whatever words they are named, and values in their units.

use crate::nearest;
use rota_measure::catalogue::{self, Measure, TaskMeasure, Unit};
use rota_measure::statistics::Better;
use rota_workload::parse_duration;

/// Metrics of runs; those that one task has too; those of which one value can be better.
pub fn known(of_task: bool, judged: bool) -> Vec<&'static Measure> {
    let fits = |measure: &&Measure| {
        (!of_task || catalogue::find_of_tasks(measure.key).is_some())
            && (!judged || measure.better != Better::Neither)
    };
    catalogue::measures().iter().filter(fits).collect()
}

/// The metric whose name, key or other words are these words, in any order.
pub fn find(wanted: &str, known: &[&'static Measure]) -> Option<&'static Measure> {
    let wanted_words = words_of(wanted);
    let is_it = |measure: &&&Measure| {
        let names = [measure.name, measure.key, measure.also];
        names.into_iter().any(|name| words_of(name) == wanted_words)
    };
    let has_words = |measure: &&&Measure| {
        let also = words_of(measure.also);
        !wanted_words.is_empty() && wanted_words.iter().all(|word| also.contains(word))
    };
    let mut like = known.iter().filter(has_words);
    // Some of the other words will do if no other metric has them, or is called so but is not known.
    let is_taken = catalogue::measures().iter().any(|measure| is_it(&&measure));
    let only = like.next().filter(|_| like.next().is_none() && !is_taken);
    known.iter().find(is_it).or(only).copied()
}

/// The words of a name, sorted: `p99 response` and `response_p99` have the same.
fn words_of(name: &str) -> Vec<String> {
    let split = name.split(|c: char| !c.is_alphanumeric() && c != '/' && c != '|');
    let mut words: Vec<String> =
        split.filter(|word| !word.is_empty() && *word != "time").map(str::to_lowercase).collect();
    words.sort();
    words
}

/// The metric of tasks whose key has these words, in any order.
pub fn find_of_task(wanted: &str) -> Option<&'static TaskMeasure> {
    let wanted = words_of(wanted);
    catalogue::of_tasks().iter().find(|measure| words_of(measure.key) == wanted)
}

/// Why there is no metric of this name, of runs or of a task.
pub fn unknown(name: &str, task: Option<&str>, judged: bool) -> String {
    let is_neutral = |of_task| {
        find(name, &known(of_task, false)).is_some_and(|measure| measure.better == Better::Neither)
    };
    if judged && is_neutral(task.is_some()) {
        return format!("{name} is neither good nor bad: expected <, >, == or within");
    }
    let mut keys: Vec<&str> =
        known(task.is_some(), judged).iter().map(|measure| measure.key).collect();
    if task.is_some() && !judged {
        let own = catalogue::of_tasks().iter().map(|measure| measure.key);
        keys.extend(own.filter(|key| catalogue::find(key).is_none()));
    }
    // `p98_wakeup` is near to `wakeup_p99`.
    let mut words: Vec<&str> = name.split(['_', ' ']).collect();
    words.reverse();
    let turned = words.join("_");
    let begins = keys.iter().any(|key| key.split('_').next() == words.first().copied());
    let hint = nearest::hint(if begins { &turned } else { name }, &keys);
    let of = if task.is_some() { " of tasks" } else { "" };
    format!("no metric{of} is called \"{name}\"{hint}; expected one of {}", keys.join(", "))
}

/// Why there is no metric of runs of this name.
pub fn unknown_metric(name: &str) -> String {
    unknown(name, None, false)
}

/// A percentage, as a part of 1.
pub fn percent(text: &str) -> Option<f64> {
    let number = number(text.trim().strip_suffix('%')?)?;
    Some(number / 100.0)
}

fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    // Neither names of numbers nor hexadecimal ones.
    let is_decimal = text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    text.parse().ok().filter(|number: &f64| is_decimal && number.is_finite())
}

/// A value in the unit of a metric.
pub fn value_of(unit: Unit, text: &str) -> Result<f64, String> {
    let text = text.trim();
    let plain = |ending: &str| number(text.strip_suffix(ending).unwrap_or(text));
    let (found, example) = match unit {
        Unit::Ns => {
            let (sign, time) = text.strip_prefix('-').map_or((1.0, text), |time| (-1.0, time));
            let ns = if time == "0" { Ok(0) } else { parse_duration(time) };
            (ns.ok().map(|ns| sign * ns as f64), "a time such as 5ms")
        }
        Unit::Fraction => (percent(text).or_else(|| number(text)), "a percentage such as 0.5%"),
        Unit::PerSecond => (plain("/s"), "a number per second such as 200"),
        Unit::Joules => (plain("J"), "a number of joules such as 2.5"),
        Unit::Watts => (plain("W"), "a number of watts such as 2.5"),
        Unit::Number | Unit::Count | Unit::Instructions => (number(text), "a number"),
    };
    found.ok_or_else(|| format!("\"{text}\": expected {example}"))
}
