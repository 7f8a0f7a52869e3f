# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps: runs over ranges of values, here or on the workers of a Dask cluster."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rota import _rota
from rota._rota import UsageError
from rota.results import RotaWarning, _warn
from rota.table import Table

if TYPE_CHECKING:
    from rota._rota import SweepAsk

Path = str | os.PathLike[str]
Texts = str | Iterable[str]

# What messages call a sweep that has no file.
_BUILT = "sweep"


@dataclass(frozen=True)
class Setting:
    """A policy with values of its tunables, and its mean of each metric, by key."""

    policy: str
    set: dict[str, int | float | str]
    means: dict[str, float]

    def __str__(self) -> str:
        return " ".join([self.policy, *(f"{name}={value}" for name, value in self.set.items())])


def _setting(told: _rota.SettingTold) -> Setting:
    policy, values, means = told
    return Setting(policy, dict(values), dict(means))


class Sweep:
    """The runs of a sweep, and what is the best of them."""

    def __init__(self, native: _rota.Swept) -> None:
        self._native = native
        self.notes: list[str] = _warn(native.told)
        if native.ejected:
            said = f"{native.ejected} of {native.runs} runs were ejected"
            warnings.warn(said, RotaWarning, stacklevel=3)

    def __repr__(self) -> str:
        return f"rota.Sweep({self._native.runs} runs)"

    @property
    def new_runs(self) -> int:
        """Runs that were done now; the others were in a dataset."""
        return self._native.new_runs

    @property
    def best(self) -> Setting | None:
        """The best setting, if one metric was asked for; ``None``: none fulfils what must hold."""
        told = self._native.best()
        return None if told is None else _setting(told)

    @property
    def front(self) -> list[Setting]:
        """The Pareto front: settings of which no other one is as good in all and better in one."""
        return [_setting(told) for told in self._native.front()]

    @property
    def baseline(self) -> Setting | None:
        """What the others are compared with."""
        told = self._native.baseline()
        return None if told is None else _setting(told)

    def df_runs(self) -> Table:
        """Return a row for each run, with the columns of the dataset of ``rota sweep``."""
        return Table(self._native.table("runs"))

    def df_settings(self) -> Table:
        """Return a row for each setting, the best in the first metric first.

        Columns: policy, ``set.NAME`` for each tunable, fits (it can be chosen), why_not, front,
        and the mean of each metric. Needs ``minimise`` or ``maximise``.
        """
        return Table(self._native.table("settings"))

    def write(self, path: Path) -> None:
        """Write the dataset that ``rota sweep`` writes, to the byte."""
        self._native.write(os.fspath(path))


def sweep(
    what: Path | Mapping[str, Any],
    *,
    minimise: Texts = (),
    maximise: Texts = (),
    subject_to: Texts = (),
    baseline: str | None = None,
    output: Path | None = None,
    datasets: Iterable[Path] = (),
    jobs: int | None = None,
    client: Any = None,
) -> Sweep:
    """Run a workload over ranges of values, as ``rota sweep`` does (docs/sweeps.md).

    Args:
        what: a SWEEP.toml, a dict of the same form (paths in it are seen from the current folder),
            or a dataset of a sweep, FILE.parquet, to ask what is the best in it.
        minimise: metrics of which less is wanted, by key; in place of those of the file.
        maximise: metrics of which more is wanted.
        subject_to: what must hold, as ``"wakeup_p99 <= 5ms"``.
        baseline: the policy that settings are compared with, in place of the file's.
        output: the dataset to write, FILE.parquet. Runs that are in it are not done again, also
            those of a sweep that was interrupted.
        datasets: others whose runs are not done again.
        jobs: runs at the same time; by default one for each CPU. Not with ``client``.
        client: a ``dask.distributed.Client`` whose workers do the runs, or ``True`` for a cluster
            of processes on this computer. The dataset is the same to the byte. Workers need the
            same package ``rota``, and the files at the same paths.

    Raises:
        UsageError: what was given cannot be used: file, line or key, value, what was expected.
        Failure: something else went wrong.

    Other Python threads go on while it simulates.

    """
    if jobs is not None and client is not None:
        raise UsageError(f"jobs {jobs}: expected none, as the workers of client do the runs")
    ask = _ask(what)
    ask["minimise"], ask["maximise"] = _texts("minimise", minimise), _texts("maximise", maximise)
    ask["subject_to"], ask["baseline"] = _texts("subject_to", subject_to), baseline
    if ask["text"] is None and ask["file"].endswith(".parquet"):
        return Sweep(_rota.swept(ask))
    files = (None if output is None else os.fspath(output), [os.fspath(one) for one in datasets])
    if client is None:
        with _begun(ask, files) as native:
            native.run(None if jobs is None else str(jobs))
            return Sweep(native.found())
    from rota import _dask

    with _dask.connected(client) as connected, _begun(ask, files) as native:
        _dask.run(native, _elsewhere(ask), connected)
        return Sweep(native.found())


@contextmanager
def _begun(ask: SweepAsk, files: tuple[str | None, list[str]]) -> Iterator[_rota.Sweeping]:
    """Begin a sweep; a traceback that has it after an error does not keep its dataset locked."""
    native = _rota.sweeping(ask, files)
    try:
        yield native
    finally:
        native.close()


def _ask(what: Path | Mapping[str, Any]) -> SweepAsk:
    text = None
    if isinstance(what, (str, os.PathLike)):
        file = os.fspath(what)
    elif isinstance(what, Mapping):
        file = _BUILT
        try:
            text = json.dumps(what, default=_plain, allow_nan=False)
            _no_none(_BUILT, json.loads(text))
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"{_BUILT}: {error}, expected what TOML can hold") from error
    else:
        raise UsageError(f"{_BUILT}: expected a path or a dict, not {type(what).__name__}")
    return {
        "file": file,
        "text": text,
        "minimise": [],
        "maximise": [],
        "subject_to": [],
        "baseline": None,
    }


def _no_none(place: str, value: object) -> None:
    if value is None:
        raise UsageError(f"{place} = None: expected what TOML can hold")
    parts: Iterable[tuple[object, object]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for key, part in parts:
        _no_none(f"{place}: {key}" if place == _BUILT else f"{place}.{key}", part)


def _plain(value: object) -> object:
    """Return what JSON holds for paths, ranges, and numbers and arrays of numpy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, range):
        return list(value)
    listed = getattr(value, "tolist", None)
    if callable(listed):
        return listed()
    raise TypeError(f"{value!r} is a {type(value).__name__}")


def _texts(key: str, given: Texts) -> list[str]:
    texts = [given] if isinstance(given, str) else list(given)
    for one in texts:
        if not isinstance(one, str):
            raise UsageError(f"{key} {one!r}: expected a text, not {type(one).__name__}")
    return texts


def _elsewhere(ask: SweepAsk) -> SweepAsk:
    """Return the same for a process with another current folder."""
    other = ask.copy()
    other["file"] = os.path.abspath(ask["file"])
    return other
