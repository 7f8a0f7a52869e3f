# SPDX-License-Identifier: MIT OR Apache-2.0
"""The runs of a sweep on the workers of a Dask cluster."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

import rota

LOAD = {
    "tasks": {
        "hog": {"instance": 2, "run": 10000},
        "talk": {
            "instance": 4,
            "run": {"dist": "exp", "mean": 2000},
            "sleep": {"dist": "exp", "mean": 6000},
        },
    }
}
SWEEP: dict[str, Any] = {
    "workloads": ["load.json"],
    "policies": ["wfq"],
    "baseline": "eevdf",
    "seeds": 4,
    "run": {"duration": "200ms", "cpus": 2},
    "set": {"wfq": {"quantum_ns": {"from": 1_000_000, "to": 9_000_000, "steps": 8}}},
    "minimise": "wakeup_p99",
}
HALVING = SWEEP | {
    "method": "halving",
    "samples": 4,
    "first": 1,
    "keep": 2,
    "set": {"wfq": {"quantum_ns": {"from": 1_000_000, "to": 9_000_000}}},
}

LONGER = HALVING | {"resource": "duration", "first": "50ms"}

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "load.json").write_text(json.dumps(LOAD))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def client() -> Iterator[distributed.Client]:
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("what", [SWEEP, HALVING, LONGER], ids=["grid", "halving", "by duration"])
def test_processes_give_the_bytes_of_one_machine(
    folder: Path, client: distributed.Client, what: dict[str, Any]
) -> None:
    alone = rota.sweep(what, output="alone.parquet")
    there = rota.sweep(what, output="there.parquet", client=client)
    assert (folder / "there.parquet").read_bytes() == (folder / "alone.parquet").read_bytes()
    assert there.best == alone.best
    assert there.new_runs == alone.new_runs
    assert rota.sweep(what, output="there.parquet", client=client).new_runs == 0


def test_what_a_killed_worker_had_is_done_by_others(
    folder: Path, client: distributed.Client
) -> None:
    rota.sweep(SWEEP, output="alone.parquet")
    pids = list(client.run(os.getpid).values())
    part = folder / "there.parquet.part"
    killed = []

    def kill() -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            # Some runs came back, not all of them.
            if part.exists() and part.read_bytes().count(b"\n") > 3:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(part.read_bytes().count(b"\n") - 1)
                return
            time.sleep(0.002)

    thread = threading.Thread(target=kill)
    thread.start()
    rota.sweep(SWEEP, output="there.parquet", client=client)
    thread.join()
    assert killed
    assert killed[0] < 9 * 4
    assert (folder / "there.parquet").read_bytes() == (folder / "alone.parquet").read_bytes()


def test_a_worker_with_another_file_is_found_out(folder: Path, client: distributed.Client) -> None:
    """Its workload changed between what was read here and what it read."""
    other = folder / "elsewhere"
    other.mkdir()
    (other / "load.json").write_text(json.dumps(LOAD).replace("10000", "9000"))
    client.run(os.chdir, str(other))
    # A path that is another file for each of the two.
    (folder / "load.json").unlink()
    (folder / "load.json").symlink_to("/proc/self/cwd/here.json")
    (folder / "here.json").write_text(json.dumps(LOAD))
    (other / "here.json").write_text(json.dumps(LOAD).replace("10000", "9000"))
    with pytest.raises(rota.Failure, match="expected the same package rota, and the same files"):
        rota.sweep(SWEEP, client=client)


def test_an_error_of_a_worker_is_the_error(folder: Path, client: distributed.Client) -> None:
    (folder / "load.json").unlink()
    (folder / "load.json").symlink_to("/proc/self/cwd/here.json")
    (folder / "here.json").write_text(json.dumps(LOAD))
    other = folder / "elsewhere"
    other.mkdir()
    client.run(os.chdir, str(other))
    with pytest.raises(rota.UsageError, match=r"load\.json"):
        rota.sweep(SWEEP, client=client)


def test_true_is_a_cluster_of_this_computer(folder: Path) -> None:
    alone = rota.sweep(SWEEP)
    there = rota.sweep(SWEEP, client=True)
    assert there.df_runs().to_arrow().equals(alone.df_runs().to_arrow())
