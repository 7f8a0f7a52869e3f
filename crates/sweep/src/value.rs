// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value of an axis.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// A value that is swept over. Floating-point ones are finite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// Anything else, as `5ms`.
    Text(String),
}

impl Value {
    /// As workload files have it.
    pub fn json(&self) -> String {
        match self {
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            other => other.to_string(),
        }
    }

    /// As machine files have it.
    pub fn toml(&self) -> toml::Value {
        match self {
            Self::Bool(value) => (*value).into(),
            Self::Int(value) => (*value).into(),
            Self::Float(value) => (*value).into(),
            Self::Text(value) => value.as_str().into(),
        }
    }

    /// As datasets have it, which know no flags, and no texts that are numbers.
    #[must_use]
    pub fn canonical(self) -> Self {
        let text = match self {
            Self::Bool(flag) => return Self::Text(flag.to_string()),
            Self::Text(text) => text,
            number => return number,
        };
        if let Some(whole) = text.parse().ok().filter(|whole: &i64| whole.to_string() == text) {
            return Self::Int(whole);
        }
        let number = text.parse().ok().filter(|x: &f64| x.is_finite() && x.to_string() == text);
        number.map_or(Self::Text(text), Self::Float)
    }

    /// The same for values with which runs are the same ones: `1`, `1.0` and `"1"` are.
    pub fn key(&self) -> String {
        match self.clone().canonical() {
            // Of zeros there is one.
            Self::Float(value) => (value + 0.0).to_string(),
            other => other.to_string(),
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }
}

/// As `--set` takes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// Numbers by their size, before texts.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Self::Int(own), Self::Int(theirs)) = (self, other) {
            return own.cmp(theirs);
        }
        match (self.number(), other.number()) {
            (Some(own), Some(theirs)) => own.total_cmp(&theirs),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.to_string().cmp(&other.to_string()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Value {}
