# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is given to the package: anything at all, and only exceptions come back."""

import threading
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rota

LOAD = {"tasks": {"a": {"run": 1000, "sleep": 1000}, "b": {"run": 5000}}}

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
anything = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
events = st.sampled_from(
    ["run", "sleep", "runtime", "lock", "unlock", "fork", "timer", "suspend", "resume", "yield"]
)
tasks = st.dictionaries(
    st.text(max_size=6),
    st.dictionaries(
        events | st.sampled_from(["instance", "loop", "priority", "cpus", "phases", "policy"]),
        st.integers(-10, 200) | anything,
        max_size=5,
    ),
    max_size=3,
)
options = st.dictionaries(
    st.sampled_from(
        ["machine", "cpus", "seed", "topology", "warmup", "hz", "kernel", "engine", "ideal"]
    ),
    leaves | st.sampled_from(["flat", "phone", "smt=2", "1ms", "6.12", 2, True]),
    max_size=3,
)
few = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def runs_or_raises(call: Any) -> None:
    try:
        call()
    except rota.Error as error:
        assert str(error)
        assert "this is an error in Rota" not in str(error)


@few
@given(tasks, options)
@pytest.mark.filterwarnings("ignore::rota.RotaWarning")
def test_any_workload_and_options_run_or_raise(
    tasks: dict[str, Any], options: dict[str, Any]
) -> None:
    load = {"tasks": tasks}
    runs_or_raises(lambda: rota.simulate("rr", load, **{**options, "duration": "5ms"}))


@few
@given(anything, anything, st.dictionaries(st.text(max_size=8), leaves, max_size=2))
@pytest.mark.filterwarnings("ignore::rota.RotaWarning")
def test_anything_as_policy_workload_or_settings_raises(
    policy: Any, workload: Any, given_set: dict[str, Any]
) -> None:
    runs_or_raises(lambda: rota.simulate(policy, LOAD, duration="5ms", set=given_set))
    runs_or_raises(lambda: rota.simulate("rr", workload, duration="5ms"))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_a_trace_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    file = tmp_path_factory.mktemp("trace") / "some.data"
    file.write_bytes(data)
    runs_or_raises(lambda: rota.read(file))


def test_a_wrong_key_of_a_workload_is_named_with_its_line() -> None:
    with pytest.raises(rota.UsageError, match=r"^workload:\d+:\d+: .*slep"):
        rota.simulate("rr", {"tasks": {"a": {"run": 1000, "slep": 5}}}, duration="5ms")


def test_a_wrong_argument_names_the_nearest_one() -> None:
    with pytest.raises(rota.UsageError, match=r"did you mean warmup\?"):
        rota.simulate("rr", LOAD, warmpu="5ms")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cpus": 0}, "cpus 0: expected a whole number from 1 to "),
        ({"cpus": 1.5}, "cpus 1.5: expected a whole number from 1 to "),
        ({"duration": "5"}, "duration 5: "),
        ({"ideal": 3}, "ideal 3: expected True or False"),
        ({"seed": -1}, "seed -1: expected a whole number, 0 or more"),
        ({"machine": "phone", "cpus": 4}, "machine phone and 4 CPUs: expected one of the two"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(options: dict[str, Any], said: str) -> None:
    with pytest.raises(rota.UsageError) as raised:
        rota.simulate("rr", LOAD, **options)
    assert str(raised.value).startswith(said)


def test_other_threads_go_on_while_it_simulates() -> None:
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    rota.simulate("rr", LOAD, duration="20s")
    end = time.perf_counter()
    done.set()
    thread.join()
    assert len([at for at in ticks if start < at < end]) > 3


def test_runs_in_several_threads_are_alike() -> None:
    results: list[dict[str, Any]] = []

    def one() -> None:
        results.append(rota.simulate("wfq", LOAD, duration="200ms").to_dict())

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(result == results[0] for result in results)


def test_ctrl_c_ends_a_long_run() -> None:
    import _thread
    import signal

    # Jobs in the background begin with it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            rota.simulate("rr", LOAD, cpus=64, duration="5000s")
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_a_workload_that_is_built_runs_as_its_file(tmp_path: Any) -> None:
    load = rota.Workload(duration=1)
    load.task("ui", {"run": 2000}, {"sleep": 14000}, {"run": 500}, priority=-5, instance=2)
    load.task("job", {"run": 5000})
    assert list(load.to_dict()["tasks"]["ui"]) == ["priority", "instance", "run", "sleep", "run2"]
    file = tmp_path / "load.json"
    load.save(file)
    built = rota.simulate("rr", load).to_dict()
    assert built == rota.simulate("rr", file).to_dict()
    assert len(built["tasks"]) == 3
    with pytest.raises(rota.UsageError, match="twice"):
        load.task("ui")


def test_recording_without_the_program_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(rota.UsageError, match="there is no program rota in PATH"):
        rota.record(trace=tmp_path / "a.parquet", duration="1s")


def test_recording_fails_with_the_words_of_the_program(program: Any, tmp_path: Any) -> None:
    with pytest.raises(rota.UsageError, match=r"run\.txt.*expected a name that ends in"):
        rota.record(trace=tmp_path / "run.txt", duration="1s", program=program)
