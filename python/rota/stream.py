# SPDX-License-Identifier: MIT OR Apache-2.0
"""Events of a run, while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rota import _rota
from rota.results import Result
from rota.run import AnyPolicy, AnyWorkload, Path, asked
from rota.table import Table
from rota.workload import workload_ask


class Events:
    """Events of a run, in batches: an iterator of tables, each once.

    The run waits for whoever reads: two batches are in memory at most. Leave it early by
    :meth:`close`, or with a ``with`` block, and the run ends. What takes Arrow streams can read the
    batches that are left in its place: ``pyarrow.RecordBatchReader.from_stream(events)``.
    """

    def __init__(self, native: _rota.Streaming) -> None:
        self._native = native

    def __iter__(self) -> Events:
        return self

    def __next__(self) -> Table:
        batch = self._native.next()
        if batch is None:
            raise StopIteration
        return Table(batch)

    def __enter__(self) -> Events:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self._native.__arrow_c_schema__()

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in their order: those of docs/traces.md, in every batch."""
        return self._native.column_names

    def close(self) -> None:
        """End the run. Of one whose events were all taken nothing changes."""
        self._native.close()

    @property
    def result(self) -> Result:
        """The run, once all of its events were taken; its tables have no events."""
        return Result(self._native.run())


def events(
    policy: AnyPolicy,
    workload: AnyWorkload,
    *,
    rows: int = 65_536,
    machine: Path | None = None,
    cpus: int | None = None,
    seed: int = 1,
    set: Mapping[str, object] | None = None,
    duration: str | None = None,
    **options: object,
) -> Events:
    """Run a workload under a policy, and hand out its events while it goes on.

    Args:
        policy: as in :func:`simulate`.
        workload: as in :func:`simulate`.
        rows: events of a batch; the last one has fewer. A batch takes about 100 bytes an event.
        machine: as in :func:`simulate`.
        cpus: as in :func:`simulate`.
        seed: as in :func:`simulate`.
        set: as in :func:`simulate`.
        duration: as in :func:`simulate`.
        options: as in :func:`simulate`.

    Raises:
        UsageError: what was given cannot be used; the message is that of the command line.
        Failure: something else went wrong, perhaps only when the next batch is asked for.

    Other Python threads go on while a batch is waited for.

    """
    given = dict(options, machine=machine, cpus=cpus, seed=seed, duration=duration)
    ask, texts = asked(policy, set, given)
    return Events(_rota.events(ask, workload_ask(workload), texts, str(rows)))
