// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event stream as a Parquet file: one row per event, one column per field.
//!
//! Rows are gathered column by column and written a group at a time, so memory does not grow
//! with the run (but for an entry in the file's footer for each group, and a name per task).

mod column;
pub(crate) mod guard;

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::Type::{BYTE_ARRAY, INT32, INT64};
use ::parquet::basic::{Compression, LogicalType, Repetition};
use ::parquet::data_type::{ByteArrayType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use rustc_hash::FxHashMap;

use self::column::{text, Column, Texts};
use crate::event::{Event, Sink};
use crate::fields::{Form, Value};
use crate::kind::EventKind;
use crate::kind::Field;

/// Rows that are written together.
const GROUP_ROWS: usize = 1 << 16;
/// Says in the file what its columns mean.
pub(crate) const SCHEMA: &str = "rota.trace/1";

/// Writes every event as a row of a Parquet file.
pub struct ParquetSink<W: Write + Send> {
    /// `None` once an error ended the output.
    writer: Option<SerializedFileWriter<W>>,
    error: Option<io::Error>,
    names: FxHashMap<u32, String>,
    rows: Rows,
}

impl<W: Write + Send> ParquetSink<W> {
    /// Begins the output. Errors are kept for [`ParquetSink::finish`].
    pub fn new(output: W) -> Self {
        let (writer, error) = match begin(output) {
            Ok(writer) => (Some(writer), None),
            Err(error) => (None, Some(plain(error))),
        };
        ParquetSink { writer, error, names: FxHashMap::default(), rows: Rows::default() }
    }

    /// Writes what is left, and the footer; returns the output, or the first error that
    /// writing met.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_group();
        match (self.error, self.writer) {
            (None, Some(writer)) => writer.into_inner().map_err(plain),
            (error, _) => Err(error.unwrap_or_else(|| io::ErrorKind::Other.into())),
        }
    }

    fn write_group(&mut self) {
        let Some(writer) = self.writer.as_mut().filter(|_| self.rows.count > 0) else {
            return;
        };
        if let Err(error) = self.rows.write(writer) {
            self.error = Some(plain(error));
            self.writer = None;
        }
        self.rows.clear();
    }
}

impl<W: Write + Send> Sink for ParquetSink<W> {
    fn event(&mut self, event: &Event) {
        if let EventKind::Task { pid, name, .. } = &event.kind {
            self.names.insert(*pid, name.clone());
        }
        if self.writer.is_none() {
            return;
        }
        self.rows.push(event, &self.names);
        if self.rows.count == GROUP_ROWS {
            self.write_group();
        }
    }

    fn wants_detail(&self) -> bool {
        true
    }
}

/// The rows of a group, column by column.
struct Rows {
    count: usize,
    time_ns: Column<Int64Type>,
    cpu: Column<Int32Type>,
    event: Column<ByteArrayType>,
    pid: Column<Int32Type>,
    task: Column<ByteArrayType>,
    /// One for each of [`Field::ALL`].
    fields: Vec<FieldColumn>,
    texts: Texts,
}

enum FieldColumn {
    Number(Column<Int64Type>),
    Text(Column<ByteArrayType>),
}

impl Default for Rows {
    fn default() -> Self {
        let fields = Field::ALL.iter().map(|field| match field.form() {
            Form::Number | Form::Bits | Form::Signed => FieldColumn::Number(Column::default()),
            Form::Text => FieldColumn::Text(Column::default()),
        });
        Rows {
            count: 0,
            time_ns: Column::default(),
            cpu: Column::default(),
            event: Column::default(),
            pid: Column::default(),
            task: Column::default(),
            fields: fields.collect(),
            texts: Texts::default(),
        }
    }
}

