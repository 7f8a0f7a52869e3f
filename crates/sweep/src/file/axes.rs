// SPDX-License-Identifier: MIT OR Apache-2.0
//! Axes: `key = [1, 2, 5]`, or `key = { from = 1, to = 100, steps = 5, scale = "log" }`.

use super::document::{integer, number, At, Document};
use crate::axis::{Axis, Range, Values};
use crate::value::Value;
use rota_session::Error;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// Keys of a range.
const KEYS: [&str; 5] = ["from", "to", "steps", "step", "scale"];
/// Most values of an axis.
const MOST: usize = 1_000_000;

/// The axes of a table; tables in it are parts of paths.
pub(super) fn axes(
    doc: &Document<'_>,
    place: &str,
    table: &DeTable<'_>,
    drawn: bool,
) -> Result<Vec<Axis>, Error> {
    let mut found = Vec::new();
    below(doc, (place, ""), table, drawn, &mut found)?;
    for (at, (axis, span)) in found.iter().enumerate() {
        if found[..at].iter().any(|(other, _)| other.name == axis.name) {
            let why = format!("[{place}] {} is there twice, expected it once", axis.name);
            return Err(doc.error(span, why));
        }
    }
    Ok(found.into_iter().map(|(axis, _)| axis).collect())
}

fn below(
    doc: &Document<'_>,
    (place, above): (&str, &str),
    table: &DeTable<'_>,
    drawn: bool,
    found: &mut Vec<(Axis, std::ops::Range<usize>)>,
) -> Result<(), Error> {
    for (key, value) in table.iter() {
        let name = match above.is_empty() {
            true => key.get_ref().to_string(),
            false => format!("{above}.{}", key.get_ref()),
        };
        match value.get_ref() {
            DeValue::Table(inner) if !is_range(inner) => {
                if inner.is_empty() {
                    return Err(doc.refuse(&name, value, EXPECTED));
                }
                below(doc, (place, &name), inner, drawn, found)?;
            }
            _ => {
                let values = values(doc, &name, value, drawn)?;
                let line = doc.line(key.span().start);
                found.push((Axis { name, line, values }, key.span()));
            }
        }
    }
    Ok(())
}

const EXPECTED: &str = "a list of values, or a range as { from = 1, to = 100, steps = 5 }";

/// Whether a table is a range: then it has no other tables, and one of the keys at least.
fn is_range(table: &DeTable<'_>) -> bool {
    let is_plain =
        table.values().all(|v| !matches!(v.get_ref(), DeValue::Table(_) | DeValue::Array(_)));
    is_plain && table.keys().any(|key| KEYS.contains(&key.get_ref().as_ref()))
}

fn values(doc: &Document<'_>, name: &str, value: &At<'_>, drawn: bool) -> Result<Values, Error> {
    match value.get_ref() {
        DeValue::Array(items) if !items.is_empty() => {
            let mut list: Vec<Value> = Vec::new();
            let mut known: BTreeMap<String, usize> = BTreeMap::new();
            for (at, item) in items.iter().enumerate() {
                let one = single(item.get_ref()).ok_or_else(|| {
                    doc.refuse(name, item, "a number, a text as \"5ms\", true or false")
                })?;
                if let Some(same) = known.insert(one.key(), at) {
                    let other = doc.at(&items[same]);
                    let place = match same + 1 == at {
                        true => "before it".to_owned(),
                        false => format!("{} places before it", at - same),
                    };
                    let why = format!("the same value as {other}, {place}: expected each once");
                    return Err(doc.refuse_as(name, item, &why));
                }
                list.push(one);
            }
            Ok(Values::List(list))
        }
        DeValue::Table(table) => range(doc, name, (table, value), drawn),
        _ => match single(value.get_ref()) {
            Some(one) => Ok(Values::List(vec![one])),
            None => Err(doc.refuse(name, value, EXPECTED)),
        },
    }
}

fn single(value: &DeValue<'_>) -> Option<Value> {
    match value {
        DeValue::String(text) => Some(Value::Text(text.to_string())),
        DeValue::Boolean(flag) => Some(Value::Bool(*flag)),
        DeValue::Integer(_) => integer(value).map(Value::Int),
        DeValue::Float(_) => number(value).map(Value::Float),
        _ => None,
    }
}

fn range(
    doc: &Document<'_>,
    name: &str,
    (table, whole): (&DeTable<'_>, &At<'_>),
    drawn: bool,
) -> Result<Values, Error> {
    let place = format!("{name} = {{…}}");
    doc.only(table, &place, &KEYS)?;
    let end = |key: &str| match table.get(key) {
        Some(at) => match number(at.get_ref()) {
            Some(number) => Ok((number, integer(at.get_ref()).is_some(), at)),
            None => Err(doc.refuse(&format!("{name}.{key}"), at, "a number")),
        },
        None => Err(doc.refuse(name, whole, "a range with from and to")),
    };
    let ((from, from_whole, at), (to, to_whole, to_at)) = (end("from")?, end("to")?);
    if !(to - from).is_finite() {
        return Err(doc.refuse(name, whole, "a range that is less wide"));
    }
    if from >= to {
        return Err(doc.refuse(&format!("{name}.to"), to_at, &format!("more than from, {from}")));
    }
    let log = match table.get("scale") {
        None => false,
        Some(scale) => match scale.get_ref() {
            DeValue::String(text) if text == "log" => true,
            DeValue::String(text) if text == "linear" => false,
            _ => return Err(doc.refuse(&format!("{name}.scale"), scale, "\"linear\" or \"log\"")),
        },
    };
    if log && from <= 0.0 {
        let expected = "more than 0, as the scale is \"log\"";
        return Err(doc.refuse(&format!("{name}.from"), at, expected));
    }
    let mut range = Range { from, to, log, whole: from_whole && to_whole };
    match (table.get("steps"), table.get("step")) {
        (Some(_), Some(step)) => {
            Err(doc.refuse(&format!("{name}.step"), step, "either steps or step, not both"))
        }
        (Some(steps), None) => {
            let key = format!("{name}.steps");
            let count = doc.whole(&key, steps, 2)?;
            match usize::try_from(count).ok().filter(|count| *count <= MOST) {
                Some(count) => Ok(Values::List(range.steps(count))),
                None => Err(doc.refuse(&key, steps, &format!("at most {MOST}"))),
            }
        }
        (None, Some(step)) => {
            let key = format!("{name}.step");
            if log {
                return Err(doc.refuse(&key, step, "steps, as the scale is \"log\""));
            }
            let by = number(step.get_ref()).filter(|by| *by > 0.0);
            let by = by.ok_or_else(|| doc.refuse(&key, step, "a number above 0"))?;
            if (to - from) / by > MOST as f64 {
                return Err(doc.refuse(&key, step, &format!("at most {MOST} steps")));
            }
            range.whole &= integer(step.get_ref()).is_some();
            let values = range.every(by);
            if let Some(two) = values.windows(2).find(|two| two[0].key() == two[1].key()) {
                let expected =
                    format!("a larger step: values have six digits, so two of them are {}", two[0]);
                return Err(doc.refuse(&key, step, &expected));
            }
            Ok(Values::List(values))
        }
        (None, None) if drawn => Ok(Values::Range(range)),
        (None, None) => Err(doc.refuse(name, whole, "steps or step in it, as method is \"grid\"")),
    }
}
