// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times in scenario files: `"5s"`, `"250ms"`.

use rota_workload::parse_duration;
use serde::{de, Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;

/// A length of time, written as a number and a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(Duration);

impl Span {
    /// So many milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span(Duration::from_millis(ms))
    }

    /// As the standard library's type.
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        let text = String::deserialize(deserializer)?;
        match parse_duration(&text) {
            Ok(ns) => Ok(Span(Duration::from_nanos(ns))),
            Err(error) => Err(de::Error::custom(error)),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}ns", self.0.as_nanos()))
    }
}
