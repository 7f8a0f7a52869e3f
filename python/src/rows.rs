// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of what the command line prints as JSON: a row for each object, a column for each key. A
//! key inside another one follows it: `wakeup_latency_ns_p99`.

use crate::errors::Failure;
use crate::table::{field, of, Table};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array};
use arrow_schema::DataType;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The rows of a list.
pub(crate) fn table<T: Serialize>(list: &[T]) -> PyResult<Table> {
    let failed = |error: serde_json::Error| Failure::new_err(error.to_string());
    let mut names: Vec<String> = Vec::new();
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    for item in list {
        let mut row = Map::new();
        if let Value::Object(keys) = serde_json::to_value(item).map_err(failed)? {
            flatten("", keys, &mut row);
        }
        names.extend(row.keys().filter(|key| !names.contains(key)).cloned().collect::<Vec<_>>());
        rows.push(row);
    }
    let columns = names.iter().map(|name| {
        let values: Vec<Option<&Value>> = rows.iter().map(|row| row.get(name)).collect();
        column(&values)
    });
    let columns: Vec<ArrayRef> = columns.collect();
    let unit = |name: &str| (name.ends_with("_ns") || name.contains("_ns_")).then_some("ns");
    let unit = |name: &str| {
        unit(name).filter(|_| !name.ends_with("_count") && !name.ends_with("_waiting"))
    };
    let fields = names.iter().zip(&columns);
    let fields = fields.map(|(name, column)| field(name, column.data_type().clone(), unit(name)));
    of(fields.collect(), columns)
}

fn flatten(before: &str, keys: Map<String, Value>, row: &mut Map<String, Value>) {
    for (key, value) in keys {
        let name = if before.is_empty() { key } else { format!("{before}_{key}") };
        match value {
            Value::Object(inner) => flatten(&name, inner, row),
            value => {
                row.insert(name, value);
            }
        }
    }
}

/// Of the first type that holds all values: signed numbers before unsigned ones, so that a difference
/// of two columns can be negative. Lists are their JSON.
fn column(values: &[Option<&Value>]) -> ArrayRef {
    let known: Vec<&Value> = values.iter().flatten().filter(|v| !v.is_null()).copied().collect();
    let all = |is: fn(&Value) -> bool| !known.is_empty() && known.iter().all(|value| is(value));
    let kind = match () {
        () if all(Value::is_boolean) => DataType::Boolean,
        () if all(Value::is_i64) => DataType::Int64,
        () if all(Value::is_u64) => DataType::UInt64,
        () if known.iter().all(|value| value.is_number()) => DataType::Float64,
        () => DataType::Utf8,
    };
    let values = values.iter().map(|value| value.filter(|value| !value.is_null()));
    match kind {
        DataType::Boolean => {
            Arc::new(values.map(|v| v.and_then(Value::as_bool)).collect::<BooleanArray>())
        }
        DataType::UInt64 => {
            Arc::new(values.map(|v| v.and_then(Value::as_u64)).collect::<UInt64Array>())
        }
        DataType::Int64 => {
            Arc::new(values.map(|v| v.and_then(Value::as_i64)).collect::<Int64Array>())
        }
        DataType::Float64 => {
            Arc::new(values.map(|v| v.and_then(Value::as_f64)).collect::<Float64Array>())
        }
        _ => {
            let text = |value: &Value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Arc::new(values.map(|v| v.map(text)).collect::<StringArray>())
        }
    }
}
