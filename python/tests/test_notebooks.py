# SPDX-License-Identifier: MIT OR Apache-2.0
"""The notebooks give again what they show."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "python/notebooks").glob("*.ipynb"))


def shown(notebook: Any) -> list[list[object]]:
    """What each cell printed, and whether it drew: pictures differ with matplotlib's version."""

    def output(one: Any) -> object:
        return one["text"] if one["output_type"] == "stream" else sorted(one["data"])

    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[output(one) for one in cell.outputs] for cell in cells]


def test_there_are_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["compare", "tune", "vtrr_figure_1"]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_what_it_shows(path: Path) -> None:
    before = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(ROOT)}}
    client = NotebookClient(
        deepcopy(before), timeout=600, kernel_name="python3", resources=resources
    )
    assert shown(client.execute()) == shown(before)
    assert sum("image/png" in str(cell) for cell in shown(before)) >= 1
