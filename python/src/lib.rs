// SPDX-License-Identifier: MIT OR Apache-2.0
//! The native half of the package `rota`; `rota/__init__.py` is what users see. Tables go over as
//! Arrow streams, which nobody copies; errors have the words of the command line.

mod ask;
mod compare;
mod detached;
mod errors;
mod events;
mod measures;
mod read;
mod rows;
mod simulate;
mod stream;
mod sweep;
mod swept;
mod table;

use pyo3::prelude::*;

/// The native half of the package `rota`.
#[pymodule]
fn _rota(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::add(module)?;
    module.add_class::<table::Table>()?;
    module.add_class::<simulate::Run>()?;
    module.add_class::<compare::Compared>()?;
    module.add_class::<read::Read>()?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_class::<stream::Streaming>()?;
    module.add_function(wrap_pyfunction!(stream::events, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(read::read, module)?)?;
    module.add_class::<sweep::Sweeping>()?;
    module.add_class::<swept::Swept>()?;
    module.add_function(wrap_pyfunction!(sweep::sweeping, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::swept, module)?)?;
    module.add_function(wrap_pyfunction!(measures::known, module)?)?;
    Ok(())
}
