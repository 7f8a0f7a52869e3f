// SPDX-License-Identifier: MIT OR Apache-2.0
//! Durations in a workload file: microseconds, or a distribution of them.

use super::keys;
use super::members::{Object, Scope};
use crate::error::WorkloadError;
use crate::json::{Member, Value};
use crate::random::{Span, MAX_SPAN_NS};

/// The longest duration in microseconds.
pub(super) const MAX_US: i64 = (MAX_SPAN_NS / 1000) as i64;

/// A number of microseconds or `{"dist": …}`.
pub(super) fn read(scope: Scope<'_>, member: &Member) -> Result<Span, WorkloadError> {
    match &member.node.value {
        Value::Int(us) if (0..=MAX_US).contains(us) => Ok(Span::Fixed(*us as u64 * 1000)),
        Value::Object(_) => distribution(scope, member),
        _ => Err(scope.mismatch(
            member,
            format_args!(
                "microseconds (a whole number from 0 to {MAX_US}) or a distribution \
                 {{\"dist\": …}}"
            ),
        )),
    }
}

fn distribution(scope: Scope<'_>, member: &Member) -> Result<Span, WorkloadError> {
    let object = Object::of(scope, "a distribution", &member.node)?;
    let Some(dist) = object.get("dist")? else {
        let message = format!(
            "{:?} needs \"dist\": \"exp\", \"uniform\", \"pareto\" or \"lognormal\"",
            member.key
        );
        return Err(scope.error(object.at, message));
    };
    match scope.string(dist)? {
        "exp" => {
            object.only(&["dist", "mean", "max"])?;
            let mean = required(&object, "mean", ABOVE_ZERO)?;
            Ok(Span::Exp { mean: mean * 1000.0, max: max_ns(&object)? })
        }
        "uniform" => {
            object.only(&["dist", "min", "max"])?;
            let min = number(&object, "min", ZERO_OR_MORE)?.map_or(0, ns);
            let max = ns(required(&object, "max", ZERO_OR_MORE)?);
            if min > max {
                let message = "\"min\" is greater than \"max\"";
                return Err(scope.error(object.place_of("min"), message));
            }
            Ok(Span::Uniform { min, max })
        }
        "pareto" => {
            object.only(&["dist", "shape", "mean", "scale", "max"])?;
            pareto(&object)
        }
        "lognormal" => {
            object.only(&["dist", "sigma", "mean", "median", "max"])?;
            lognormal(&object)
        }
        other => {
            let known = ["exp", "uniform", "pareto", "lognormal"].into_iter();
            Err(scope.error(dist.at, keys::unknown("distribution", other, known)))
        }
    }
}

fn pareto(object: &Object<'_>) -> Result<Span, WorkloadError> {
    let scope = object.scope;
    let shape = required(object, "shape", ABOVE_ZERO)?;
    let mean = number(object, "mean", ABOVE_ZERO)?;
    let scale = number(object, "scale", ABOVE_ZERO)?;
    let scale = match (mean, scale) {
        // The mean of a Pareto distribution is scale * shape / (shape - 1).
        (Some(mean), None) if shape > 1.0 => mean * (shape - 1.0) / shape,
        (Some(_), None) => {
            let message = "a Pareto distribution has a \"mean\" only if its \"shape\" is \
                           above 1; give its \"scale\" (least value) instead";
            return Err(scope.error(object.place_of("shape"), message));
        }
        (None, Some(scale)) => scale,
        _ => {
            let message = "a Pareto distribution needs either \"mean\" or \"scale\" (its least \
                           value)";
            return Err(scope.error(object.at, message));
        }
    };
    Ok(Span::Pareto { shape, scale: scale * 1000.0, max: max_ns(object)? })
}

fn lognormal(object: &Object<'_>) -> Result<Span, WorkloadError> {
    let sigma = required(object, "sigma", ABOVE_ZERO)?;
    let mean = number(object, "mean", ABOVE_ZERO)?;
    let median = number(object, "median", ABOVE_ZERO)?;
    let median = match (mean, median) {
        // The mean of a lognormal distribution is median * e^(sigma^2 / 2).
        (Some(mean), None) => mean * libm::exp(-sigma * sigma / 2.0),
        (None, Some(median)) => median,
        _ => {
            let message = "a lognormal distribution needs either \"mean\" or \"median\"";
            return Err(object.scope.error(object.at, message));
        }
    };
    Ok(Span::Lognormal { median: median * 1000.0, sigma, max: max_ns(object)? })
}

fn max_ns(object: &Object<'_>) -> Result<u64, WorkloadError> {
    Ok(number(object, "max", ABOVE_ZERO)?.map_or(MAX_SPAN_NS, ns))
}

fn ns(us: f64) -> u64 {
    libm::round(us * 1000.0) as u64
}

/// A test of a parameter and how the error calls it.
type Limit = (fn(f64) -> bool, &'static str);

const ABOVE_ZERO: Limit = (|x| x > 0.0, "above 0");
const ZERO_OR_MORE: Limit = (|x| x >= 0.0, "of at least 0");

fn required(object: &Object<'_>, key: &str, limit: Limit) -> Result<f64, WorkloadError> {
    number(object, key, limit)?.ok_or_else(|| {
        let message = format!("this distribution needs {key:?}");
        object.scope.error(object.at, message)
    })
}

fn number(object: &Object<'_>, key: &str, limit: Limit) -> Result<Option<f64>, WorkloadError> {
    let Some(member) = object.get(key)? else {
        return Ok(None);
    };
    let x = match member.node.value {
        Value::Int(i) => i as f64,
        Value::Float(x) => x,
        _ => f64::NAN,
    };
    let (fits, wanted) = limit;
    if fits(x) && x <= MAX_US as f64 {
        return Ok(Some(x));
    }
    let wanted = format!("a number {wanted} and at most {MAX_US}");
    Err(object.scope.mismatch(member, wanted))
}
