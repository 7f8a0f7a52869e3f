# SPDX-License-Identifier: MIT OR Apache-2.0
"""Events are handed out while the run goes on, and nothing keeps them all."""

import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow
import pytest

import rota

LOAD = {"tasks": {"a": {"instance": 4, "run": 1000, "sleep": 1000}, "b": {"run": 5000}}}
# Nobody waits for the end of it.
LONG: dict[str, Any] = {"cpus": 16, "duration": "50000s", "rows": 1000}


def test_the_batches_are_the_events_of_the_run(web: Path) -> None:
    whole = rota.simulate("wfq", web, duration="300ms", events=True)
    table = whole.df_events().to_arrow()
    events = rota.events("wfq", web, duration="300ms", rows=1000)
    batches = [batch.to_arrow() for batch in events]
    assert [batch.num_rows for batch in batches[:-1]] == [1000] * (len(batches) - 1)
    assert 0 < batches[-1].num_rows <= 1000
    assert len(batches) > 3
    streamed = pyarrow.concat_tables(batches)
    assert streamed.select(table.column_names).combine_chunks().equals(table.combine_chunks())
    assert streamed.column_names == events.columns
    for name in set(events.columns) - set(table.column_names):
        assert streamed.column(name).null_count == streamed.num_rows, name
    assert events.result.to_dict() == whole.to_dict()
    assert list(events) == []
    with pytest.raises(rota.UsageError, match="events=True"):
        events.result.df_events()


def test_the_run_waits_and_ends_when_it_is_left() -> None:
    with rota.events("rr", LOAD, **LONG) as events:
        last = 0
        for _, batch in zip(range(3), events, strict=False):
            times = batch.to_arrow().column("time_ns").to_pylist()
            assert len(times) == 1000
            assert times[0] >= last
            last = times[-1]
        # Once there is a batch more, it takes no CPU time: it waits.
        time.sleep(0.5)
        before = time.process_time()
        time.sleep(0.5)
        assert time.process_time() - before < 0.1
        with pytest.raises(rota.UsageError, match="the run goes on"):
            _ = events.result
    assert list(events) == []
    with pytest.raises(rota.UsageError, match="left before its end"):
        _ = events.result


def test_readers_of_arrow_streams_take_them(web: Path) -> None:
    count = len(rota.simulate("wfq", web, duration="300ms", events=True).df_events())

    def events() -> rota.Events:
        return rota.events("wfq", web, duration="300ms", rows=500)

    begun = events()
    first = next(begun).to_arrow()
    reader = pyarrow.RecordBatchReader.from_stream(begun)
    assert first.num_rows + sum(batch.num_rows for batch in reader) == count
    assert begun.result.duration_ns == 300_000_000
    reader = pyarrow.RecordBatchReader.from_stream(events())
    assert reader.schema.field("time_ns").metadata == {b"unit": b"ns"}
    found = duckdb.from_arrow(reader).aggregate("count(*)").fetchall()
    assert found == [(count,)]
    assert polars.DataFrame(events()).height == count


def test_two_readers_at_a_time_are_refused_and_one_that_goes_ends_the_run() -> None:
    events = rota.events("rr", LOAD, **LONG)
    reader = pyarrow.RecordBatchReader.from_stream(events)
    assert reader.read_next_batch().num_rows == 1000
    with pytest.raises(rota.UsageError, match="another reader takes them"):
        next(events)
    del reader
    assert list(events) == []


def test_bad_input_raises_before_anything_runs() -> None:
    for rows in [0, -1, 1.5, 10**9]:
        with pytest.raises(rota.UsageError, match=f"rows {rows}: expected a whole number from 1"):
            rota.events("rr", LOAD, rows=rows)  # type: ignore[arg-type]
    with pytest.raises(rota.UsageError, match="wfqq"):
        rota.events("wfqq", LOAD)
    with pytest.raises(rota.UsageError, match=r"did you mean warmup\?"):
        rota.events("rr", LOAD, warmpu="5ms")


def test_other_threads_go_on_while_a_batch_is_waited_for() -> None:
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    with rota.events("rr", LOAD, cpus=16, duration="50000s", rows=300_000) as events:
        next(events)
    end = time.perf_counter()
    done.set()
    thread.join()
    assert len([at for at in ticks if start < at < end]) > 3


def test_ctrl_c_ends_it() -> None:
    import _thread
    import signal

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    events = rota.events("rr", LOAD, cpus=64, duration="50000s", rows=10_000_000)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(events)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert list(events) == []
