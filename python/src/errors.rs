// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions: what the command line says, and whether its exit code would be 1 or 2.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use rota_session::Error as Refusal;

create_exception!(rota, Error, PyException, "Something that Rota was asked for failed.");
create_exception!(rota, UsageError, Error, "What was given cannot be used (exit code 2).");
create_exception!(rota, Failure, Error, "Something else went wrong (exit code 1).");

/// Adds them to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("UsageError", py.get_type::<UsageError>())?;
    module.add("Failure", py.get_type::<Failure>())
}

/// An error as an exception.
pub(crate) fn exception(error: &Refusal) -> PyErr {
    match error.is_input() {
        true => UsageError::new_err(error.to_string()),
        false => Failure::new_err(error.to_string()),
    }
}
