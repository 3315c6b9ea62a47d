"""The servers of the tutorial, under a short load: each answer is verified there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.deploy.libraries import run, tool

SERVING = Path(__file__).parents[2] / "tutorials" / "serving"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serving")
    run([sys.executable, SERVING / "table.py", folder, "--table-gb", "0.002"])
    return folder


@pytest.mark.parametrize("kind", ["cpp", "python"])
def test_a_short_load(folder: Path, kind: str) -> None:
    if kind == "cpp":
        run([tool("make"), f"FOLDER={folder}"], cwd=SERVING)
    said = run([sys.executable, SERVING / "load.py", folder, kind, "--seconds", "2", "--clients", "2"])
    assert "answers, all verified: 200: " in said and "p99" in said
