# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs, comparisons and traces."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from rota import _rota
from rota._rota import UsageError
from rota.results import Comparison, Result, Trace
from rota.table import Table
from rota.workload import Policy, Workload, option_texts, policy_ask, workload_ask

Path = str | os.PathLike[str]
AnyPolicy = Path | Policy
AnyWorkload = Path | Mapping[str, Any] | Workload


def simulate(
    policy: AnyPolicy,
    workload: AnyWorkload,
    *,
    machine: Path | None = None,
    cpus: int | None = None,
    seed: int = 1,
    set: Mapping[str, object] | None = None,
    duration: str | None = None,
    events: bool = False,
    **options: object,
) -> Result:
    """Run a workload under a policy in the simulated machine, as ``rota sim`` does.

    Args:
        policy: the name of one that ships, a FILE.bpf.o or FILE.bpf.c, or a :class:`Policy`.
        workload: a file, a dict of the same form, or a :class:`Workload`.
        machine: a machine by name or file (docs/machines.md); else ``cpus`` alike, 4 by default.
        cpus: how many CPUs, of a machine that has no name.
        seed: of all that is random; the same seed gives the same numbers.
        set: tunables and globals of the policy.
        duration: simulated time, as ``"10s"``; by default the workload's own.
        events: keep every event, for :meth:`Result.df_events`; :func:`rota.events` hands them out
            while it simulates.
        options: those of ``rota sim``, with ``_`` for ``-``: ``warmup="1s"``, ``hz=1000``,
            ``topology="smt=2"``, ``kernel="6.12"``, ``ideal=True``, ``engine="interpreter"``,
            ``shuffle_ties``, ``idle_entry``, ``nohz_full``, ``budget``, ``budget_per_second``,
            ``btf``, ``include``, ``manifest``, ``ops``, ``partial``; ``autogroup=False`` is
            ``--no-autogroup``.

    Raises:
        UsageError: what was given cannot be used; the message is that of the command line.
        Failure: something else went wrong.

    Other Python threads go on while it simulates.

    """
    given = dict(options, machine=machine, cpus=cpus, seed=seed, duration=duration)
    ask, texts = asked(policy, set, given)
    return Result(_rota.simulate(ask, workload_ask(workload), texts, bool(events)))


def asked(
    policy: AnyPolicy, tunables: Mapping[str, object] | None, given: dict[str, object]
) -> tuple[_rota.PolicyAsk, list[tuple[str, str]]]:
    """Return a policy with these values of tunables, and the options, as texts."""
    ask = policy_ask(policy)
    if tunables:
        ask["set"] += policy_ask(Policy("", tunables))["set"]
    return ask, option_texts(given)


def compare(
    policies: Mapping[str, AnyPolicy] | Iterable[AnyPolicy],
    workload: AnyWorkload,
    *,
    seeds: int = 10,
    baseline: AnyPolicy | None = "eevdf",
    machine: Path | None = None,
    cpus: int | None = None,
    seed: int = 1,
    duration: str | None = None,
    jobs: int | None = None,
    **options: object,
) -> Comparison:
    """Run a workload under several policies, each with several seeds, as ``rota compare`` does.

    Args:
        policies: policies as in :func:`simulate`; a dict has labels for them.
        workload: as in :func:`simulate`.
        seeds: runs of each policy: ``seed`` and those after it.
        baseline: what the others are compared with, run as well if it is not among them; a label
            or a policy. ``None``: nothing.
        machine: as in :func:`simulate`.
        cpus: as in :func:`simulate`.
        seed: the first one.
        duration: as in :func:`simulate`.
        jobs: runs at the same time; by default one for each CPU.
        options: as in :func:`simulate`.

    Means have 95 % confidence intervals (Student's t); differences from the baseline are tested in
    pairs of the same seed (t-test, corrected by Holm).

    """
    asks = _asks(policies)
    at = _baseline(asks, policies, baseline)
    given = dict(options, machine=machine, cpus=cpus, seed=seed, duration=duration)
    counts = (str(seeds), None if jobs is None else str(jobs))
    texts = option_texts(given)
    return Comparison(_rota.compare(asks, workload_ask(workload), counts, at, texts))


def _asks(policies: Mapping[str, AnyPolicy] | Iterable[AnyPolicy]) -> list[_rota.PolicyAsk]:
    if isinstance(policies, (str, os.PathLike, Policy)):
        return [policy_ask(policies)]
    if isinstance(policies, Mapping):
        asks = [policy_ask(policy) | {"label": str(label)} for label, policy in policies.items()]
    else:
        asks = [policy_ask(policy) for policy in policies]
    for at, ask in enumerate(asks):
        if ask in asks[:at]:
            raise UsageError(f"policy {ask['label'] or ask['policy']} is listed twice")
    return asks


def _baseline(
    asks: list[_rota.PolicyAsk],
    policies: object,
    baseline: AnyPolicy | None,
) -> int | None:
    if baseline is None:
        return None
    labels = [ask["label"] for ask in asks]
    if isinstance(policies, Mapping) and baseline in labels:
        return labels.index(str(baseline))
    ask = policy_ask(baseline)
    if ask not in asks:
        asks.append(ask)
    return asks.index(ask)


def read(trace: Path) -> Trace:
    """Read a trace: what ``--trace FILE.parquet`` or ``.csv`` wrote, perf, trace-cmd, Perfetto.

    Its run ends with its last event.

    Raises:
        UsageError: there is no such file, or its format is none of these.

    """
    return Trace(_rota.read(os.fspath(trace)))


def measures() -> Table:
    """Return all metrics: key, unit, better, group, name, definition."""
    return Table(_rota.catalogue())
