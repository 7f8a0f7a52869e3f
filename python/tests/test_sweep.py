# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps give the datasets and verdicts of ``rota sweep``."""

import json
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
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
TOP = {
    "workloads": ["load.json"],
    "policies": ["wfq"],
    "baseline": "eevdf",
    "seeds": 3,
    "run": {"duration": "100ms", "cpus": 2},
}
FROM_TO = {"from": 1_000_000, "to": 9_000_000}
SWEEPS: dict[str, dict[str, Any]] = {
    "grid": {
        "set": {"wfq": {"quantum_ns": ["1ms", "4ms"]}},
        "machine": {"hz": [250, 1000]},
        "workload": {"tasks": {"talk": {"instance": [4, 6]}}},
    },
    "random": {"method": "random", "samples": 3, "set": {"wfq": {"quantum_ns": FROM_TO}}},
    "sobol": {"method": "sobol", "samples": 3, "set": {"wfq": {"quantum_ns": FROM_TO}}},
    "halving": {
        "method": "halving",
        "samples": 4,
        "first": 1,
        "keep": 2,
        "set": {"wfq": {"quantum_ns": FROM_TO}},
    },
    "by duration": {
        "method": "halving",
        "resource": "duration",
        "first": "25ms",
        "samples": 4,
        "keep": 2,
        "set": {"wfq": {"quantum_ns": FROM_TO}},
    },
}


def toml(table: dict[str, Any]) -> str:
    """A table with everything in line, which TOML takes as it takes JSON but for the colons."""

    def value(of: Any) -> str:
        if isinstance(of, dict):
            return "{ " + ", ".join(f"{key} = {value(one)}" for key, one in of.items()) + " }"
        return json.dumps(of)

    return "".join(f"{key} = {value(one)}\n" for key, one in table.items())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "load.json").write_text(json.dumps(LOAD))
    for name, more in SWEEPS.items():
        (tmp_path / f"{name}.toml").write_text(toml(TOP | more))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def of_command(program: Path, file: str, *words: str) -> Any:
    texts = [str(program), "sweep", file, "--json", *words]
    ended = subprocess.run(texts, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def same(setting: rota.Setting | None, expected: Any) -> None:
    assert setting is not None
    assert setting.policy == expected["policy"]
    assert setting.set == expected["set"]
    assert setting.means == {key: of["mean"] for key, of in expected["metrics"].items()}


@pytest.mark.parametrize("name", SWEEPS)
def test_a_dict_gives_the_dataset_and_the_best_of_the_command(
    program: Path, folder: Path, name: str
) -> None:
    expected = of_command(program, f"{name}.toml", "--minimise", "wakeup_p99")
    found = rota.sweep(TOP | SWEEPS[name], minimise="wakeup_p99", output="own.parquet")
    assert (folder / "own.parquet").read_bytes() == (folder / f"{name}.parquet").read_bytes()
    assert not (folder / "own.parquet.part").exists()
    assert found.new_runs == expected["runs"] == len(found.df_runs())
    verdict = expected["verdict"]
    same(found.best, verdict["settings"][verdict["front"][0]])
    same(found.baseline, verdict["settings"][verdict["baseline"]])
    written = parquet.read_table(folder / f"{name}.parquet")
    runs = found.df_runs().to_arrow()
    assert runs.to_pylist() == written.to_pylist()
    settings = found.df_settings().to_arrow().to_pylist()
    assert len(settings) == len(verdict["settings"])
    means = sorted(of["metrics"]["wakeup_p99"]["mean"] for of in verdict["settings"])
    assert [row["wakeup_p99_ns"] for row in settings] == means
    assert sum(row["front"] for row in settings) == 1


def test_a_file_and_its_dataset_have_the_same_front(program: Path, folder: Path) -> None:
    aims = ["--minimise", "wakeup_p99", "--minimise", "context_switches"]
    expected = of_command(program, "grid.toml", *aims)["verdict"]
    metrics = ["wakeup_p99", "context_switches"]
    new = rota.sweep("grid.toml", minimise=metrics, output="own.parquet")
    old = rota.sweep("own.parquet", minimise=metrics, baseline="eevdf")
    for found in (new, old):
        assert len(found.front) == len(expected["front"]) >= 1
        for setting, at in zip(found.front, expected["front"], strict=True):
            same(setting, expected["settings"][at])
    again = rota.sweep("grid.toml", minimise=metrics, output="own.parquet", jobs=1)
    assert again.new_runs == 0
    other = rota.sweep("grid.toml", datasets=["own.parquet"])
    assert other.new_runs == 0
    other.write(folder / "copy.parquet")
    assert (folder / "copy.parquet").read_bytes() == (folder / "own.parquet").read_bytes()


def test_after_an_interruption_the_same_call_does_the_rest(folder: Path) -> None:
    """Ctrl-C in the middle, with a traceback that is kept as notebooks do."""
    what = TOP | SWEEPS["grid"] | {"seeds": 8}
    part = folder / "own.parquet.part"

    def interrupt() -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if part.exists() and part.read_bytes().count(b"\n") > 3:
                signal.raise_signal(signal.SIGINT)
                return
            time.sleep(0.002)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt) as kept:
        rota.sweep(what, output="own.parquet", jobs=1)
    thread.join()
    done = part.read_bytes().count(b"\n") - 1
    whole = rota.sweep(what, output="own.parquet")
    assert kept.value
    assert 0 < whole.new_runs <= len(whole.df_runs()) - done
    rota.sweep(what, output="at_once.parquet")
    assert (folder / "own.parquet").read_bytes() == (folder / "at_once.parquet").read_bytes()


