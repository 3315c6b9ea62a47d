"""The page of comparisons names every function of every dialect."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.dialects import table


@pytest.mark.parametrize("dialect", table.dialects())
def test_every_function_was_compared(dialect: str) -> None:
    text = table.PAGE.read_text()
    section = re.search(rf"^## {dialect}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert section is not None, "run python -m tests.dialects.table"
    rows = re.findall(r"^\| (\w[\w.]*) \| [^|]+ \| (\d+) \|$", section[1], re.M)
    compared = {name.partition(".")[0] for name, count in rows if int(count) > 0}  # at.add counts for at
    assert set(table.functions(dialect)) <= compared


def test_the_page_is_made_of_the_counts() -> None:
    dialect = table.dialects()[0]
    text = table.page(
        Counter({(dialect, "some_function", "somebody 1.0"): 7}), Counter({(dialect, "other", "somebody 1.0"): 2})
    )
    assert "| some_function | somebody 1.0 | 7 |" in text
    assert f"| {dialect} | {len(table.functions(dialect))} | 7 | somebody 1.0 |" in text
    assert "Calls that ended the framework's process: other of somebody 1.0: 2." in text
