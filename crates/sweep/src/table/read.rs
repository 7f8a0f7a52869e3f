// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a dataset.

use super::column::{Cell, Kind, AFTER, BEFORE};
use super::parquet::SCHEMA;
use super::{key_of, Row, Table, OF_MACHINE, OF_SET, OF_WORKLOAD};
use crate::value::Value;
use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use rota_trace::guarded;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Why a file is no dataset of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetError(String);

impl fmt::Display for DatasetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DatasetError {}

impl From<ParquetError> for DatasetError {
    fn from(error: ParquetError) -> Self {
        Self(format!("no whole Parquet file: {error}"))
    }
}

/// Reads all rows.
///
/// # Errors
///
/// If it is no Parquet file, or not one of `rota sweep`.
pub fn read<R: ChunkReader + 'static>(input: R) -> Result<Table, DatasetError> {
    let file = guarded(|| SerializedFileReader::new(input))?;
    let about = file.metadata().file_metadata();
    let said = about.key_value_metadata().into_iter().flatten();
    let schema = said.filter(|pair| pair.key == "schema").find_map(|pair| pair.value.clone());
    if schema.as_deref() != Some(SCHEMA) {
        let found = schema.map_or_else(|| "none".into(), |schema| format!("\"{schema}\""));
        let what = format!("schema {found}: expected \"{SCHEMA}\", as rota sweep writes");
        return Err(DatasetError(what));
    }
    let mut columns: Vec<String> = Vec::new();
    for column in about.schema_descr().columns() {
        let name = column.name().to_owned();
        let kind = match column.physical_type() {
            Physical::BYTE_ARRAY => Some(Kind::Text),
            Physical::BOOLEAN => Some(Kind::Flag),
            Physical::INT64 => Some(Kind::Int),
            Physical::DOUBLE => Some(Kind::Float),
            _ => None,
        };
        let is_flat = column.max_def_level() <= 1 && column.max_rep_level() == 0;
        let kind = kind.filter(|kind| is_flat && fits(&name, *kind));
        let wrong = || DatasetError(format!("column \"{name}\": expected those of rota sweep"));
        kind.ok_or_else(wrong)?;
        columns.push(name);
    }
    for (name, _) in BEFORE.iter().chain(&AFTER) {
        if columns.iter().filter(|column| column == name).count() != 1 {
            return Err(DatasetError(format!("column \"{name}\": expected it once")));
        }
    }
    let keyed = |name: String| (name.clone(), key_of(&name));
    let columns: Vec<(String, Cow<'static, str>)> = columns.into_iter().map(keyed).collect();
    let mut rows = Vec::new();
    for group in 0..file.num_row_groups() {
        let cells = guarded(|| {
            let reader = file.get_row_group(group)?;
            let count = usize::try_from(reader.metadata().num_rows()).unwrap_or(0);
            let column = |at| cells(reader.get_column_reader(at)?, count);
            (0..columns.len()).map(column).collect::<Result<Vec<_>, _>>()
        })?;
        let count = cells.first().map_or(0, Vec::len);
        if cells.iter().any(|column| column.len() != count) {
            return Err(DatasetError("columns of different lengths in a group of rows".into()));
        }
        let mut cells: Vec<_> = cells.into_iter().map(Vec::into_iter).collect();
        for _ in 0..count {
            let next = cells.iter_mut().map(|column| column.next().unwrap_or(Cell::None));
            rows.push(row(&columns, next)?);
        }
    }
    Ok(Table::new(rows))
}

fn is_axis(name: &str) -> bool {
    [OF_WORKLOAD, OF_MACHINE, OF_SET].iter().any(|kind| name.starts_with(kind))
}

/// Whether a column of this name can have this type.
fn fits(name: &str, kind: Kind) -> bool {
    match BEFORE.iter().chain(&AFTER).find(|(known, _)| *known == name) {
        Some((_, own)) => *own == kind,
        None => kind == Kind::Float || is_axis(name) && kind != Kind::Flag,
    }
}

/// A row; `columns`: names, and what each is the key of if it is a metric's.
fn row(
    columns: &[(String, Cow<'static, str>)],
    cells: impl Iterator<Item = Cell>,
) -> Result<Row, DatasetError> {
    let (mut texts, mut numbers) = (BTreeMap::new(), BTreeMap::new());
    let (mut axes, mut metrics, mut ejected) = (BTreeMap::new(), BTreeMap::new(), None);
    for ((name, key), cell) in columns.iter().zip(cells) {
        let name = name.as_str();
        match cell {
            Cell::None => {}
            Cell::Float(number) if !number.is_finite() => {
                return Err(DatasetError(format!("column \"{name}\": expected finite numbers")));
            }
            Cell::Text(text) if is_axis(name) => drop(axes.insert(name.into(), Value::Text(text))),
            Cell::Int(number) if is_axis(name) => {
                axes.insert(name.into(), Value::Int(number));
            }
            Cell::Float(number) if is_axis(name) => {
                axes.insert(name.into(), Value::Float(number));
            }
            Cell::Text(text) => drop(texts.insert(name, text)),
            Cell::Int(number) => drop(numbers.insert(name, number)),
            Cell::Flag(flag) => ejected = Some(flag),
            Cell::Float(number) => drop(metrics.insert(key.clone(), number)),
        }
    }
    let missing = |name: &str| DatasetError(format!("column \"{name}\": a row has no value"));
    let mut text = |name| texts.remove(name).ok_or_else(|| missing(name));
    let number = |name| numbers.get(name).copied().ok_or_else(|| missing(name));
    Ok(Row {
        run: text("run")?,
        rota: text("rota")?,
        workload: text("workload")?,
        policy: text("policy")?,
        axes,
        cpus: u32::try_from(number("cpus")?)
            .map_err(|_| DatasetError("column \"cpus\": expected numbers of CPUs".into()))?,
        seed: number("seed")? as u64,
        duration_ns: number("duration_ns")? as u64,
        end_ns: number("end_ns")? as u64,
        exit: text("exit")?,
        ejected: ejected.ok_or_else(|| missing("ejected"))?,
        metrics,
    })
}

fn cells(reader: ColumnReader, count: usize) -> Result<Vec<Cell>, ParquetError> {
    match reader {
        ColumnReader::ByteArrayColumnReader(reader) => {
            let text =
                |bytes: parquet::data_type::ByteArray| Ok(Cell::Text(bytes.as_utf8()?.to_owned()));
            values(reader, count, text)
        }
        ColumnReader::BoolColumnReader(reader) => values(reader, count, |v| Ok(Cell::Flag(v))),
        ColumnReader::Int64ColumnReader(reader) => values(reader, count, |v| Ok(Cell::Int(v))),
        ColumnReader::DoubleColumnReader(reader) => values(reader, count, |v| Ok(Cell::Float(v))),
        _ => Err(ParquetError::General("a column of another type".into())),
    }
}

fn values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    count: usize,
    cell: impl Fn(T::T) -> Result<Cell, ParquetError>,
) -> Result<Vec<Cell>, ParquetError> {
    let mut cells = Vec::new();
    while cells.len() < count {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let most = (count - cells.len()).min(4096);
        let (rows, ..) = reader.read_records(most, Some(&mut levels), None, &mut values)?;
        if rows == 0 {
            break;
        }
        let mut values = values.into_iter();
        // A column in which every row has a value has no levels.
        let has = |row: usize| levels.get(row).is_none_or(|level| *level == 1);
        for row in 0..rows {
            let value = if has(row) { values.next() } else { None };
            cells.push(value.map_or(Ok(Cell::None), &cell)?);
        }
    }
    Ok(cells)
}
