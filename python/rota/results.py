# SPDX-License-Identifier: MIT OR Apache-2.0
"""What runs gave: ``df_*`` returns a table, ``plot_*`` draws the same."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from typing import Any

from rota import _plot, _rota
from rota.table import Table


class RotaWarning(UserWarning):
    """Something about a result that its reader should know."""


def _warn(told: list[str]) -> list[str]:
    """Warn of warnings; what is left are notes."""
    for line in told:
        if line.startswith("warning: "):
            warnings.warn(line.removeprefix("warning: "), RotaWarning, stacklevel=4)
    return [line.removeprefix("note: ") for line in told if not line.startswith("warning: ")]


@dataclass(frozen=True)
class Measure:
    """A metric of a run."""

    key: str
    value: float
    unit: str
    better: str | None
    name: str

    def __float__(self) -> float:
        return self.value


class Result:
    """A run: its numbers, by key and as tables."""

    def __init__(self, native: _rota.Run) -> None:
        self._native = native
        self.notes: list[str] = _warn(native.told)
        if native.ejected:
            said = " ".join([f"{native.policy}: EXIT: {native.exit}", *native.exit_details])
            warnings.warn(said, RotaWarning, stacklevel=3)

    def __repr__(self) -> str:
        of = self._native
        return f"rota.Result({of.policy}, {of.workload}: {of.cpus} CPUs, seed {of.seed})"

    @property
    def policy(self) -> str:
        """Short name of the policy."""
        return self._native.policy

    @property
    def source(self) -> str:
        """``shipped``, or the file of the policy."""
        return self._native.source

    @property
    def workload(self) -> str:
        """File of the workload."""
        return self._native.workload

    @property
    def cpus(self) -> int:
        """CPUs of the simulated machine."""
        return self._native.cpus

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return self._native.seed

    @property
    def duration_ns(self) -> int:
        """Simulated time, less if the policy was ejected."""
        return self._native.duration_ns

    @property
    def ejected(self) -> bool:
        """Whether the kernel would have ejected the policy: exit code 3 of ``rota sim``."""
        return self._native.ejected

    @property
    def exit(self) -> str:
        """How the policy left, in the kernel's words."""
        return self._native.exit

    @property
    def measures(self) -> dict[str, Measure]:
        """Every metric that the run has, by its key."""
        return {row[0]: Measure(*row) for row in self._native.measures()}

    def to_dict(self) -> dict[str, Any]:
        """Return tasks, totals, cpus, locks and requests as ``rota sim --json`` has them."""
        numbers: dict[str, Any] = json.loads(self._native.numbers_json())
        return numbers

    def df_measures(self) -> Table:
        """Return a row for each metric: key, value, unit, better, group, name.

        Source: the catalogue of docs/measures.md. ``plot_measures`` is in :class:`Comparison`, as
        metrics of one run have no common axis.
        """
        return Table(self._native.table("measures"))

    def df_task_measures(self) -> Table:
        """Return a row for each task of the workload and metric: task, key, value, unit."""
        return Table(self._native.table("task_measures"))

    def df_tasks(self) -> Table:
        """Return a row for each task, with the columns of ``tasks`` of ``rota sim --json``.

        A key inside another one follows it: ``wakeup_latency_ns_p99``. Columns with ``_ns`` are
        nanoseconds, ``share`` is a part of the machine, ``slowdown_*`` are ratios.
        """
        return Table(self._native.table("tasks"))

    def plot_tasks(self, column: str = "share", ax: Any = None) -> Any:
        """Draw a column of :meth:`df_tasks`, a bar for each task; return the axes."""
        return _plot.bars(self.df_tasks(), "name", column, ax)

    def df_cpus(self) -> Table:
        """Return a row for each CPU: cpu, idle_ns, wasted_idle_ns, forced_idle_ns."""
        return Table(self._native.table("cpus"))

    def plot_cpus(self, column: str = "idle_ns", ax: Any = None) -> Any:
        """Draw a column of :meth:`df_cpus`, a bar for each CPU; return the axes."""
        return _plot.bars(self.df_cpus(), "cpu", column, ax)

    def df_requests(self) -> Table:
        """Return a row for each class of requests: arrived, answered, and more."""
        return Table(self._native.table("requests"))

    def plot_requests(self, column: str = "response_ns_p99", ax: Any = None) -> Any:
        """Draw a column of :meth:`df_requests`, a bar for each class; return the axes."""
        return _plot.bars(self.df_requests(), "name", column, ax)

    def df_sockets(self) -> Table:
        """Return a row for each socket at which requests arrive, as :meth:`df_requests`."""
        return Table(self._native.table("sockets"))

    def df_locks(self) -> Table:
        """Return a row for each mutex, with the columns of ``locks`` of ``rota sim --json``."""
        return Table(self._native.table("locks"))

    def df_callbacks(self) -> Table:
        """Return a row for each callback of the policy: callback, calls, instructions."""
        return Table(self._native.table("callbacks"))

    def plot_callbacks(self, column: str = "instructions", ax: Any = None) -> Any:
        """Draw a column of :meth:`df_callbacks`, a bar for each callback; return the axes."""
        return _plot.bars(self.df_callbacks(), "callback", column, ax)

    def df_events(self) -> Table:
        """Return a row for each event of a run with ``events=True``, as docs/traces.md has them.

        Columns: time_ns, cpu, event, pid, task, and those fields that some event has. The table is
        all in memory: about 100 bytes an event.
        """
        return Table(self._native.table("events"))

    def plot_events(self, first: str = "0s", last: str = "200ms", ax: Any = None) -> Any:
        """Draw which task ran on which CPU when, of :meth:`df_events`; return the axes."""
        return _plot.timeline(self.df_events(), first, last, ax)