impl Rows {
    fn push(&mut self, event: &Event, names: &FxHashMap<u32, String>) {
        let (row, texts) = (self.count, &mut self.texts);
        self.count += 1;
        let fields = &mut self.fields;
        let (name, pid) = event.describe(|field, value| {
            // The format has no unsigned numbers; the schema says that these are.
            match (&mut fields[field as usize], value) {
                (FieldColumn::Number(column), Value::Number(n)) => column.put(row, n as i64),
                (FieldColumn::Number(column), Value::Signed(n)) => column.put(row, n),
                (FieldColumn::Text(column), Value::Text(t)) => column.put(row, text(texts, t)),
                (FieldColumn::Number(_), Value::Text(_))
                | (FieldColumn::Text(_), Value::Number(_) | Value::Signed(_)) => {
                    debug_assert!(false, "{field:?} is not of its form");
                }
            }
        });
        self.time_ns.put(row, event.time_ns as i64);
        self.event.put(row, text(texts, name));
        if let Some(cpu) = event.cpu {
            self.cpu.put(row, cpu as i32);
        }
        if let Some(pid) = pid {
            self.pid.put(row, pid as i32);
            if let Some(name) = names.get(&pid) {
                self.task.put(row, text(texts, name));
            }
        }
    }

    fn write<W: Write + Send>(
        &mut self,
        writer: &mut SerializedFileWriter<W>,
    ) -> Result<(), ParquetError> {
        let mut group = writer.next_row_group()?;
        let rows = self.count;
        self.time_ns.write_required(&mut group)?;
        self.cpu.write_optional(rows, &mut group)?;
        self.event.write_required(&mut group)?;
        self.pid.write_optional(rows, &mut group)?;
        self.task.write_optional(rows, &mut group)?;
        for column in &mut self.fields {
            match column {
                FieldColumn::Number(column) => column.write_optional(rows, &mut group)?,
                FieldColumn::Text(column) => column.write_optional(rows, &mut group)?,
            }
        }
        group.close().map(drop)
    }

    fn clear(&mut self) {
        self.count = 0;
        self.texts.clear();
        self.time_ns.clear();
        self.cpu.clear();
        self.event.clear();
        self.pid.clear();
        self.task.clear();
        for column in &mut self.fields {
            match column {
                FieldColumn::Number(column) => column.clear(),
                FieldColumn::Text(column) => column.clear(),
            }
        }
    }
}

fn begin<W: Write + Send>(output: W) -> Result<SerializedFileWriter<W>, ParquetError> {
    let schema = KeyValue::new("schema".to_owned(), SCHEMA.to_owned());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![schema]))
        .set_created_by(concat!("rota ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    SerializedFileWriter::new(output, Arc::new(columns()?), Arc::new(properties))
}

/// The schema, in the order in which [`Rows::write`] writes the columns.
fn columns() -> Result<Type, ParquetError> {
    const REQUIRED: Repetition = Repetition::REQUIRED;
    const OPTIONAL: Repetition = Repetition::OPTIONAL;
    let integer = |bit_width, is_signed| LogicalType::Integer { bit_width, is_signed };
    let column = |name, physical, logical, repetition| {
        Type::primitive_type_builder(name, physical)
            .with_logical_type(Some(logical))
            .with_repetition(repetition)
            .build()
            .map(Arc::new)
    };
    let mut columns = vec![
        column("time_ns", INT64, integer(64, false), REQUIRED)?,
        column("cpu", INT32, integer(32, false), OPTIONAL)?,
        column("event", BYTE_ARRAY, LogicalType::String, REQUIRED)?,
        column("pid", INT32, integer(32, false), OPTIONAL)?,
        column("task", BYTE_ARRAY, LogicalType::String, OPTIONAL)?,
    ];
    for field in Field::ALL {
        columns.push(match field.form() {
            Form::Number | Form::Bits => column(field.name(), INT64, integer(64, false), OPTIONAL)?,
            Form::Signed => column(field.name(), INT64, integer(64, true), OPTIONAL)?,
            Form::Text => column(field.name(), BYTE_ARRAY, LogicalType::String, OPTIONAL)?,
        });
    }
    Type::group_type_builder("events").with_fields(columns).build()
}

/// The error that the output met, where it is one of those.
fn plain(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
    }
}

#[cfg(test)]
#[path = "parquet_tests.rs"]
mod tests;
