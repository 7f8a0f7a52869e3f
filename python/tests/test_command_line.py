# SPDX-License-Identifier: MIT OR Apache-2.0
"""The package gives the numbers of the command line, and fails with its words."""

import json
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest

import rota


def run(program: Path, *words: object) -> subprocess.CompletedProcess[str]:
    texts = [str(program), *map(str, words)]
    return subprocess.run(texts, capture_output=True, text=True, check=False)


def printed(program: Path, *words: object) -> Any:
    ended = run(program, *words, "--json")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


PARTS = ["tasks", "totals", "cpus", "requests"]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (["--seed", "7", "--cpus", "2"], {"seed": 7, "cpus": 2}),
        (["--machine", "hybrid"], {"machine": "hybrid"}),
        (
            ["--topology", "smt=2", "--hz", "1000", "--warmup", "100ms", "--shuffle-ties"],
            {"topology": "smt=2", "hz": 1000, "warmup": "100ms", "shuffle_ties": True},
        ),
        (["--ideal", "--kernel", "6.12"], {"ideal": True, "kernel": "6.12"}),
    ],
)
def test_a_run_has_the_numbers_of_rota_sim(
    program: Path, web: Path, words: list[str], options: dict[str, object]
) -> None:
    expected = printed(program, "sim", "wfq", web, "--duration", "500ms", *words)
    result = rota.simulate("wfq", web, duration="500ms", **options)  # type: ignore[arg-type]
    numbers = result.to_dict()
    for part in PARTS:
        assert numbers[part] == expected[part]
    assert result.exit == expected["exit"]["reason"]
    assert result.duration_ns == expected["duration_ns"]
    callbacks = result.df_callbacks().to_arrow().to_pylist()
    assert callbacks == [
        {"callback": row["op"], "calls": row["calls"], "instructions": row["instructions"]}
        for row in expected["callbacks"]
    ]


def test_settings_change_a_run_as_set_does(program: Path, web: Path) -> None:
    words = ["--set", "quantum_ns=20ms", "--duration", "500ms"]
    expected = printed(program, "sim", "rr", web, *words)
    result = rota.simulate("rr", web, set={"quantum_ns": "20ms"}, duration="500ms")
    assert result.to_dict()["tasks"] == expected["tasks"]
    as_it_is = rota.simulate("rr", web, duration="500ms")
    assert as_it_is.to_dict()["tasks"] != expected["tasks"]


def test_a_comparison_has_the_numbers_of_rota_compare(program: Path, web: Path) -> None:
    words = [web, "rr", "wfq:quantum_ns=2ms", "--seeds", "3", "--duration", "300ms"]
    expected = printed(program, "compare", *words)["comparisons"][0]["policies"]
    wanted: list[str | rota.Policy] = ["rr", rota.Policy("wfq", {"quantum_ns": "2ms"})]
    found = rota.compare(wanted, web, seeds=3, duration="300ms")
    assert found.policies == [column["label"] for column in expected]
    assert found.baseline == "eevdf"
    rows = found.df_measures().to_arrow().to_pylist()
    by_key = {(row["policy"], row["key"]): row for row in rows}
    count = 0
    for column in expected:
        for key, cell in column["measures"].items():
            row = by_key.get((column["label"], key))
            if cell is None:
                assert row is None
                continue
            count += 1
            assert row is not None
            for name in ("mean", "half_width", "n", "best"):
                assert row[name] == cell[name], (key, name)
            relative = cell.get("to_baseline") or {}
            for name in ("ratio", "probability", "significant"):
                assert row[name] == relative.get(name), (key, name)
    assert count > 30
    seeds = [run["seed"] for column in expected for run in column["runs"]]
    runs = found.df_runs().to_arrow().to_pylist()
    assert [row["seed"] for row in runs] == seeds
    values = [run["measures"]["jain"] for column in expected for run in column["runs"]]
    assert [row["jain"] for row in runs] == values


@pytest.mark.parametrize(
    ("policy", "load", "options"),
    [
        ("wqf", "workloads/web.json", {}),
        ("wfq", "workloads/none.json", {}),
        ("wfq", "workloads", {}),
        ("wfq", "workloads/web.json", {"machine": "hybird"}),
        ("wfq", "workloads/web.json", {"set": "quantum=5"}),
        ("wfq", "workloads/web.json", {"topology": "smt=3"}),
        ("wfq", "workloads/web.json", {"kernel": "5.0"}),
        ("wfq", "workloads/web.json", {"warmup": "20s"}),
        ("Cargo.toml", "workloads/web.json", {}),
    ],
)
def test_an_error_has_the_words_of_rota_sim(
    program: Path, web: Path, policy: str, load: str, options: dict[str, str]
) -> None:
    root = web.parents[1]
    words = [f"--{key}={value}" for key, value in options.items()]
    file, path = str(root / policy) if policy == "Cargo.toml" else policy, root / load
    ended = run(program, "sim", file, path, *words)
    assert ended.returncode == 2, ended.stderr
    given: dict[str, Any] = dict(options)
    if "set" in given:
        given["set"] = dict([given["set"].split("=")])
    with pytest.raises(rota.UsageError) as raised:
        rota.simulate(file, path, **given)
    assert f"error: {raised.value}" == ended.stderr.strip()


def test_an_ejection_is_a_warning_with_the_kernels_words(program: Path, web: Path) -> None:
    bug = web.parents[1] / "tests/vm/bugs/says_error.bpf.c"
    ended = run(program, "sim", bug, web, "--json")
    assert ended.returncode == 3, ended.stderr
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = rota.simulate(bug, web)
    assert result.ejected
    assert result.exit == json.loads(ended.stdout)["exit"]["reason"]
    assert any(result.exit in str(warning.message) for warning in caught)
