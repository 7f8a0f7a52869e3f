// SPDX-License-Identifier: MIT OR Apache-2.0
//! One column of the rows that are gathered.

use std::io::Write;

use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use rustc_hash::FxHashMap;

/// The texts of a group, each once.
pub(super) type Texts = FxHashMap<String, ByteArray>;

/// A text as the format's value.
pub(super) fn text(texts: &mut Texts, text: &str) -> ByteArray {
    if let Some(known) = texts.get(text) {
        return known.clone();
    }
    let bytes = ByteArray::from(text);
    texts.insert(text.to_owned(), bytes.clone());
    bytes
}

/// The values of a column, and which rows have one.
pub(super) struct Column<T: DataType> {
    values: Vec<T::T>,
    /// For each row 1 if it has a value; rows without one behind the last with one may be
    /// missing.
    levels: Vec<i16>,
}

impl<T: DataType> Default for Column<T> {
    fn default() -> Self {
        Column { values: Vec::new(), levels: Vec::new() }
    }
}

impl<T: DataType> Column<T> {
    /// Gives the row its value; rows come in order.
    pub(super) fn put(&mut self, row: usize, value: T::T) {
        self.levels.resize(row, 0);
        self.levels.push(1);
        self.values.push(value);
    }

    /// Writes a column in which every row has a value.
    pub(super) fn write_required<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        self.write(group, false)
    }

    /// Writes a column in which rows may have no value.
    pub(super) fn write_optional<W: Write + Send>(
        &mut self,
        rows: usize,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        self.levels.resize(rows, 0);
        self.write(group, true)
    }

    fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        optional: bool,
    ) -> Result<(), ParquetError> {
        let Some(mut writer) = group.next_column()? else {
            return Err(ParquetError::General("more columns than the schema has".into()));
        };
        let levels = optional.then_some(self.levels.as_slice());
        writer.typed::<T>().write_batch(&self.values, levels, None)?;
        writer.close()
    }

    /// Forgets the rows.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.levels.clear();
    }
}