class Comparison:
    """Policies on a workload, with several seeds."""

    def __init__(self, native: _rota.Compared) -> None:
        self._native = native
        self.notes: list[str] = _warn(native.told)
        for policy, seed, reason in native.ejected:
            warnings.warn(f"{policy} (seed {seed}): EXIT: {reason}", RotaWarning, stacklevel=3)

    def __repr__(self) -> str:
        policies = ", ".join(self.policies)
        return f"rota.Comparison({self._native.workload}: {policies})"

    @property
    def policies(self) -> list[str]:
        """Their labels; the baseline is the last one if it was added."""
        return self._native.policies

    @property
    def baseline(self) -> str | None:
        """Label of what the others are compared with."""
        return self._native.baseline

    def mean(self, key: str) -> dict[str, float]:
        """Return the mean of a metric over the seeds, by policy."""
        return {row[0]: row[2] for row in self._native.measures() if row[1] == key}

    def df_runs(self) -> Table:
        """Return a row for each run: workload, policy, seed, duration_ns, ejected, exit, metrics.

        A column for each metric that one of the runs has; :attr:`Table.units` says in what.
        """
        return Table(self._native.table("runs"))

    def df_measures(self) -> Table:
        """Return a row for each policy and metric.

        Columns: workload, policy, key, unit, mean, half_width (of the 95 % confidence interval),
        n, best (significantly), and compared with the baseline: ratio, difference, probability
        (of such a difference by chance), significant. Source: ``rota compare --json``.
        """
        return Table(self._native.table("measures"))

    def plot_measures(self, key: str = "wakeup_p99", ax: Any = None) -> Any:
        """Draw means of a metric with their confidence intervals; return the axes."""
        return _plot.means(self.df_measures(), key, ax)


class Trace:
    """A trace that was read."""

    def __init__(self, native: _rota.Read) -> None:
        self._native = native

    def __repr__(self) -> str:
        return f"rota.Trace({self._native.file})"

    @property
    def duration_ns(self) -> int:
        """From the first to the last record."""
        return self._native.duration_ns

    def df_events(self) -> Table:
        """Return a row for each event, as :meth:`Result.df_events`."""
        return Table(self._native.table("events"))

    def plot_events(self, first: str = "0s", last: str = "200ms", ax: Any = None) -> Any:
        """Draw which task ran on which CPU when, of :meth:`df_events`; return the axes."""
        return _plot.timeline(self.df_events(), first, last, ax)

    def df_tasks(self) -> Table:
        """Return a row for each task, as :meth:`Result.df_tasks`."""
        return Table(self._native.table("tasks"))

    def df_cpus(self) -> Table:
        """Return a row for each CPU, as :meth:`Result.df_cpus`."""
        return Table(self._native.table("cpus"))

    def df_task_measures(self) -> Table:
        """Return a row for each name of tasks and metric: task, key, value, unit."""
        return Table(self._native.table("task_measures"))
