# SPDX-License-Identifier: MIT OR Apache-2.0
"""CPU schedulers in a simulated machine: run them, compare them, read their traces.

    >>> import rota
    >>> run = rota.simulate("rr", {"tasks": {"a": {"run": 1000, "sleep": 1000}}}, duration="1s")
    >>> run.measures["jain"].unit
    'number'

Times in tables are nanoseconds (columns that end in ``_ns``), fractions are parts of 1. What each
metric means, and where it is from, is in docs/measures.md and :func:`measures`.
"""

from rota._rota import Error, Failure, UsageError, __version__
from rota.record import record
from rota.results import Comparison, Measure, Result, RotaWarning, Trace
from rota.run import compare, measures, read, simulate
from rota.stream import Events, events
from rota.sweep import Setting, Sweep, sweep
from rota.table import Table
from rota.workload import Policy, Workload

__all__ = [
    "Comparison",
    "Error",
    "Events",
    "Failure",
    "Measure",
    "Policy",
    "Result",
    "RotaWarning",
    "Setting",
    "Sweep",
    "Table",
    "Trace",
    "UsageError",
    "Workload",
    "__version__",
    "compare",
    "events",
    "measures",
    "read",
    "record",
    "simulate",
    "sweep",
]
