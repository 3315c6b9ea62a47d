"""The list of slow tests is of tests that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SLOW, slow_tests

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("test", slow_tests())
def test_they_exist(test: str) -> None:
    file, _, name = test.partition("::")
    function = name.partition("[")[0]
    assert f"def {function}(" in (ROOT / file).read_text() if name else (ROOT / file).is_file()


def test_each_has_its_reason() -> None:
    lines = [line for line in SLOW.read_text().splitlines() if not line.startswith("#")]
    assert all(len(line.split()) > 2 for line in lines)
