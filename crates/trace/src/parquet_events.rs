// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the events that [`crate::ParquetSink`] wrote, some thousand rows at a time.

use crate::event::Event;
use crate::fields::Form;
use crate::kind::Field;
use crate::parquet::guard::guarded;
use crate::parquet::SCHEMA;
use crate::read::{event, Said};
use ::parquet::basic::Type;
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use std::fmt;

/// Rows that are read at a time.
const BATCH: usize = 4096;

/// A row that is no event, or a file that has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParquetEventsError {
    /// The row, counted from 1; 0: the whole file.
    pub row: u64,
    /// What it says, and what was expected.
    pub what: String,
}

impl fmt::Display for ParquetEventsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row {
            0 => f.write_str(&self.what),
            row => write!(f, "row {row}: {}", self.what),
        }
    }
}

impl std::error::Error for ParquetEventsError {}

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Time,
    Cpu,
    Event,
    Pid,
    Task,
    Of(Field),
}

impl Meaning {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "time_ns" => Self::Time,
            "cpu" => Self::Cpu,
            "event" => Self::Event,
            "pid" => Self::Pid,
            "task" => Self::Task,
            name => Self::Of(*Field::ALL.iter().find(|field| field.name() == name)?),
        })
    }

    fn physical(self) -> Type {
        match self {
            Self::Time => Type::INT64,
            Self::Cpu | Self::Pid => Type::INT32,
            Self::Event | Self::Task => Type::BYTE_ARRAY,
            Self::Of(field) if field.form() == Form::Text => Type::BYTE_ARRAY,
            Self::Of(_) => Type::INT64,
        }
    }
}

/// The events of a file, one by one. Instances of a workload's task are tasks of no workload: no
/// file has what they are instances of.
pub struct ParquetEvents<R: ChunkReader> {
    file: SerializedFileReader<R>,
    meanings: Vec<Meaning>,
    /// The group of rows that comes next.
    group: usize,
    columns: Vec<Cells>,
    /// Rows of the batch that are left, and rows that were given.
    left: usize,
    given: u64,
    said: Said,
    is_broken: bool,
}

impl<R: ChunkReader + 'static> ParquetEvents<R> {
    /// Reads from here.
    ///
    /// # Errors
    ///
    /// If it is no Parquet file, or not one of Rota.
    pub fn new(input: R) -> Result<Self, ParquetEventsError> {
        let file = guarded(|| SerializedFileReader::new(input)).map_err(|error| of_file(&error))?;
        let whole = |what: String| ParquetEventsError { row: 0, what };
        let about = file.metadata().file_metadata();
        let said = about.key_value_metadata().into_iter().flatten();
        let schema = said.filter(|pair| pair.key == "schema").find_map(|pair| pair.value.clone());
        if schema.as_deref() != Some(SCHEMA) {
            let found = schema.map_or_else(|| "none".into(), |schema| format!("\"{schema}\""));
            return Err(whole(format!("schema {found}: expected \"{SCHEMA}\", as Rota writes")));
        }
        let mut meanings = Vec::new();
        for column in about.schema_descr().columns() {
            let name = column.name();
            let meaning = Meaning::of(name).filter(|meaning| {
                meaning.physical() == column.physical_type()
                    && column.max_def_level() <= 1
                    && column.max_rep_level() == 0
                    && !meanings.contains(meaning)
            });
            let wrong = || whole(format!("column \"{name}\": expected those that Rota writes"));
            meanings.push(meaning.ok_or_else(wrong)?);
        }
        for needed in [Meaning::Time, Meaning::Event] {
            if !meanings.contains(&needed) {
                return Err(whole("no column time_ns or event: expected both".into()));
            }
        }
        let (columns, said) = (Vec::new(), Said::default());
        Ok(Self { file, meanings, group: 0, columns, left: 0, given: 0, said, is_broken: false })
    }

    /// Has the next batch, if there is one.
    fn fill(&mut self) -> Result<bool, ParquetError> {
        while self.left == 0 {
            for (at, column) in self.columns.iter_mut().enumerate() {
                let rows = column.fill()?;
                if at > 0 && rows != self.left {
                    let what = "columns of different lengths in a group of rows";
                    return Err(ParquetError::General(what.into()));
                }
                self.left = rows;
            }
            if self.left > 0 {
                break;
            }
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.group)?;
            self.group += 1;
            self.columns.clear();
            for at in 0..self.meanings.len() {
                self.columns.push(Cells::new(group.get_column_reader(at)?)?);
            }
        }
        Ok(true)
    }

    fn row(&mut self) -> Result<Event, String> {
        let (mut time_ns, mut cpu, mut pid) = (None, None, None);
        let (mut name, mut task) = (None, None);
        self.said.clear();
        let mut wrong = None;
        for (meaning, column) in self.meanings.iter().zip(&mut self.columns) {
            match (*meaning, column.next()) {
                (_, Cell::None) => {}
                (Meaning::Time, Cell::Long(n)) => time_ns = Some(n as u64),
                (Meaning::Cpu, Cell::Small(n)) => cpu = Some(n as u32),
                (Meaning::Pid, Cell::Small(n)) => pid = Some(n as u32),
                (Meaning::Event, Cell::Text(bytes)) => name = Some(bytes),
                (Meaning::Task, Cell::Text(bytes)) => task = Some(bytes),
                (Meaning::Of(field), Cell::Long(n)) if field.form() == Form::Signed => {
                    self.said.push(field, n.to_string());
                }
                // The format has no unsigned numbers; the schema says that these are.
                (Meaning::Of(field), Cell::Long(n)) => {
                    self.said.push(field, (n as u64).to_string());
                }
                (Meaning::Of(field), Cell::Text(bytes)) => match bytes.as_utf8() {
                    Ok(text) => self.said.push(field, text.to_owned()),
                    Err(_) => wrong = Some(field.name()),
                },
                (meaning, _) => {
                    wrong = Some(if let Meaning::Of(of) = meaning { of.name() } else { "event" })
                }
            }
        }
        if let Some(column) = wrong {
            return Err(format!("{column}: expected text"));
        }
        let text = |bytes: &Option<ByteArray>, column: &str| match bytes {
            None => Ok(String::new()),
            Some(bytes) => {
                let text = bytes.as_utf8().map_err(|_| format!("{column}: expected text"));
                text.map(str::to_owned)
            }
        };
        let (name, task) = (text(&name, "event")?, text(&task, "task")?);
        let time_ns = time_ns.ok_or("no time_ns")?;
        event((time_ns, cpu), &name, pid, &task, &self.said)
    }
}

