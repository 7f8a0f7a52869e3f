# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables go to every library, and none copies them."""

from itertools import pairwise
from pathlib import Path

import duckdb
import polars
import pyarrow
import pytest

import rota


@pytest.fixture(scope="module")
def result(web: Path) -> rota.Result:
    return rota.simulate("wfq", web, duration="300ms", events=True)


def test_pyarrow_pandas_polars_and_duckdb_read_the_same_rows(result: rota.Result) -> None:
    table = result.df_tasks()
    expected = [task["cpu_ns"] for task in result.to_dict()["tasks"]]
    assert len(table) == len(expected) > 5
    assert pyarrow.table(table).column("cpu_ns").to_pylist() == expected
    assert table.to_pandas()["cpu_ns"].to_list() == expected
    assert table.to_polars()["cpu_ns"].to_list() == expected
    arrow = table.to_arrow()
    rows = duckdb.from_arrow(arrow).project("cpu_ns").fetchall()
    assert [row[0] for row in rows] == expected
    assert polars.DataFrame(table).columns == table.columns


def test_nothing_is_copied(result: rota.Result) -> None:
    table = result.df_events()

    def address() -> int:
        address: int = pyarrow.table(table).column("time_ns").chunk(0).buffers()[1].address
        return address

    assert address() == address()


def test_a_table_lives_longer_than_what_it_came_from(web: Path) -> None:
    arrow = rota.simulate("rr", web, duration="100ms", events=True).df_events().to_arrow()
    times = arrow.column("time_ns").to_pylist()
    assert times == sorted(times)


def test_columns_say_their_units(result: rota.Result) -> None:
    table = result.df_tasks()
    assert table.units["cpu_ns"] == "ns"
    assert table.units["wakeup_latency_ns_p99"] == "ns"
    assert "wakeup_latency_ns_count" not in table.units
    field = pyarrow.schema(table).field("cpu_ns")
    assert field.metadata == {b"unit": b"ns"}


def test_a_difference_of_columns_can_be_negative(result: rota.Result) -> None:
    tasks = result.df_tasks().to_pandas()
    assert (tasks["lag_ns_max"] >= 0).all()
    assert (-tasks["lag_ns_max"] <= 0).all()
    assert (tasks["cpu_ns"] - 2 * tasks["cpu_ns"] <= 0).all()


def test_events_have_the_columns_and_rows_of_parquet(
    result: rota.Result, program: Path, web: Path, tmp_path: Path
) -> None:
    import subprocess

    import pyarrow.parquet as parquet

    file = tmp_path / "run.parquet"
    words = [str(program), "sim", "wfq", str(web), "--duration", "300ms", "--trace", str(file)]
    subprocess.run(words, check=True, capture_output=True)
    written = parquet.read_table(file)
    events = result.df_events().to_arrow()
    assert events.num_rows == written.num_rows
    for name in events.column_names:
        assert events.column(name).to_pylist() == written.column(name).to_pylist(), name
    for name in set(written.column_names) - set(events.column_names):
        assert written.column(name).null_count == written.num_rows, name
    read = rota.read(file)
    assert read.df_events().to_arrow().equals(events)
    own = {row["name"]: row["cpu_ns"] for row in result.df_tasks().to_arrow().to_pylist()}
    again = {row["name"]: row["cpu_ns"] for row in read.df_tasks().to_arrow().to_pylist()}
    # A trace ends with its last event, and whoever runs then has the rest of the run.
    unseen_ns = result.duration_ns - events.column("time_ns")[-1].as_py()
    assert again.keys() == own.keys()
    missing = {own[name] - again[name] for name in own}
    assert missing <= {0, unseen_ns}


def test_a_run_without_events_says_how_to_have_them(web: Path) -> None:
    with pytest.raises(rota.UsageError, match="events=True"):
        rota.simulate("rr", web, duration="10ms").df_events()


def test_measures_have_value_unit_and_definition(result: rota.Result) -> None:
    known = {row["key"]: row for row in rota.measures().to_arrow().to_pylist()}
    assert len(known) > 40
    for key, measure in result.measures.items():
        assert measure.unit == known[key]["unit"]
        assert known[key]["definition"]
    rows = result.df_measures().to_arrow().to_pylist()
    assert {row["key"]: row["value"] for row in rows} == {
        key: float(measure) for key, measure in result.measures.items()
    }


def test_pictures_show_the_rows(result: rota.Result) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = result.plot_tasks("cpu_ns")
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == [task["cpu_ns"] for task in result.to_dict()["tasks"]]
    axes = result.plot_events("0ms", "50ms")
    assert axes.patches
    # Each CPU runs one task at a time.
    for cpu in range(4):
        own = [bar for bar in axes.patches if round(bar.get_y() + bar.get_height() / 2) == cpu]
        spans = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in own)
        assert all(a[1] <= b[0] + 1e-9 for a, b in pairwise(spans))
    with pytest.raises(rota.UsageError, match="expected one of"):
        result.plot_tasks("cpu")
