# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pictures of tables, by matplotlib."""

from __future__ import annotations

from typing import Any

from rota._rota import UsageError
from rota.table import Table, _library

_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    return _library("matplotlib.pyplot").subplots(layout="constrained")[1]


def _columns(table: Table, *names: str) -> list[list[Any]]:
    for name in names:
        if name not in table.columns:
            known = ", ".join(table.columns)
            raise UsageError(f"{name}: there is no such column, expected one of {known}")
    arrow = table.to_arrow()
    return [arrow.column(name).to_pylist() for name in names]


def bars(table: Table, names: str, column: str, ax: Any) -> Any:
    """Draw a bar for each row."""
    labels, values = _columns(table, names, column)
    ax = _axes(ax)
    ax.barh(range(len(values)), [0 if value is None else value for value in values])
    ax.set_yticks(range(len(values)), [str(label) for label in labels])
    ax.invert_yaxis()
    unit = table.units.get(column)
    ax.set_xlabel(f"{column} ({unit})" if unit and not column.endswith(f"_{unit}") else column)
    return ax


def means(table: Table, key: str, ax: Any) -> Any:
    """Draw the means of a metric with their intervals."""
    columns = _columns(table, "policy", "key", "mean", "half_width", "unit")
    rows = [row for row in zip(*columns, strict=True) if row[1] == key]
    if not rows:
        known = ", ".join(dict.fromkeys(columns[1]))
        raise UsageError(f"{key}: no policy has this metric, expected one of {known}")
    ax = _axes(ax)
    widths = [row[3] or 0 for row in rows]
    ax.barh(range(len(rows)), [row[2] for row in rows], xerr=widths, capsize=3)
    ax.set_yticks(range(len(rows)), [row[0] for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel(f"{key} ({rows[0][4]}), mean and 95 % confidence interval")
    return ax


def _ns(key: str, text: str) -> int:
    digits = text.rstrip("nums")
    unit = _UNITS.get(text[len(digits) :])
    try:
        number = float(digits)
    except ValueError:
        number = -1.0
    if unit is None or number < 0:
        raise UsageError(f"{key} {text}: expected a time such as 200ms")
    return round(number * unit)


def timeline(table: Table, first: str, last: str, ax: Any) -> Any:
    """Draw which task ran on which CPU."""
    start, end = _ns("first", first), _ns("last", last)
    if start >= end:
        raise UsageError(f"first {first}: expected a time before last, which is {last}")
    rows = zip(*_columns(table, "time_ns", "cpu", "event", "task"), strict=True)
    running: dict[int, tuple[int, str]] = {}
    spans: dict[str, list[tuple[int, int, int]]] = {}

    def close(cpu: int, until: int) -> None:
        since, task = running.pop(cpu)
        if until > start:
            spans.setdefault(task, []).append((cpu, max(since, start), until))

    for time, cpu, event, task in rows:
        if time > end:
            break
        if event in ("switch_in", "switch_out") and cpu in running:
            close(cpu, time)
        if event == "switch_in":
            running[cpu] = (time, task)
    for cpu in list(running):
        close(cpu, end)
    ax = _axes(ax)
    for task, parts in spans.items():
        cpus = [cpu for cpu, _, _ in parts]
        widths = [(until - since) / 1e6 for _, since, until in parts]
        ax.barh(cpus, widths, left=[since / 1e6 for _, since, _ in parts], label=task)
    ax.set_xlabel("time (ms)")
    ax.set_ylabel("CPU")
    if spans and len(spans) <= 10:
        ax.legend()
    return ax
