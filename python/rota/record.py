# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recording what the scheduler of this computer does, by the program ``rota``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from rota._rota import Failure, UsageError
from rota.workload import option_texts

Path = str | os.PathLike[str]


def record(
    *,
    workload: Path | None = None,
    trace: Path | None = None,
    duration: str | None = None,
    command: Sequence[str] = (),
    program: Path | None = None,
    **options: object,
) -> None:
    """Record what runs on this computer (docs/recording.md), as ``rota record`` does; needs root.

    Args:
        workload: write what the tasks did as a workload file, for :func:`simulate`.
        trace: write every event, for :func:`read`: a name that ends in .parquet or .csv.
        duration: how long, as ``"10s"``; else until the command ends.
        command: run this, and record only what comes from it.
        program: the program ``rota``; by default the one beside Python's, or in PATH.
        options: those of ``rota record``, with ``_`` for ``-``: ``pid=1``, ``ops=True`` …

    Raises:
        UsageError: there is nothing to write, no program ``rota``, or it refuses what was given.
        Failure: it failed, for want of root for instance; the message is what it said.

    """
    if workload is None and trace is None:
        raise UsageError("nothing to write: expected workload=FILE.json or trace=FILE.parquet")
    if duration is None and not command:
        raise UsageError("no end: expected duration, as duration='10s', or a command")
    words = [_program(program), "record"]
    for key, text in option_texts(dict(options, workload=workload, trace=trace, duration=duration)):
        name = f"--{key.replace('_', '-')}"
        if text == "True":
            words.append(name)
        elif text != "False":
            words.append(f"{name}={text}")
    if command:
        words += ["--", *command]
    ended = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        said = ended.stderr.strip().removeprefix("error: ")
        kind = UsageError if ended.returncode == 2 else Failure
        raise kind(said or f"{words[0]} record ended with exit code {ended.returncode}")


def _program(given: Path | None) -> str:
    if given is not None:
        return os.fspath(given)
    beside = os.path.join(os.path.dirname(sys.executable), "rota")
    found = beside if os.access(beside, os.X_OK) else shutil.which("rota")
    if found is None:
        raise UsageError(
            f"there is no program rota in PATH or beside {sys.executable}: recording needs it; "
            "docs/install.md says how to install it, program=FILE where it is"
        )
    return found
