// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings in plain words, for the terminal, the report and JSON.

use super::numbers;
use crate::comparison::{Comparison, Policy};
use crate::findings::{Advice, Answer, Avoid, Cost, Findings, Loss, StageFindings};
use crate::output::{quoted, summary};
use rota_measure::baseline::Relative;
use rota_measure::catalogue::Unit;
use serde_json::{json, Value};
use std::io::{self, Write};

/// Width of the terminal's text.
const WIDTH: usize = 100;
/// Costs that are named; more of them are counted.
const MOST_COSTS: usize = 3;
/// Policies to avoid whose reason is told; more of them are only named.
const MOST_REASONS: usize = 4;
/// The scheduler that Linux has anyway.
const OF_LINUX: &str = "eevdf";

/// A statement with a word for what it is about.
pub(crate) struct Statement {
    pub(crate) about: String,
    pub(crate) text: String,
}

/// All statements, stage by stage with the stage's name, and the advice at the end.
pub(crate) fn statements(
    comparison: &Comparison<'_>,
    findings: &Findings<'_>,
) -> (Vec<(String, Vec<Statement>)>, Option<Statement>) {
    let words = Words::new(comparison);
    let stages = findings.stages.iter().map(|stage| {
        let cpus = summary::machine_with(stage.stage.config, "");
        let cpus = cpus.split(" at ").next().unwrap_or_default();
        (format!("{}, {cpus}", stage.stage.load.file), words.stage(stage))
    });
    (stages.collect(), findings.advice.as_ref().map(|advice| words.advice(findings, advice)))
}

/// Prints them; nothing if there are none.
pub(crate) fn print(
    out: &mut dyn Write,
    comparison: &Comparison<'_>,
    findings: &Findings<'_>,
) -> io::Result<()> {
    let (stages, advice) = statements(comparison, findings);
    if stages.iter().all(|(_, all)| all.is_empty()) && advice.is_none() {
        return Ok(());
    }
    let all = stages.iter().flat_map(|(_, all)| all).chain(&advice);
    let widest = all.map(|of| of.about.chars().count()).max().unwrap_or(0);
    for (name, all) in stages.iter().filter(|(_, all)| !all.is_empty()) {
        match stages.len() {
            1 => writeln!(out, "\nFindings")?,
            _ => writeln!(out, "\nFindings for {name}")?,
        }
        all.iter().try_for_each(|statement| lines(out, statement, widest))?;
    }
    if let Some(advice) = &advice {
        if stages.len() > 1 {
            writeln!(out)?;
        }
        lines(out, advice, widest)?;
    }
    Ok(())
}

fn lines(out: &mut dyn Write, statement: &Statement, widest: usize) -> io::Result<()> {
    let first = format!("  {:widest$}  ", statement.about);
    let rest = " ".repeat(widest + 4);
    let options = textwrap::Options::new(WIDTH).initial_indent(&first).subsequent_indent(&rest);
    let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
    let lines = textwrap::wrap(&statement.text, options.break_words(false));
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Puts findings into words.
pub(super) struct Words<'a> {
    comparison: &'a Comparison<'a>,
}

impl<'a> Words<'a> {
    pub(super) fn new(comparison: &'a Comparison<'a>) -> Self {
        Words { comparison }
    }

    /// A stage's findings for programs.
    pub(super) fn json(&self, stage: &StageFindings<'_>) -> Value {
        let label = |at: &usize| self.label(*at);
        let goals = stage.answers.iter().map(|answer| {
            let costs = answer.costs.iter().map(|cost| cost.measure.key);
            json!({
                "goal": answer.goal.name,
                "metric": answer.metric.key(),
                "task": answer.metric.task(),
                "best": answer.winner.as_ref().map(label),
                "leaders": answer.leaders.iter().map(label).collect::<Vec<&str>>(),
                "costs": costs.collect::<Vec<&str>>(),
                "text": self.answer(answer).text,
            })
        });
        let avoid = stage.avoid.iter().map(|avoid| {
            let reason = match avoid {
                Avoid::Ejected { .. } => "ejected",
                Avoid::Starves { .. } => "starves",
                Avoid::Worse { .. } => "worse",
            };
            json!({
                "policy": self.label(avoid.policy()),
                "reason": reason,
                "text": self.avoid(avoid),
            })
        });
        json!({
            "goals": goals.collect::<Vec<Value>>(),
            "noise": stage.noise.iter().map(label).collect::<Vec<&str>>(),
            "avoid": avoid.collect::<Vec<Value>>(),
        })
    }