def test_what_must_hold_is_said_with_the_settings(folder: Path) -> None:
    found = rota.sweep(
        TOP | SWEEPS["random"], minimise="wakeup_p99", subject_to="wakeup_p99 < 10ns"
    )
    assert found.best is None
    rows = found.df_settings().to_arrow().to_pylist()
    assert not any(row["fits"] for row in rows)
    assert all("wakeup_p99 < 10ns does not hold on load.json" in row["why_not"] for row in rows)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sedes": 3}, "unknown key sedes (did you mean seeds?)"),
        ({"seeds": 0}, "seeds = 0: expected a whole number, 1 or more"),
        ({"policies": ["wqf"]}, "wqf"),
        ({"workloads": ["none.json"]}, "none.json"),
        ({"run": {"cpus": None}}, "run.cpus = None: expected what TOML can hold"),
        ({"set": {"wfq": {"quantum": [1]}}}, "[set.wfq]"),
        ({"workload": {"tasks": {"tolk": {"run": [1]}}}}, "did you mean talk?"),
        ({"seeds": {1, 2}}, "expected what TOML can hold"),
    ],
)
def test_a_slip_is_told_with_its_key(folder: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(rota.UsageError) as raised:
        rota.sweep(TOP | change)
    assert said in str(raised.value)
    assert str(raised.value).startswith("sweep")


def test_a_file_s_slip_has_the_words_of_the_command(program: Path, folder: Path) -> None:
    (folder / "bad.toml").write_text("workloads = 'load.json'\npolicies = 'wfq'\nmethod = 'gird'\n")
    texts = [str(program), "sweep", "bad.toml"]
    ended = subprocess.run(texts, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    with pytest.raises(rota.UsageError) as raised:
        rota.sweep("bad.toml")
    assert f"error: {raised.value}" == ended.stderr.strip()


def test_settings_that_never_meet_are_refused_before_any_run(folder: Path) -> None:
    drawn = {"workload": {"tasks": {"talk": {"instance": {"from": 1, "to": 9000}}}}}
    with pytest.raises(rota.UsageError, match="no two settings would run on the same workloads"):
        rota.sweep(TOP | SWEEPS["random"] | drawn, minimise="wakeup_p99", output="none.parquet")
    assert not list(folder.glob("none.parquet*"))


@pytest.mark.parametrize("client", ["tcp://nowhere:1", 1, False])
def test_a_client_that_is_none_is_refused(folder: Path, client: object) -> None:
    with pytest.raises(rota.UsageError, match=r"expected a dask\.distributed\.Client"):
        rota.sweep(TOP, client=client)
    with pytest.raises(rota.UsageError, match="jobs 2: expected none"):
        rota.sweep(TOP, client=client, jobs=2)


def test_without_dask_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(rota.UsageError, match="pip install distributed"):
        rota.sweep(TOP, client=True)


def test_other_threads_go_on(folder: Path) -> None:
    ticks = 0
    end = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not end.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = time.monotonic()
    rota.sweep(TOP | SWEEPS["grid"] | {"run": {"duration": "500ms", "cpus": 2}})
    took = time.monotonic() - before
    end.set()
    thread.join()
    # A lock that is held all the time would leave one or two.
    assert ticks > min(20, 20 * took)
