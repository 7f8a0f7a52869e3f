// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of a TOML file in which everything keeps its place. An error names file, line, key and
//! value, and what was expected.

use rota_session::{nearest, Error};
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// A value, and where it is.
pub(super) type At<'a> = Spanned<DeValue<'a>>;

/// The file that is read.
#[derive(Clone, Copy)]
pub(super) struct Document<'a> {
    pub(super) file: &'a Path,
    pub(super) text: &'a str,
}

impl Document<'_> {
    pub(super) fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }

    pub(super) fn error(&self, at: &Range<usize>, why: impl std::fmt::Display) -> Error {
        Error::input(format!("{}:{}: {why}", self.file.display(), self.line(at.start)))
    }

    /// What the file says there, in short.
    pub(super) fn at(&self, value: &At<'_>) -> String {
        let text = self.text.get(value.span()).unwrap_or_default();
        let mut shown: String = text.chars().take(60).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        shown.replace('\n', " ")
    }

    /// `file:3: key = value: expected …`.
    pub(super) fn refuse(&self, key: &str, value: &At<'_>, expected: &str) -> Error {
        self.refuse_as(key, value, &format!("expected {expected}"))
    }

    /// The same with a whole sentence.
    pub(super) fn refuse_as(&self, key: &str, value: &At<'_>, why: &str) -> Error {
        self.error(&value.span(), format!("{key} = {}: {why}", self.at(value)))
    }

    /// The file as a table.
    pub(super) fn parse(&self) -> Result<DeTable<'_>, Error> {
        let parsed = DeTable::parse(self.text);
        parsed.map(Spanned::into_inner).map_err(|error| {
            let at = error.span().unwrap_or(0..0);
            self.error(&at, error.message().trim_end())
        })
    }

    pub(super) fn whole(&self, key: &str, value: &At<'_>, least: i64) -> Result<i64, Error> {
        let number = integer(value.get_ref()).filter(|number| *number >= least);
        let expected = match least {
            i64::MIN => "a whole number".to_owned(),
            least => format!("a whole number, {least} or more"),
        };
        number.ok_or_else(|| self.refuse(key, value, &expected))
    }

    pub(super) fn text<'v>(
        &self,
        key: &str,
        value: &'v At<'_>,
        expected: &str,
    ) -> Result<&'v str, Error> {
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self.refuse(key, value, expected)),
        }
    }

    pub(super) fn flag(&self, key: &str, value: &At<'_>) -> Result<bool, Error> {
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.refuse(key, value, "true or false")),
        }
    }

    pub(super) fn table<'v, 'a>(
        &self,
        key: &str,
        value: &'v At<'a>,
    ) -> Result<&'v DeTable<'a>, Error> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.refuse(key, value, &format!("a table, [{key}]"))),
        }
    }

    /// A list, or one text in place of a list of one.
    pub(super) fn texts<'v, 'a>(
        &self,
        key: &str,
        value: &'v At<'a>,
        expected: &str,
    ) -> Result<Vec<(&'v str, &'v At<'a>)>, Error> {
        match value.get_ref() {
            DeValue::Array(items) if !items.is_empty() => {
                items.iter().map(|item| Ok((self.text(key, item, expected)?, item))).collect()
            }
            DeValue::String(_) => Ok(vec![(self.text(key, value, expected)?, value)]),
            _ => Err(self.refuse(key, value, &format!("a list of {expected}"))),
        }
    }

    /// Refuses keys that are none of these.
    pub(super) fn only(
        &self,
        table: &DeTable<'_>,
        place: &str,
        known: &[&str],
    ) -> Result<(), Error> {
        let unknown = table.keys().find(|key| !known.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown else { return Ok(()) };
        let name = key.get_ref();
        let (hint, known) = (nearest::hint(name, known), known.join(", "));
        let place = if place.is_empty() { String::new() } else { format!(" of [{place}]") };
        let why = format!("unknown key {name}{place}{hint}, expected one of {known}");
        Err(self.error(&key.span(), why))
    }
}

pub(super) fn integer(value: &DeValue<'_>) -> Option<i64> {
    let DeValue::Integer(integer) = value else { return None };
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A finite number.
pub(super) fn number(value: &DeValue<'_>) -> Option<f64> {
    let number = match value {
        DeValue::Float(float) => float.as_str().parse().ok(),
        other => integer(other).map(|integer| integer as f64),
    };
    number.filter(|number: &f64| number.is_finite())
}
