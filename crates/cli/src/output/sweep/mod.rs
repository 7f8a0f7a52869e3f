// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota sweep` prints.

pub(crate) mod json;

use super::comparison::{gates, numbers};
use super::table;
use crate::error::Error;
use rota_measure::baseline::Relative;
use rota_measure::catalogue::{self, Measure};
use rota_measure::statistics::Better;
use rota_sweep::{Bound, Fit, Objective, Setting, Swept, Table};
use std::io::Write;
use std::path::Path;

/// Settings of a table.
const SHOWN: usize = 10;

/// The dataset in a few words.
pub(crate) struct Report {
    /// As the user named it.
    pub(crate) path: String,
    pub(crate) runs: usize,
    /// Runs that were done now; `None`: none was to be done.
    pub(crate) new: Option<usize>,
    pub(crate) ejected: usize,
}

impl Report {
    pub(crate) fn new(table: &Table, path: &Path, new: Option<usize>) -> Self {
        let ejected = table.rows().iter().filter(|row| row.ejected).count();
        Self { path: path.display().to_string(), runs: table.rows().len(), new, ejected }
    }
}

/// The verdict first, then what it costs, then the next settings.
pub(crate) fn print(
    out: &mut dyn Write,
    report: &Report,
    swept: Option<&Swept>,
) -> Result<(), Error> {
    if let Some(swept) = swept {
        verdict(out, swept)?;
        settings(out, swept)?;
        writeln!(out)?;
    }
    let Report { path, runs, new, ejected } = report;
    let new = match new {
        Some(new) if new < runs => format!(", {} of them done before", runs - new),
        _ => String::new(),
    };
    let ejected = if *ejected > 0 { format!(", {ejected} ejected") } else { String::new() };
    writeln!(out, "{runs} runs in {path}{new}{ejected}")?;
    Ok(())
}

fn verdict(out: &mut dyn Write, swept: &Swept) -> Result<(), Error> {
    let fits = swept.settings.iter().filter(|setting| setting.fit == Fit::Fits).count();
    let all = swept.settings.len();
    let aims: Vec<String> = swept.objectives.iter().map(aim).collect();
    match (swept.winner(), swept.front.is_empty()) {
        (_, true) => {
            writeln!(out, "no setting of {all} is the best: none fulfils what must hold")?;
        }
        (Some(winner), _) => best(out, swept, winner)?,
        (None, _) => {
            let front = swept.front.len();
            writeln!(out, "the Pareto front of {} has {front} of {all} settings", aims.join(", "))?;
        }
    }
    for constraint in &swept.constraints {
        let text = &constraint.text;
        writeln!(out, "must hold: {text}")?;
    }
    if !swept.constraints.is_empty() {
        writeln!(out, "{fits} of {all} settings fulfil it")?;
    }
    if swept.scenarios.len() > 1 {
        writeln!(out, "means are over {} workloads and machines", swept.scenarios.len())?;
    }
    if swept.left_out > 0 {
        let left_out = swept.left_out;
        writeln!(
            out,
            "left out: {left_out} settings that did not run everywhere, with every seed"
        )?;
    }
    Ok(())
}

/// `lowest response p99`.
fn aim(of: &Objective) -> String {
    format!("{} {}", if of.maximised { "highest" } else { "lowest" }, of.metric.name)
}

fn best(out: &mut dyn Write, swept: &Swept, winner: usize) -> Result<(), Error> {
    let (setting, objective) = (&swept.settings[winner], swept.objectives[0]);
    let (name, all) = (setting.name(), swept.settings.len());
    let mean = mean(setting, objective.metric);
    writeln!(out, "{name} has the {} of {all} settings: {mean}", aim(&objective))?;
    match swept.as_good() {
        0 => {}
        1 => writeln!(out, "one other setting is not significantly worse")?,
        others => writeln!(out, "{others} other settings are not significantly worse")?,
    }
    let Some(baseline) = swept.baseline else {
        writeln!(
            out,
            "--baseline POLICY says what it gains and costs next to a policy as it ships"
        )?;
        return Ok(());
    };
    let base = swept.settings[baseline].name();
    if baseline == winner {
        writeln!(out, "it is the baseline: nothing is gained")?;
        return Ok(());
    }
    if let Some(relative) = swept.relative(winner, objective.metric) {
        let other = self::mean(&swept.settings[baseline], objective.metric);
        let ratio =
            relative.ratio.map_or(String::new(), |ratio| format!("{}x, ", numbers::ratio(ratio)));
        let of = difference(&relative);
        writeln!(out, "{base}: {other}; {ratio}{of}")?;
    }
    costs(out, swept, winner, &base)
}