    /// The advice for programs.
    pub(super) fn advice_json(&self, findings: &Findings<'_>, advice: &Advice<'_>) -> Value {
        let (action, policy, losses) = match advice {
            Advice::Run { policy, losses, .. } => ("run", policy, &losses[..]),
            Advice::Keep { baseline, .. } => ("keep", baseline, &[][..]),
        };
        let losses = losses.iter().map(|loss| loss.goal.name.as_str());
        json!({
            "action": action,
            "policy": self.label(*policy),
            "command": run_command(&self.comparison.policies[*policy]),
            "worse_for": losses.collect::<Vec<&str>>(),
            "text": self.advice(findings, advice).text,
        })
    }

    fn label(&self, policy: usize) -> &str {
        &self.comparison.policies[policy].label
    }

    fn labels(&self, policies: &[usize]) -> String {
        let labels: Vec<&str> = policies.iter().map(|at| self.label(*at)).collect();
        listed(&labels)
    }

    fn baseline(&self) -> Option<usize> {
        self.comparison.baseline.map(|baseline| baseline.at)
    }

    fn stage(&self, stage: &StageFindings<'_>) -> Vec<Statement> {
        let mut all: Vec<Statement> =
            stage.answers.iter().map(|answer| self.answer(answer)).collect();
        if let Some(baseline) = self.baseline().filter(|_| !stage.noise.is_empty()) {
            let goals: Vec<&str> = stage.answers.iter().map(|of| of.goal.name.as_str()).collect();
            let text = format!(
                "no difference to {} in {} that is significant and at least 1 %: {}",
                self.label(baseline),
                listed(&goals),
                self.labels(&stage.noise)
            );
            all.push(Statement { about: "noise".into(), text });
        }
        let (told, named) = stage.avoid.split_at(stage.avoid.len().min(MOST_REASONS));
        for avoid in told {
            all.push(Statement { about: "avoid".into(), text: self.avoid(avoid) });
        }
        if !named.is_empty() {
            let policies: Vec<usize> = named.iter().map(Avoid::policy).collect();
            let text = format!("for the same reasons also {}", self.labels(&policies));
            all.push(Statement { about: "avoid".into(), text });
        }
        all
    }

    fn answer(&self, answer: &Answer<'_>) -> Statement {
        let about = answer.goal.name.clone();
        let metric = answer.metric.label();
        let value = |at: usize| {
            let mean = answer.means[at].map_or(f64::NAN, |of| of.mean);
            let few = answer.few_samples[at].map_or(String::new(), |n| format!(" (n = {n})"));
            format!("{}{few}", numbers::mean(answer.metric.unit(), mean, None))
        };
        let text = match (answer.winner, self.baseline()) {
            (Some(winner), Some(baseline)) => {
                let compared = answer.relatives[winner]
                    .map_or(String::new(), |of| ratio(answer.metric.unit(), &of));
                format!(
                    "{} is best: {metric} {}, {compared} {}'s {}{}. {}",
                    self.label(winner),
                    value(winner),
                    self.label(baseline),
                    value(baseline),
                    self.level(answer, winner),
                    costs(&answer.costs, self.label(baseline)),
                )
            }
            (Some(winner), None) => {
                format!(
                    "{} is best: {metric} {}, significantly better than each other policy",
                    self.label(winner),
                    value(winner)
                )
            }
            (None, Some(baseline)) => {
                let level = self.level(answer, baseline);
                let first = answer.leaders[0];
                let (by, best) = match answer.leaders.contains(&baseline) {
                    true => ("", level),
                    false => shortfall(self.label(first), answer.relatives[first].as_ref()),
                };
                format!(
                    "no policy is better than {}{by}: {metric} {}{best}",
                    self.label(baseline),
                    value(baseline)
                )
            }
            (None, None) => {
                let lead: Vec<String> = answer
                    .leaders
                    .iter()
                    .map(|at| format!("{} {}", self.label(*at), value(*at)))
                    .collect();
                let lead: Vec<&str> = lead.iter().map(String::as_str).collect();
                format!(
                    "no policy is significantly better than the others that lead: {metric} {}",
                    listed(&lead)
                )
            }
        };
        Statement { about, text }
    }

