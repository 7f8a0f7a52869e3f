# SPDX-License-Identifier: MIT OR Apache-2.0
"""The runs of a sweep on the workers of a Dask cluster.

Each unit of work is a point of the sweep with a time and some seeds. It depends on nothing else and
gives the same rows wherever it runs, so that Dask can repeat it when a worker is lost.
"""

from __future__ import annotations

import importlib
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rota import _rota
from rota._rota import UsageError

if TYPE_CHECKING:
    from rota._rota import SweepAsk

# Units for each thread of the cluster, if there are enough runs: the last ones end together.
_UNITS = 16
# Runs of a unit at most: what is repeated when a worker is lost.
_RUNS = 64


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """Check a client, or start a cluster on this computer and end it again."""
    distributed = _distributed()
    if client is True:
        with distributed.Client(
            processes=True, threads_per_worker=1, dashboard_address=None
        ) as own:
            yield own
        return
    if not isinstance(client, distributed.Client) or client.asynchronous:
        expected = "expected a dask.distributed.Client that is not asynchronous, or True"
        raise UsageError(f"client {client!r}: {expected}")
    yield client


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        said = "client: dask.distributed is not installed: pip install distributed"
        raise UsageError(said) from error


def run(native: _rota.Sweeping, ask: SweepAsk, client: Any) -> None:
    """Have the workers do all runs of a sweep that are missing."""
    distributed, text = _distributed(), json.dumps(ask)
    while units := native.units():
        threads = max(1, sum(client.nthreads().values()))
        count = sum(len(seeds) for _, _, seeds in units)
        most = min(_RUNS, max(1, count // (_UNITS * threads)))
        name, futures = f"rota-sweep-{uuid.uuid4().hex}", {}
        for point, duration, seeds in units:
            for at in range(0, len(seeds), most):
                key = f"{name}-{point}-{at}"
                part = seeds[at : at + most]
                futures[client.submit(work, text, (point, duration), part, key=key)] = point
        try:
            done = distributed.as_completed(futures, with_results=True)
            for future, rows in done:
                native.take(futures[future], rows)
        finally:
            client.cancel(list(futures))


def work(ask: str, place: tuple[int, int | None], seeds: list[int]) -> list[str]:
    """Do the runs of a unit: what a worker calls."""
    point, duration = place
    return _sweeping(ask).work(point, duration, seeds)


@lru_cache(maxsize=1)
def _sweeping(ask: str) -> _rota.Sweeping:
    """Read a sweep once, not for each unit."""
    return _rota.sweeping(json.loads(ask), (None, []))