impl<R: ChunkReader + 'static> Iterator for ParquetEvents<R> {
    type Item = Result<Event, ParquetEventsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_broken {
            return None;
        }
        match guarded(|| self.fill()) {
            Err(error) => {
                self.is_broken = true;
                return Some(Err(of_file(&error)));
            }
            Ok(false) => return None,
            Ok(true) => {}
        }
        self.left -= 1;
        self.given += 1;
        let row = self.given;
        Some(self.row().map_err(|what| ParquetEventsError { row, what }))
    }
}

fn of_file(error: &ParquetError) -> ParquetEventsError {
    ParquetEventsError { row: 0, what: format!("no whole Parquet file: {error}") }
}

/// A value of a row.
enum Cell {
    None,
    Small(i32),
    Long(i64),
    Text(ByteArray),
}

/// A column of the group that is read.
enum Cells {
    Small(Values<Int32Type>),
    Long(Values<Int64Type>),
    Text(Values<ByteArrayType>),
}

impl Cells {
    fn new(reader: ColumnReader) -> Result<Self, ParquetError> {
        Ok(match reader {
            ColumnReader::Int32ColumnReader(reader) => Self::Small(Values::new(reader)),
            ColumnReader::Int64ColumnReader(reader) => Self::Long(Values::new(reader)),
            ColumnReader::ByteArrayColumnReader(reader) => Self::Text(Values::new(reader)),
            _ => return Err(ParquetError::General("a column of another type".into())),
        })
    }

    fn fill(&mut self) -> Result<usize, ParquetError> {
        match self {
            Self::Small(values) => values.fill(),
            Self::Long(values) => values.fill(),
            Self::Text(values) => values.fill(),
        }
    }

    fn next(&mut self) -> Cell {
        match self {
            Self::Small(values) => values.next().map_or(Cell::None, Cell::Small),
            Self::Long(values) => values.next().map_or(Cell::None, Cell::Long),
            Self::Text(values) => values.next().map_or(Cell::None, Cell::Text),
        }
    }
}

/// Values of a batch.
struct Values<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: std::vec::IntoIter<T::T>,
    /// For each row 1 if it has a value; none: every row has one.
    levels: std::vec::IntoIter<i16>,
    optional: bool,
}

impl<T: DataType> Values<T> {
    fn new(reader: ColumnReaderImpl<T>) -> Self {
        let (values, levels) = (Vec::new().into_iter(), Vec::new().into_iter());
        Self { reader, values, levels, optional: false }
    }

    fn fill(&mut self) -> Result<usize, ParquetError> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let (rows, ..) = self.reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
        self.optional = !levels.is_empty();
        (self.values, self.levels) = (values.into_iter(), levels.into_iter());
        Ok(rows)
    }

    fn next(&mut self) -> Option<T::T> {
        if self.optional && self.levels.next() != Some(1) {
            return None;
        }
        self.values.next()
    }
}

#[cfg(test)]
#[path = "parquet_events_tests.rs"]
mod tests;