    /// Other leaders than this one.
    fn level(&self, answer: &Answer<'_>, than: usize) -> String {
        let others: Vec<usize> = answer.leaders.iter().copied().filter(|at| *at != than).collect();
        match others.is_empty() {
            true => String::new(),
            false => format!(" (within noise of it: {})", self.labels(&others)),
        }
    }

    fn avoid(&self, avoid: &Avoid<'_>) -> String {
        let label = self.label(avoid.policy());
        let baseline = self.baseline().map_or("", |at| self.label(at));
        match avoid {
            Avoid::Ejected { runs, of, reason, .. } => {
                format!("{label} was ejected in {runs} of {of} runs: {reason}")
            }
            Avoid::Starves { task, longest_ns, baseline_ns, .. } => {
                let time = |ns: f64| numbers::mean(Unit::Ns, ns, None);
                format!(
                    "{label} starves {task}: ready to run for up to {} without running, {} under \
                     {baseline}",
                    time(*longest_ns),
                    time(*baseline_ns)
                )
            }
            Avoid::Worse { losses, .. } => {
                let losses: Vec<String> = losses.iter().map(loss).collect();
                let losses: Vec<&str> = losses.iter().map(String::as_str).collect();
                format!(
                    "{label} is worse than {baseline} in {}, better in no goal",
                    listed(&losses)
                )
            }
        }
    }

    fn advice(&self, findings: &Findings<'_>, advice: &Advice<'_>) -> Statement {
        let about = "to do".to_owned();
        let goal = findings.first;
        let text = match advice {
            Advice::Run { policy, better_in, stages, losses } => {
                let chosen = &self.comparison.policies[*policy];
                let mut why = match stages {
                    1 => format!("for {goal}"),
                    _ => format!("better for {goal} in {better_in} of {stages}, worse in none"),
                };
                why.push_str(&price(losses));
                match chosen.argument == OF_LINUX && chosen.set.is_empty() {
                    true => format!("nothing ({why}): {OF_LINUX} is what Linux runs since 6.6"),
                    false => format!("{}  ({why})", run_command(chosen)),
                }
            }
            Advice::Keep { baseline, ruled_out: None } => {
                format!("keep {}: no policy is better for {goal}", self.label(*baseline))
            }
            Advice::Keep { baseline, ruled_out: Some(policy) } => format!(
                "keep {}: {} is better for {goal}, but is to be avoided or worse elsewhere",
                self.label(*baseline),
                self.label(*policy)
            ),
        };
        Statement { about, text }
    }
}

/// What loads a policy into this machine's kernel.
fn run_command(policy: &Policy) -> String {
    if policy.program.is_some() {
        // as a shell reads it already
        return format!("sudo {}", policy.argument);
    }
    let mut words = vec!["sudo rota run".to_owned(), quoted(&policy.argument)];
    for (name, value) in &policy.set {
        words.push(format!("--set {}", quoted(&format!("{name}={value}"))));
    }
    if let Some(manifest) = &policy.manifest {
        words.push(format!("--manifest {}", quoted(&manifest.display().to_string())));
    }
    words.join(" ")
}

