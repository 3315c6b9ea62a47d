"""Every tutorial is a program that checks what it says; here they are run."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

TUTORIALS = sorted(Path(__file__).parent.glob("[0-9][0-9]_*.py"))


def test_there_are_tutorials() -> None:
    assert TUTORIALS


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial(path: Path) -> None:
    runpy.run_path(str(path), run_name="__main__")
