// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a dataset as a Parquet file.

use super::column::{Cell, Column, Kind};
use super::{column_of, Row, Table};
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use rota_measure::catalogue;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows that are written together.
const GROUP_ROWS: usize = 1 << 16;
/// Says in the file what its columns mean.
pub(super) const SCHEMA: &str = "rota.sweep.runs/1";

/// Writes all rows.
pub fn write<W: Write + Send>(table: &Table, output: W) -> io::Result<W> {
    all(table, output).map_err(|error| match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
    })
}

fn all<W: Write + Send>(table: &Table, output: W) -> Result<W, ParquetError> {
    let columns = Column::all(table);
    let fields = columns.iter().map(Column::schema).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("runs").with_fields(fields).build()?;
    let unit = |key: &str| {
        let measure = catalogue::find(key)?;
        Some((column_of(key), serde_json::Value::from(measure.unit.name())))
    };
    let units: serde_json::Map<_, _> = table.metrics().into_iter().filter_map(unit).collect();
    let about = vec![
        KeyValue::new("schema".to_owned(), SCHEMA.to_owned()),
        KeyValue::new("units".to_owned(), serde_json::Value::from(units).to_string()),
    ];
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(about))
        .set_created_by(concat!("rota ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties))?;
    for rows in table.rows().chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group()?;
        for column in &columns {
            let Some(mut out) = group.next_column()? else {
                return Err(ParquetError::General("more columns than the schema has".into()));
            };
            put(column, rows, &mut out)?;
            out.close()?;
        }
        group.close()?;
    }
    writer.into_inner()
}

fn put(
    column: &Column<'_>,
    rows: &[Row],
    out: &mut SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    let cells = rows.iter().map(|row| (column.of)(row));
    match column.kind {
        Kind::Text => batch::<ByteArrayType>(column, out, cells, |cell| match cell {
            Cell::Text(text) => Some(ByteArray::from(text.as_str())),
            _ => None,
        }),
        Kind::Flag => batch::<BoolType>(column, out, cells, |cell| match cell {
            Cell::Flag(flag) => Some(*flag),
            _ => None,
        }),
        Kind::Int => batch::<Int64Type>(column, out, cells, |cell| match cell {
            Cell::Int(number) => Some(*number),
            _ => None,
        }),
        Kind::Float => batch::<DoubleType>(column, out, cells, |cell| match cell {
            Cell::Float(number) => Some(*number),
            _ => None,
        }),
    }
}

fn batch<T: DataType>(
    column: &Column<'_>,
    out: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Cell>,
    of: impl Fn(&Cell) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        let value = of(&cell);
        levels.push(i16::from(value.is_some()));
        values.extend(value);
    }
    let levels = (!column.required).then_some(levels.as_slice());
    out.typed::<T>().write_batch(&values, levels, None).map(drop)
}
