# SPDX-License-Identifier: MIT OR Apache-2.0
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def program() -> Path:
    """The command line that the package is compared with."""
    named = os.environ.get("ROTA")
    path = Path(named) if named else ROOT / "target/debug/rota"
    if not path.is_file():
        pytest.fail(f"{path} is not there: cargo build -p rota")
    return path


@pytest.fixture(scope="session")
def web() -> Path:
    return ROOT / "workloads/web.json"
