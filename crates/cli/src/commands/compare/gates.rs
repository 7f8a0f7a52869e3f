// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--fail-if`: which conditions are asked of which policies.

use super::matrix::Matrix;
use super::CompareArgs;
use crate::comparison::Comparison;
use crate::error::Error;
use crate::gate::{self, Judged, Verdict};
use crate::load::Load;
use crate::nearest;
use rota_gate::Condition;

const OPTION: &str = "--fail-if";

/// Conditions, each with the place of the policy that it compares with.
pub(super) struct Gates(Vec<(Condition, Option<usize>)>);

impl Gates {
    /// Those of the command line. Nobody wants to run for a condition that cannot be judged.
    pub(super) fn new(args: &CompareArgs, matrix: &Matrix, loads: &[&Load]) -> Result<Self, Error> {
        let baseline = matrix.baseline.map(|baseline| baseline.at);
        let (mut gates, given) = (Vec::new(), matrix.given());
        for text in &args.fail_if {
            let refused = |why: String| Error::input(format!("{OPTION} '{text}': {why}"));
            let condition = Condition::parse(text).map_err(refused)?;
            condition.check(OPTION, (loads, &given), args.seeds.first())?;
            let other = match condition.than() {
                None => baseline,
                Some(name) => Some(place(matrix, name).map_err(refused)?),
            };
            if condition.is_relative() && other.is_none() {
                return Err(refused("there is no baseline: expected 'than POLICY'".into()));
            }
            gates.push((condition, other));
        }
        Ok(Self(gates))
    }

    /// Those that hold, or of which that cannot be told, for any policy but the one that the others
    /// are compared with.
    pub(super) fn judge(&self, comparison: &Comparison<'_>) -> Vec<Judged> {
        let baseline = comparison.baseline.map(|baseline| baseline.at);
        let mut judged = Vec::new();
        for (at, stage) in comparison.stages.iter().enumerate() {
            for policy in 0..stage.columns.len() {
                for (condition, other) in &self.0 {
                    if Some(policy) == baseline || Some(policy) == *other {
                        continue;
                    }
                    let found = gate::judge(condition, stage, policy, *other);
                    let failed = found.verdict != Verdict::DoesNot;
                    let text = condition.text.clone();
                    judged.push(Judged { stage: at, policy, condition: text, failed, found });
                }
            }
        }
        judged
    }
}

/// The policy of a label, or that is named so otherwise.
fn place(matrix: &Matrix, name: &str) -> Result<usize, String> {
    let labels: Vec<&str> = matrix.policies.iter().map(|policy| &*policy.label).collect();
    let of_label = labels.iter().position(|label| *label == name);
    let of_argument = || matrix.policies.iter().position(|policy| policy.argument == name);
    of_label.or_else(of_argument).ok_or_else(|| {
        let hint = nearest::hint(name, &labels);
        format!("no policy is called \"{name}\"{hint}; expected one of {}", labels.join(", "))
    })
}
