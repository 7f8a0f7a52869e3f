// SPDX-License-Identifier: MIT OR Apache-2.0
//! A column of a dataset, and its type.

use super::{column_of, key_of, Row, Table};
use crate::value::Value;
use parquet::basic::Type as Physical;
use parquet::basic::{LogicalType, Repetition};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};
use rota_measure::catalogue;
use std::sync::Arc;

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Flag,
    Int,
    Float,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    None,
    Text(String),
    Flag(bool),
    Int(i64),
    Float(f64),
}

/// A column to write.
pub(super) struct Column<'a> {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Every row has a value.
    pub(super) required: bool,
    pub(super) of: Box<dyn Fn(&Row) -> Cell + 'a>,
}

const SEED: &str = "seed";

/// Columns that every dataset has, before and after those of the axes.
pub(super) const BEFORE: [(&str, Kind); 4] =
    [("run", Kind::Text), ("rota", Kind::Text), ("workload", Kind::Text), ("policy", Kind::Text)];
pub(super) const AFTER: [(&str, Kind); 6] = [
    ("cpus", Kind::Int),
    (SEED, Kind::Int),
    ("duration_ns", Kind::Int),
    ("end_ns", Kind::Int),
    ("exit", Kind::Text),
    ("ejected", Kind::Flag),
];

/// A column of a table, with all its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// Its name.
    pub name: String,
    /// Of a metric, in what it is counted.
    pub unit: Option<&'static str>,
    /// A cell for each row.
    pub cells: Cells,
}

/// Cells of a type; `None`: there is no value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Flags.
    Flag(Vec<Option<bool>>),
    /// Signed numbers.
    Int(Vec<Option<i64>>),
    /// Seeds, which use all 64 bits.
    Seed(Vec<Option<u64>>),
    /// Numbers.
    Float(Vec<Option<f64>>),
}

impl Table {
    /// What its file has, column by column.
    pub fn columns(&self) -> Vec<Filled> {
        Column::all(self).into_iter().map(|column| column.filled(self.rows())).collect()
    }
}

impl Column<'_> {
    fn filled(self, rows: &[Row]) -> Filled {
        fn all<T>(of: &Column<'_>, rows: &[Row], one: fn(Cell) -> Option<T>) -> Vec<Option<T>> {
            rows.iter().map(|row| one((of.of)(row))).collect()
        }
        let int = |cell| match cell {
            Cell::Int(number) => Some(number),
            _ => None,
        };
        let cells = match self.kind {
            Kind::Text => Cells::Text(all(&self, rows, |cell| match cell {
                Cell::Text(text) => Some(text),
                _ => None,
            })),
            Kind::Flag => Cells::Flag(all(&self, rows, |cell| match cell {
                Cell::Flag(flag) => Some(flag),
                _ => None,
            })),
            Kind::Int if self.name == SEED => {
                let seeds = all(&self, rows, int).into_iter();
                Cells::Seed(seeds.map(|seed| seed.map(|seed| seed as u64)).collect())
            }
            Kind::Int => Cells::Int(all(&self, rows, int)),
            Kind::Float => Cells::Float(all(&self, rows, |cell| match cell {
                Cell::Float(number) => Some(number),
                _ => None,
            })),
        };
        let metric = catalogue::find(&key_of(&self.name));
        Filled { unit: metric.map(|metric| metric.unit.name()), name: self.name, cells }
    }

    /// All columns of a table.
    pub(super) fn all(table: &Table) -> Vec<Column<'_>> {
        let fixed = |of: &[(&'static str, Kind)]| {
            let column = |(name, kind): &(&'static str, Kind)| {
                let (name, kind) = (*name, *kind);
                let of = Box::new(move |row: &Row| fixed(row, name));
                Column { name: name.to_owned(), kind, required: true, of }
            };
            of.iter().map(column).collect::<Vec<_>>()
        };
        let mut columns = fixed(&BEFORE);
        for name in table.axes() {
            let kind = kind_of(table.rows().iter().filter_map(|row| row.axes.get(name)));
            let of = Box::new(move |row: &Row| {
                row.axes.get(name).map_or(Cell::None, |value| cell(value, kind))
            });
            columns.push(Column { name: name.to_owned(), kind, required: false, of });
        }
        columns.extend(fixed(&AFTER));
        for key in table.metrics() {
            let of = Box::new(move |row: &Row| {
                row.metrics.get(key).map_or(Cell::None, |value| Cell::Float(*value))
            });
            let name = column_of(key);
            columns.push(Column { name, kind: Kind::Float, required: false, of });
        }
        columns
    }

    /// Its description in the file.
    pub(super) fn schema(&self) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Flag => (Physical::BOOLEAN, None),
            Kind::Int => {
                // Seeds use all 64 bits.
                let is_signed = self.name != SEED;
                (Physical::INT64, Some(LogicalType::Integer { bit_width: 64, is_signed }))
            }
            Kind::Float => (Physical::DOUBLE, None),
        };
        let repetition = match self.required {
            true => Repetition::REQUIRED,
            false => Repetition::OPTIONAL,
        };
        Type::primitive_type_builder(&self.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
            .map(Arc::new)
    }
}

fn fixed(row: &Row, name: &str) -> Cell {
    match name {
        "run" => Cell::Text(row.run.clone()),
        "rota" => Cell::Text(row.rota.clone()),
        "workload" => Cell::Text(row.workload.clone()),
        "policy" => Cell::Text(row.policy.clone()),
        "cpus" => Cell::Int(row.cpus.into()),
        "seed" => Cell::Int(row.seed as i64),
        "duration_ns" => Cell::Int(row.duration_ns as i64),
        "end_ns" => Cell::Int(row.end_ns as i64),
        "exit" => Cell::Text(row.exit.clone()),
        _ => Cell::Flag(row.ejected),
    }
}

/// Numbers, if all values are some.
fn kind_of<'a>(values: impl Iterator<Item = &'a Value>) -> Kind {
    let mut kind = Kind::Int;
    for value in values {
        kind = match (value, kind) {
            (Value::Bool(_) | Value::Text(_), _) => return Kind::Text,
            (Value::Float(_), _) => Kind::Float,
            (Value::Int(_), kind) => kind,
        };
    }
    kind
}

fn cell(value: &Value, kind: Kind) -> Cell {
    match (value, kind) {
        (Value::Int(value), Kind::Int) => Cell::Int(*value),
        (value, Kind::Float) => value.number().map_or(Cell::None, Cell::Float),
        (value, _) => Cell::Text(value.to_string()),
    }
}
