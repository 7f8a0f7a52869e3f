# SPDX-License-Identifier: MIT OR Apache-2.0
"""What runs and what schedules it, built in Python."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from rota._rota import UsageError

if TYPE_CHECKING:
    from rota._rota import PolicyAsk


@dataclass(frozen=True)
class Policy:
    """A policy with settings.

    ``policy`` is the name of one that ships, or a FILE.bpf.o or FILE.bpf.c; ``set`` has values of
    its tunables and globals, ``manifest`` is the TOML file of what its own loader would set, and
    ``label`` what results call it.
    """

    policy: str | os.PathLike[str]
    set: Mapping[str, object] = field(default_factory=dict)
    manifest: str | os.PathLike[str] | None = None
    label: str | None = None

    def _ask(self) -> PolicyAsk:
        label, name = self.label, os.fspath(self.policy)
        if label is None and self.set:
            label = ":".join([_short(name), *(f"{key}={text(v)}" for key, v in self.set.items())])
        return {
            "label": label,
            "policy": name,
            "set": [(str(key), text(value)) for key, value in self.set.items()],
            "manifest": None if self.manifest is None else os.fspath(self.manifest),
        }


def _short(name: str) -> str:
    short = os.path.basename(name)
    for end in (".bpf.o", ".bpf.c", ".o", ".c"):
        short = short.removesuffix(end)
    return short


def text(value: object) -> str:
    """Return a value as the command line takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def policy_ask(policy: str | os.PathLike[str] | Policy) -> PolicyAsk:
    """Return what goes over the border for a policy."""
    if isinstance(policy, Policy):
        return policy._ask()
    if isinstance(policy, (str, os.PathLike)):
        return Policy(policy)._ask()
    raise UsageError(
        f"policy {policy!r}: expected a name, a file or a rota.Policy, not {type(policy).__name__}"
    )


class Workload:
    """A workload, task by task, in the grammar of rt-app's JSON (docs/workloads.md).

    >>> load = Workload(duration=2)
    >>> load = load.task("ui", {"run": 2000}, {"sleep": 14000}, priority=-5)
    >>> load.to_dict()["tasks"]["ui"]
    {'priority': -5, 'run': 2000, 'sleep': 14000}
    """

    def __init__(self, **settings: object) -> None:
        """With the keys of ``global``: ``duration`` (seconds) and others."""
        self._global = settings
        self._tasks: dict[str, dict[str, object]] = {}

    def task(self, name: str, *events: Mapping[str, object], **keys: object) -> Self:
        """Add a task that does these events in turn, each a dict of one event.

        ``keys`` are the task's own: ``instance`` (how many), ``priority`` (the nice value),
        ``loop``, ``cpus`` … A number is put behind the name of an event that comes again, as
        rt-app's files have it.
        """
        if name in self._tasks:
            raise UsageError(f"task {name} is there twice, expected another name")
        steps: dict[str, object] = dict(keys)
        for event in events:
            for key, value in event.items():
                steps[_free(key, steps)] = value
        self._tasks[name] = steps
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the workload as its JSON would be read."""
        whole: dict[str, Any] = {"tasks": self._tasks}
        if self._global:
            whole["global"] = self._global
        return whole

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as a file for ``rota sim``."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.to_dict(), file, indent=2)
            file.write("\n")


def _free(key: str, taken: Mapping[str, object]) -> str:
    names = (key if number == 1 else f"{key}{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def workload_ask(
    workload: str | os.PathLike[str] | Mapping[str, Any] | Workload,
) -> str | tuple[str]:
    """Return what goes over the border for a workload: a path, or a text in a tuple."""
    if isinstance(workload, Workload):
        workload = workload.to_dict()
    if isinstance(workload, (str, os.PathLike)):
        return os.fspath(workload)
    if not isinstance(workload, Mapping):
        kind = type(workload).__name__
        raise UsageError(f"workload: expected a path, a dict or a rota.Workload, not {kind}")
    try:
        return (json.dumps(workload, indent=1),)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"workload: {error}, expected what JSON can hold") from error


def option_texts(options: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return keyword arguments as texts; ``None`` is what was not given."""
    texts: list[tuple[str, str]] = []
    for key, value in options.items():
        if value is None:
            continue
        several = isinstance(value, Sequence) and not isinstance(value, str)
        for one in value if several else [value]:  # type: ignore[attr-defined]
            texts.append((key, os.fspath(one) if isinstance(one, os.PathLike) else str(one)))
    return texts