fn costs(costs: &[Cost], baseline: &str) -> String {
    if costs.is_empty() {
        return format!("No other metric that is usually shown is worse than under {baseline}.");
    }
    let (told, left) = costs.split_at(costs.len().min(MOST_COSTS));
    let told: Vec<String> = told
        .iter()
        .map(|cost| format!("{} {}", cost.measure.name, ratio(cost.measure.unit, &cost.relative)))
        .collect();
    let mut told: Vec<&str> = told.iter().map(String::as_str).collect();
    let left = format!("{} more", left.len());
    if costs.len() > told.len() {
        told.push(&left);
    }
    format!("It costs: {}.", listed(&told))
}

/// By how much no policy is better, and why the best mean makes none: the difference is too small,
/// or this test, which has other rivals than that of the best value, does not find it significant.
fn shortfall(label: &str, relative: Option<&Relative>) -> (&'static str, String) {
    match relative.and_then(Relative::is_significant) {
        Some(true) => (" by 1 % or more", format!(" ({label} is better by less)")),
        _ => ("", format!("; the best mean, that of {label}, is within noise")),
    }
}

/// What the policy to run for the first goal loses in others.
fn price(losses: &[Loss<'_>]) -> String {
    if losses.is_empty() {
        return String::new();
    }
    let of = |of: &Loss<'_>| format!("{}: {}", of.goal.name, loss(of));
    let told: Vec<String> = losses.iter().map(of).collect();
    format!("; but worse for {}", listed(&told.iter().map(String::as_str).collect::<Vec<&str>>()))
}

fn loss(loss: &Loss<'_>) -> String {
    format!("{} ({})", loss.metric.label(), ratio(loss.metric.unit(), &loss.relative))
}

/// `0.83x`, or the difference where there is no ratio.
fn ratio(unit: Unit, relative: &Relative) -> String {
    match relative.ratio {
        Some(ratio) if ratio > 0.0 => format!("{}x", numbers::ratio(ratio)),
        _ => {
            let difference = relative.difference.mean;
            let sign = if difference >= 0.0 { "+" } else { "" };
            format!("{sign}{}", numbers::mean(unit, difference, None))
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::ProgramOf;
    use rota_measure::statistics::Estimate;

    #[test]
    fn lists_end_with_and() {
        assert_eq!(listed(&[]), "");
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }

    /// Below 5 % of probability the difference is certain, so that it must be too small; above it
    /// nothing is said of its size.
    #[test]
    fn a_best_mean_that_is_no_better_policy_has_its_reason() {
        let difference = Estimate { mean: -1.0, half_width: Some(2.0), n: 3 };
        let relative = |p| Relative { ratio: Some(0.7), difference, probability: Some(p) };
        let small = (" by 1 % or more", " (wfq is better by less)".to_owned());
        assert_eq!(shortfall("wfq", Some(&relative(0.04))), small);
        let noise = ("", "; the best mean, that of wfq, is within noise".to_owned());
        assert_eq!(shortfall("wfq", Some(&relative(0.06))), noise);
        assert_eq!(shortfall("wfq", None), noise);
    }

    #[test]
    fn the_command_can_be_pasted_into_a_shell() {
        let mut policy = Policy {
            label: "mine".into(),
            name: "mine".into(),
            source: "./my dir/it's.bpf.c".into(),
            argument: "./my dir/it's.bpf.c".into(),
            manifest: Some("m.toml".into()),
            set: vec![("quantum_ns".into(), "5ms".into())],
            hash: String::new(),
            sha256: String::new(),
            program: None,
        };
        let expected =
            r"sudo rota run './my dir/it'\''s.bpf.c' --set quantum_ns=5ms --manifest m.toml";
        assert_eq!(run_command(&policy), expected);

        policy.argument = "scx_layered 'f:my layers.json'".into();
        policy.program = Some(ProgramOf {
            arguments: vec!["f:my layers.json".into()],
            version: None,
            cost_ns: 1,
        });
        assert_eq!(run_command(&policy), "sudo scx_layered 'f:my layers.json'");
    }
}
