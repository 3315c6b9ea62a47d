"""The defects that ``python -m tests.mutate`` plants can still be planted."""

from __future__ import annotations

import ast

import pytest

from tests.mutate import DEFECTS, ROOT, Defect


@pytest.mark.parametrize("defect", DEFECTS, ids=[d.name for d in DEFECTS])
def test_the_place_is_there_once(defect: Defect) -> None:
    text = (ROOT / defect.file).read_text()
    assert text.count(defect.right) == 1
    assert defect.right != defect.wrong
    ast.parse(text.replace(defect.right, defect.wrong))
    for test in defect.tests:
        assert (ROOT / test).is_file()
