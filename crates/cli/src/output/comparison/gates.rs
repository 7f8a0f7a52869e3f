// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of conditions: a line on standard error for each that failed, and JSON.

use super::numbers;
use crate::comparison::Comparison;
use crate::gate::{Judged, Seen, Verdict};
use crate::output::messages;
use rota_measure::baseline::Relative;
use rota_measure::catalogue::Unit;
use serde_json::{json, Value};

/// A line for each that failed. Whether one did.
pub(crate) fn tell(comparison: &Comparison<'_>, judged: &[Judged]) -> bool {
    let failed = judged.iter().filter(|judged| judged.failed);
    failed.clone().for_each(|judged| messages::failed(&line(comparison, judged)));
    failed.count() > 0
}

/// `web.json, 4 CPUs, new: p99_wakeup worse by 5%: …`
pub(crate) fn line(comparison: &Comparison<'_>, judged: &Judged) -> String {
    let stage = &comparison.stages[judged.stage];
    let cpus = stage.config.topology.cpus();
    let plural = if cpus == 1 { "" } else { "s" };
    let (file, label) = (&stage.load.file, &comparison.policies[judged.policy].label);
    let seen = seen(comparison, judged);
    format!("{file}, {cpus} CPU{plural}, {label}: {}: {seen}", judged.condition)
}

/// What it was judged by.
pub(crate) fn seen(comparison: &Comparison<'_>, judged: &Judged) -> String {
    match &judged.found.seen {
        Seen::Nothing(why) => format!("cannot be told: {why}"),
        Seen::Exits { early: 0, of, .. } => format!("no early end in {of} runs"),
        Seen::Exits { early, of, reason } => {
            format!(
                "{early} of {of} runs ended early: {}",
                reason.as_deref().unwrap_or("no reason")
            )
        }
        Seen::Mean { metric, mean } => {
            let unit = metric.unit();
            format!("{} {}", metric.label(), numbers::text(unit, mean.mean, mean.half_width))
        }
        Seen::Pair { metric, own, other, relative, policy } => {
            let (unit, label) = (metric.unit(), &comparison.policies[*policy].label);
            let (own, other) = (numbers::mean(unit, *own, None), numbers::mean(unit, *other, None));
            let size = size(unit, relative);
            format!("{} {own}, {label} {other}: {size}, {}", metric.label(), chance(relative))
        }
    }
}

fn size(unit: Unit, relative: &Relative) -> String {
    match relative.ratio {
        Some(ratio) => format!("{}x", numbers::ratio(ratio)),
        None => format!("difference {}", numbers::mean(unit, relative.difference.mean, None)),
    }
}

/// How likely chance alone is to do this.
pub(crate) fn chance(relative: &Relative) -> String {
    match relative.probability {
        None => "one seed".into(),
        Some(p) if p < 0.0001 => "p < 0.0001".into(),
        Some(p) => format!("p = {p:.4}"),
    }
}

/// For the JSON of a comparison.
pub(crate) fn json(comparison: &Comparison<'_>, judged: &[Judged]) -> Vec<Value> {
    let one = |judged: &Judged| {
        let stage = &comparison.stages[judged.stage];
        json!({
            "condition": judged.condition,
            "workload": stage.load.file,
            "cpus": stage.config.topology.cpus(),
            "policy": comparison.policies[judged.policy].label,
            "holds": match judged.found.verdict {
                Verdict::Holds => Some(true),
                Verdict::DoesNot => Some(false),
                Verdict::Unknown => None,
            },
            "failed": judged.failed,
            "seen": seen(comparison, judged),
        })
    };
    judged.iter().map(one).collect()
}
