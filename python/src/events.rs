// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events as the rows of a table, with the columns that Parquet and CSV have.

use crate::table::{field, Table};
use arrow_array::builder::{
    ArrayBuilder, Int64Builder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::{new_null_array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use rota_trace::row::{columns, Cell, Kind};
use rota_trace::{Event, EventKind, Sink};
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of a batch.
const ROWS: usize = 1 << 16;

/// Gathers events. A column that no event fills takes no memory, and is not in the table.
#[derive(Debug, Default)]
pub(crate) struct Events {
    names: HashMap<u32, String>,
    rows: usize,
    time_ns: UInt64Builder,
    cpu: UInt32Builder,
    event: StringBuilder,
    pid: UInt32Builder,
    task: StringBuilder,
    /// Of [`columns`], those that have a value in this batch.
    cells: Vec<Option<Column>>,
    /// The columns of each batch that is full.
    batches: Vec<(usize, Vec<ArrayRef>, Vec<Option<ArrayRef>>)>,
}

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

impl Events {
    fn close(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 {
            return;
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
        self.batches.push((rows, first, cells.collect()));
    }

    /// All of them.
    pub(crate) fn finish(mut self) -> Result<Table, ArrowError> {
        self.close();
        let mut fields: Vec<Field> = vec![
            field("time_ns", DataType::UInt64, Some("ns")),
            field("cpu", DataType::UInt32, None),
            field("event", DataType::Utf8, None),
            field("pid", DataType::UInt32, None),
            field("task", DataType::Utf8, None),
        ];
        let has = |at: usize| {
            self.batches.iter().any(|(_, _, cells)| matches!(cells.get(at), Some(Some(_))))
        };
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
        let schema = Arc::new(Schema::new(fields));
        // Most batches are of one length, and share what has no values.
        let mut empty: HashMap<(DataType, usize), ArrayRef> = HashMap::new();
        let mut batches = Vec::new();
        for (rows, mut arrays, mut cells) in self.batches {
            for (at, kind) in &used {
                let own = cells.get_mut(*at).and_then(Option::take);
                arrays.push(own.unwrap_or_else(|| {
                    let key = (kind.clone(), rows);
                    Arc::clone(empty.entry(key).or_insert_with(|| new_null_array(kind, rows)))
                }));
            }
            batches.push(RecordBatch::try_new(Arc::clone(&schema), arrays)?);
        }
        Ok(Table::new(schema, batches))
    }
}

impl Sink for Events {
    fn event(&mut self, event: &Event) {
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
        if self.rows == ROWS {
            self.close();
        }
    }

    fn wants_detail(&self) -> bool {
        true
    }
}
