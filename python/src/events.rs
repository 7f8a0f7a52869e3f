// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events as the rows of a table, with the columns that Parquet and CSV have.

use crate::table::{field, Table};
use arrow_array::builder::{
    ArrayBuilder, Int64Builder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::{new_null_array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use rota_trace::row::{columns, Cell, Kind};
use rota_trace::{Event, EventKind, Sink};
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of a batch.
const ROWS: usize = 1 << 16;

/// Gathers the events of a batch. A column that no event fills takes no memory.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    names: HashMap<u32, String>,
    rows: usize,
    time_ns: UInt64Builder,
    cpu: UInt32Builder,
    event: StringBuilder,
    pid: UInt32Builder,
    task: StringBuilder,
    /// Of [`columns`], those that have a value in this batch.
    cells: Vec<Option<Column>>,
}

/// The columns of a batch.
pub(crate) struct Part {
    rows: usize,
    /// Those that every event has.
    first: Vec<ArrayRef>,
    /// Of [`columns`]; `None`: no event has a value.
    cells: Vec<Option<ArrayRef>>,
}

/// Gathers all events. A column that none of them fills is not in the table.
#[derive(Default)]
pub(crate) struct Events {
    builder: Builder,
    parts: Vec<Part>,
}

/// Makes batches that all have every column, also those of which no event has a value.
pub(crate) struct Whole {
    schema: SchemaRef,
    used: Vec<(usize, DataType)>,
    empty: Empty,
}

/// Columns without values, which those of one type and length share.
type Empty = HashMap<(DataType, usize), ArrayRef>;

#[derive(Debug)]
enum Column {
    Unsigned(UInt64Builder),
    Signed(Int64Builder),
    Text(StringBuilder),
}

impl Column {
    fn of(cell: Cell<'_>) -> Self {
        match cell {
            Cell::Unsigned(_) => Self::Unsigned(UInt64Builder::new()),
            Cell::Signed(_) => Self::Signed(Int64Builder::new()),
            Cell::Text(_) => Self::Text(StringBuilder::new()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Unsigned(column) => column.len(),
            Self::Signed(column) => column.len(),
            Self::Text(column) => column.len(),
        }
    }

    /// Leaves rows without a value until it has so many.
    fn fill(&mut self, rows: usize) {
        for _ in self.len()..rows {
            match self {
                Self::Unsigned(column) => column.append_null(),
                Self::Signed(column) => column.append_null(),
                Self::Text(column) => column.append_null(),
            }
        }
    }

    fn put(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Unsigned(column), Cell::Unsigned(n)) => column.append_value(n),
            (Self::Signed(column), Cell::Signed(n)) => column.append_value(n),
            (Self::Text(column), Cell::Text(text)) => column.append_value(text),
            // A column's cells are all of its kind.
            (column, _) => column.fill(column.len() + 1),
        }
    }

    fn finish(mut self, rows: usize) -> ArrayRef {
        self.fill(rows);
        match self {
            Self::Unsigned(mut column) => Arc::new(column.finish()),
            Self::Signed(mut column) => Arc::new(column.finish()),
            Self::Text(mut column) => Arc::new(column.finish()),
        }
    }
}

impl Builder {
    /// Rows that it has.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// What it has, if that is something; it goes on with nothing.
    pub(crate) fn take(&mut self) -> Option<Part> {
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 {
            return None;
        }
        let first: Vec<ArrayRef> = vec![
            Arc::new(self.time_ns.finish()),
            Arc::new(self.cpu.finish()),
            Arc::new(self.event.finish()),
            Arc::new(self.pid.finish()),
            Arc::new(self.task.finish()),
        ];
        let cells = std::mem::take(&mut self.cells).into_iter();
        let cells = cells.map(|cell| cell.map(|column| column.finish(rows)));
        Some(Part { rows, first, cells: cells.collect() })
    }
}

/// Fields of these columns behind those that every event has, and their types.
fn schema(has: impl Fn(usize) -> bool) -> (SchemaRef, Vec<(usize, DataType)>) {
    let mut fields: Vec<Field> = vec![
        field("time_ns", DataType::UInt64, Some("ns")),
        field("cpu", DataType::UInt32, None),
        field("event", DataType::Utf8, None),
        field("pid", DataType::UInt32, None),
        field("task", DataType::Utf8, None),
    ];
    let mut used = Vec::new();
    for (at, (name, kind)) in columns().enumerate().filter(|(at, _)| has(*at)) {
        let unit = name.ends_with("_ns").then_some("ns");
        let kind = match kind {
            Kind::Unsigned => DataType::UInt64,
            Kind::Signed => DataType::Int64,
            Kind::Text => DataType::Utf8,
        };
        fields.push(field(name, kind.clone(), unit));
        used.push((at, kind));
    }
    (Arc::new(Schema::new(fields)), used)
}

/// A part with these columns.
fn batch(
    part: Part,
    (schema, used): (&SchemaRef, &[(usize, DataType)]),
    empty: &mut Empty,
) -> Result<RecordBatch, ArrowError> {
    let Part { rows, first: mut arrays, mut cells } = part;
    for (at, kind) in used {
        let own = cells.get_mut(*at).and_then(Option::take);
        arrays.push(own.unwrap_or_else(|| {
            let key = (kind.clone(), rows);
            Arc::clone(empty.entry(key).or_insert_with(|| new_null_array(kind, rows)))
        }));
    }
    RecordBatch::try_new(Arc::clone(schema), arrays)
}

impl Events {
    /// All of them.
    pub(crate) fn finish(mut self) -> Result<Table, ArrowError> {
        self.parts.extend(self.builder.take());
        let has =
            |at: usize| self.parts.iter().any(|part| matches!(part.cells.get(at), Some(Some(_))));
        let (schema, used) = schema(has);
        let (mut empty, mut batches) = (Empty::new(), Vec::new());
        for part in self.parts {
            batches.push(batch(part, (&schema, &used), &mut empty)?);
        }
        Ok(Table::new(schema, batches))
    }
}

impl Whole {
    pub(crate) fn new() -> Self {
        let (schema, used) = schema(|_| true);
        Self { schema, used, empty: Empty::new() }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(crate) fn batch(&mut self, part: Part) -> Result<RecordBatch, ArrowError> {
        batch(part, (&self.schema, &self.used), &mut self.empty)
    }
}

impl Sink for Events {
    fn event(&mut self, event: &Event) {
        self.builder.event(event);
        if self.builder.rows == ROWS {
            self.parts.extend(self.builder.take());
        }
    }

    fn wants_detail(&self) -> bool {
        true
    }
}

impl Builder {
    /// Adds an event.
    pub(crate) fn event(&mut self, event: &Event) {
        if let EventKind::Task { pid, name, .. } = &event.kind {
            self.names.insert(*pid, name.clone());
        }
        if self.cells.is_empty() {
            self.cells.resize_with(columns().len(), || None);
        }
        let (rows, cells) = (self.rows, &mut self.cells);
        let (name, pid) = event.row(|at, cell| {
            if let Some(place) = cells.get_mut(at) {
                let column = place.get_or_insert_with(|| Column::of(cell));
                column.fill(rows);
                column.put(cell);
            }
        });
        self.time_ns.append_value(event.time_ns);
        self.cpu.append_option(event.cpu);
        self.event.append_value(name);
        self.pid.append_option(pid);
        self.task.append_option(pid.and_then(|pid| self.names.get(&pid)));
        self.rows += 1;
    }
}