fn difference(relative: &Relative) -> String {
    let chance = gates::chance(relative);
    match relative.is_significant() {
        Some(true) => format!("a significant difference ({chance})"),
        Some(false) => format!("no significant difference ({chance})"),
        None => format!("{chance} tells no significance"),
    }
}

/// Other metrics that are significantly worse or better than the baseline's.
pub(crate) fn costs(
    out: &mut dyn Write,
    swept: &Swept,
    winner: usize,
    base: &str,
) -> Result<(), Error> {
    let (mut worse, mut better) = (Vec::new(), Vec::new());
    for metric in catalogue::measures().iter().filter(|metric| metric.shown) {
        let is_own = metric.key == swept.objectives[0].metric.key;
        let relative = swept.relative(winner, metric).filter(|_| !is_own);
        let Some(relative) = relative.filter(|of| of.is_significant() != Some(false)) else {
            continue;
        };
        let is_worse = match (metric.better, relative.difference.mean) {
            (Better::Lower, more) if more != 0.0 => more > 0.0,
            (Better::Higher, more) if more != 0.0 => more < 0.0,
            _ => continue,
        };
        let own = mean(&swept.settings[winner], metric);
        let ratio =
            relative.ratio.map_or(String::new(), |ratio| format!(", {}x", numbers::ratio(ratio)));
        let text = format!("{} {own}{ratio}", metric.name);
        if is_worse { &mut worse } else { &mut better }.push(text);
    }
    for (word, texts) in [("worse", worse), ("better", better)] {
        let texts = if texts.is_empty() { "nothing".to_owned() } else { texts.join("; ") };
        writeln!(out, "{word} than {base}: {texts}")?;
    }
    Ok(())
}

fn mean(setting: &Setting, metric: &Measure) -> String {
    let mean = setting.mean(metric);
    mean.map_or("-".to_owned(), |of| numbers::text(metric.unit, of.mean, of.half_width))
}

/// The front, or the best of those that fit and some others.
fn settings(out: &mut dyn Write, swept: &Swept) -> Result<(), Error> {
    let order: Vec<usize> = match swept.objectives.len() {
        1 => swept.order().into_iter().take(SHOWN).collect(),
        _ => swept.front.clone(),
    };
    let metrics = swept.objectives.iter().map(|of| of.metric);
    let metrics = metrics.chain(swept.constraints.iter().map(|of| of.metric));
    let mut shown: Vec<&Measure> = Vec::new();
    for metric in metrics {
        if !shown.iter().any(|other| other.key == metric.key) {
            shown.push(metric);
        }
    }
    let row = |at: &usize| {
        let setting = &swept.settings[*at];
        let cells = shown.iter().map(|metric| mean(setting, metric));
        std::iter::once(setting.name()).chain(cells).chain([why(swept, setting)]).collect()
    };
    let mut header = vec!["setting"];
    header.extend(shown.iter().map(|metric| metric.name));
    header.push("");
    writeln!(out)?;
    for line in table::lines(&header, 1, order.iter().map(row).collect()) {
        writeln!(out, "{line}")?;
    }
    if swept.objectives.len() == 1 && swept.settings.len() > SHOWN {
        writeln!(out, "… and {} more", swept.settings.len() - SHOWN)?;
    }
    Ok(())
}

/// Why a setting cannot be chosen.
fn why(swept: &Swept, setting: &Setting) -> String {
    match &setting.fit {
        Fit::Fits => String::new(),
        Fit::Ejected(runs) => format!("ejected in {runs} runs"),
        Fit::Lacks(key) => format!("no {key}"),
        Fit::Fails { constraint, scenario, mean, bound } => {
            let of = &swept.constraints[*constraint];
            let number = |value| numbers::mean(of.metric.unit, value, None);
            let place = match swept.scenarios.len() {
                1 => String::new(),
                _ => format!(" on {}", swept.scenarios[*scenario]),
            };
            let bound = match of.bound {
                Bound::Value(_) => String::new(),
                Bound::OfBaseline(_) => format!(", not {}", number(*bound)),
            };
            format!("{} {}{bound}{place}", of.metric.name, number(*mean))
        }
    }
}
