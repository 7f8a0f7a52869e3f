// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table that any library takes by Arrow's PyCapsule interface, without a copy.

use crate::errors::Failure;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::HashMap;
use std::sync::Arc;

/// The key of a field's metadata that has its unit.
pub(crate) const UNIT: &str = "unit";

/// Rows and columns.
#[pyclass(frozen, module = "rota._rota")]
#[derive(Clone, Debug)]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// Names of its columns.
    pub(crate) fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Of batches that have this schema.
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }
}

/// A field that may be missing, with its unit.
pub(crate) fn field(name: &str, kind: arrow_schema::DataType, unit: Option<&str>) -> Field {
    let metadata = unit.map(|unit| (UNIT.to_owned(), unit.to_owned()));
    Field::new(name, kind, true).with_metadata(HashMap::from_iter(metadata))
}

/// A table of one batch.
pub(crate) fn of(fields: Vec<Field>, columns: Vec<arrow_array::ArrayRef>) -> PyResult<Table> {
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(failed)?;
    Ok(Table::new(schema, vec![batch]))
}

pub(crate) fn failed(error: ArrowError) -> PyErr {
    Failure::new_err(format!("cannot make a table: {error}"))
}

#[pymethods]
impl Table {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.names()
    }

    #[getter]
    fn units(&self) -> HashMap<String, String> {
        let of = |field: &Arc<Field>| {
            field.metadata().get(UNIT).map(|unit| (field.name().clone(), unit.clone()))
        };
        self.schema.fields().iter().filter_map(of).collect()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Who asks for other types casts what comes, as the interface says.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let reader: Box<dyn RecordBatchReader + Send> = Box::new(reader);
        PyCapsule::new(py, FFI_ArrowArrayStream::new(reader), Some(c"arrow_array_stream".into()))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(failed)?;
        PyCapsule::new(py, schema, Some(c"arrow_schema".into()))
    }
}
