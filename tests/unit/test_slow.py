"""The list of slow tests is of tests that there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SLOW, not_sampled, sampled_tests, slow_tests

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("test", [*slow_tests(), *(test for test, _ in sampled_tests())])
def test_they_exist(test: str) -> None:
    file, _, name = test.partition("::")
    function = name.partition("[")[0]
    assert f"def {function}(" in (ROOT / file).read_text() if name else (ROOT / file).exists()


def test_a_share_is_of_each_function() -> None:
    """A third of seven, rounded up; all of those that no line is about; the same ones each time."""

    class Item:
        def __init__(self, nodeid: str) -> None:
            self.nodeid = nodeid

    items: list[Any] = [Item(f"a/test_x.py::test_{f}[{k}]") for f in "pq" for k in range(7)]
    items += [Item("a/test_x.py::test_alone"), *(Item(f"b/test_y.py::test_p[{k}]") for k in range(5))]
    left_out = {i.nodeid for i in not_sampled(items, [("a/", 3), ("a/test_x.py::test_q", 2)])}
    kept = [i.nodeid for i in items if i.nodeid not in left_out]
    assert [sum(test in k for k in kept) for test in ("test_x.py::test_p", "test_q", "alone", "b/")] == [3, 3, 1, 5]
    assert left_out == {i.nodeid for i in not_sampled(items[::-1], [("a/", 3)])}


def test_each_has_its_reason() -> None:
    lines = [line for line in SLOW.read_text().splitlines() if not line.startswith("#")]
    assert all(len(line.split()) > 2 for line in lines)
