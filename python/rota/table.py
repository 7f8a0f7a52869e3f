# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables that pyarrow, pandas, polars and DuckDB take without a copy."""

from __future__ import annotations

import importlib
from typing import Any

from rota import _rota
from rota._rota import UsageError


class Table:
    """Rows and columns of Arrow's types.

    Any library that knows Arrow's PyCapsule interface takes it as it is:
    ``pyarrow.table(table)``, ``polars.DataFrame(table)``,
    ``duckdb.from_arrow(table.to_arrow())``. The methods here do so by name; the library has to be
    installed.
    """

    def __init__(self, native: _rota.Table) -> None:
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self._native.__arrow_c_schema__()

    def __len__(self) -> int:
        return self._native.num_rows

    def __repr__(self) -> str:
        return f"rota.Table({len(self)} rows: {', '.join(self.columns)})"

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in their order."""
        return self._native.column_names

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column that has one; it is in the metadata of the Arrow field, too."""
        return self._native.units

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table`` of the same memory."""
        return _library("pyarrow").table(self)

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame`` (by way of pyarrow)."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``."""
        return _library("polars").DataFrame(self)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"{name} is not installed: pip install {name}") from error
